/* Implements the monotonic clock and waits. */
#include "base/clock.h"

#include <signal.h>
#include <time.h>

static const uint64_t SECOND_NS = 1000000000;

struct timespec clock_timespec(uint64_t ns) {
    return (struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};
}

uint64_t clock_monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

void clock_sleep_ns(uint64_t ns) {
    const struct timespec t = clock_timespec(ns);
    nanosleep(&t, NULL);
}

void clock_wait_child_ns(uint64_t most_ns) {
    const struct timespec t = clock_timespec(most_ns);
    sigset_t reports;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    sigtimedwait(&reports, NULL, &t);
}
