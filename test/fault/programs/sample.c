/* A profiler's signal at 10 kHz (SIGPROF, every 100 microseconds) while functions call each other:
 * each handler finds a pc of the program or of a library, and a stack that belongs to it. */
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include "story.h"

enum { SAMPLES = 3000, MOST_MAPS = 200 };

static struct { uintptr_t start, end; } code[MOST_MAPS];
static int codes;
static uintptr_t stack_low, stack_high;
static volatile int samples, inside;

/* Code that comes from files: what else is executable is none of the program's. */
static void read_maps(void) {
    char line[4096], flags[8], path[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    check(maps != NULL, "the memory map");
    while (fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        path[0] = '\0';
        int got = sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &start, &end, flags, path);
        if (got == 4 && strcmp(path, "[stack]") == 0)
            stack_low = end - (8 << 20), stack_high = end;
        if (got < 4 || flags[2] != 'x' || (path[0] != '/' && strcmp(path, "[vdso]") != 0))
            continue;
        check(codes < MOST_MAPS, "few maps");
        code[codes].start = start;
        code[codes++].end = end;
    }
    fclose(maps);
}

static int is_code(uintptr_t pc) {
    for (int i = 0; i < codes; i++)
        if (pc >= code[i].start && pc < code[i].end)
            return 1;
    return 0;
}

static void sample(int sig, siginfo_t *info, void *context) {
    const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    check(sig == SIGPROF && info->si_code == SI_TIMER && info->si_value.sival_int == 4711, "info");
    check(is_code((uintptr_t)regs[REG_RIP]), "the pc that is sampled");
    check((uintptr_t)regs[REG_RSP] - stack_low < stack_high - stack_low, "its stack");
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
    read_maps();
    sigaction(SIGPROF, &action, NULL);
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
    check(timer_settime(timer, 0, &often, NULL) == 0, "timer_settime");
    while (samples < SAMPLES)
        check_work();
    timer_settime(timer, 0, &never, NULL);
    return right();
}
