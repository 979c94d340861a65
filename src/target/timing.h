/* The recording's time scale: relates the processor's counter to the kernel's clock. */
#pragma once

#include <stdint.h>

struct timing {
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC */
};

/* The processor's counter and CLOCK_MONOTONIC, read together. */
struct timing timing_now(void);
/* Records the start. Call it once, some milliseconds before timing_ticks(). */
void timing_start(void);
struct timing timing_started(void);
/* Converts a duration to ticks of the counter. */
uint64_t timing_ticks(uint64_t ns);
