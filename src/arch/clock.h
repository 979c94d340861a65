/* The counter that events carry, read by the tool: after everything that stands before. */
#ifndef SPOOR_ARCH_CLOCK_H
#define SPOOR_ARCH_CLOCK_H

#include <stdint.h>

static inline uint64_t clock_ticks(void) {
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

#endif
