/*
 * A profiler's signal arrives at 10 kHz (SIGPROF, every 100 microseconds) while functions call each
 * other. Each handler finds a pc in the program or a library, and a stack that fits this pc.
 */
#include <signal.h>
#include <time.h>

#include "maps.h"
#include "self_check.h"

enum { SAMPLES = 3000, STACK_ROOM = 8 << 20 };

static volatile int samples, inside;

static void sample(int sig, siginfo_t *info, void *context) {
    const struct place place = maps_place(context);
    check(sig == SIGPROF && info->si_code == SI_TIMER && info->si_value.sival_int == 4711, "info");
    check(maps_is_code(place.pc), "the pc that is sampled");
    uintptr_t above = place.sp - (uintptr_t)&info;
    check(above < STACK_ROOM, "its stack");
    check(!inside++, "one at a time");
    check(work(5) == 5, "work in the handler");
    inside--;
    samples++;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF, .sigev_value = {.sival_int = 4711}};
    struct itimerspec often = {{0, 100000}, {0, 100000}}, never = {{0, 0}, {0, 0}};
    timer_t timer;
    maps_read_code();
    sigaction(SIGPROF, &action, NULL);
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    check(timer_settime(timer, 0, &often, NULL) == 0, "timer_settime");
    while (samples < SAMPLES)
        check_work();
    timer_settime(timer, 0, &never, NULL);
    return right();
}
