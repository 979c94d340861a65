/* The monotonic clock, and waiting. */
#pragma once

#include <stdint.h>
#include <time.h>

uint64_t clock_monotonic_ns(void);
struct timespec clock_timespec(uint64_t ns);

/* Sleeps NS nanoseconds; less if a signal handler runs. */
void clock_sleep_ns(uint64_t ns);

/* Waits at most MOST_NS for SIGCHLD, and takes it. The calling thread must block it. */
void clock_wait_child_ns(uint64_t most_ns);
