/* The counter of AArch64. Included by arch/clock.h only. */
#pragma once

#include <stdint.h>

/* CNTVCT_EL0, which all processors share. */
enum { CLOCK_SKEW_TICKS = 1 };
static inline uint64_t clock_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}
