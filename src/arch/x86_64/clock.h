/* The counter of x86-64. Included by arch/clock.h only. */
#pragma once

#include <stdint.h>

enum { CLOCK_SKEW_TICKS = 2000 }; /* an upper bound for the difference of two cores' counters */
static inline uint64_t clock_ticks(void) {
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}
