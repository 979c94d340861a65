#include "target/timing.h"

#include <time.h>

#include "arch/clock.h"

static struct timing start;

struct timing timing_now(void) {
    struct timespec t;
    uint64_t before = clock_ticks();
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t after = clock_ticks();
    return (struct timing){before + (after - before) / 2,
                           (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec};
}

void timing_start(void) { start = timing_now(); }

struct timing timing_started(void) {
    return start;
}

uint64_t timing_ticks(uint64_t ns) {
    enum { LONG_ENOUGH_NS = 5 * 1000 * 1000 };
    struct timing now = timing_now();
    while (now.ns - start.ns < LONG_ENOUGH_NS)
        now = timing_now();
    double rate = (double)(now.ticks - start.ticks) / (double)(now.ns - start.ns);
    return (uint64_t)((double)ns * rate);
}
