/* Pairs the counter with CLOCK_MONOTONIC, and measures its rate. */
#include "target/timing.h"

#include "arch/clock.h"
#include "base/clock.h"

static struct timing start;

/* This thread may be preempted between two clocks: of several pairs the closest one is taken. */
struct timing timing_now(void) {
    enum { PAIRS = 4 };
    uint64_t closest = UINT64_MAX;
    struct timing now = {0, 0};
    for (int i = 0; i < PAIRS; i++) {
        uint64_t before = clock_ticks(), ns = clock_monotonic_ns(), after = clock_ticks();
        if (after - before < closest) {
            closest = after - before;
            now = (struct timing){before + closest / 2, ns};
        }
    }
    return now;
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
