/* Time that passes: the monotonic clock, and waiting. */
#pragma once

#include <stdint.h>

uint64_t clock_monotonic_ns(void);

/* Sleeps NS nanoseconds, or less if a signal handler runs. */
void clock_sleep_ns(uint64_t ns);

/* Waits until SIGCHLD is pending, MOST_NS at most, and takes that signal. The calling thread must
 * block SIGCHLD. */
void clock_wait_child_ns(uint64_t most_ns);
