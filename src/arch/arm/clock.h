/* The counter of 32-bit Arm. Included by arch/clock.h only. */
#pragma once

#include <stdint.h>

/* CNTVCT, which all processors share. */
enum { CLOCK_SKEW_TICKS = 1 };
static inline uint64_t clock_ticks(void) {
    uint32_t low, high;
    __asm__ volatile("isb\n\tmrrc p15, 1, %0, %1, c14" : "=r"(low), "=r"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}
