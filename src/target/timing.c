/* Pairs the counter with CLOCK_MONOTONIC, and measures its rate. */
#include "target/timing.h"

#include "arch/clock.h"
#include "base/clock.h"

static struct timing start;

struct timing timing_now(void) {
    uint64_t before = clock_ticks();
    uint64_t ns = clock_monotonic_ns();
    uint64_t after = clock_ticks();
    return (struct timing){before + (after - before) / 2, ns};
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
