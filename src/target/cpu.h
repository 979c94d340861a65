/* Features of the processor and its kernel that matter to traced programs. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* 0 if this machine has what recorded programs need, such as a clock. Call it before reading a
 * clock (arch/clock.h), while the process has one thread. Error: "machine". */
int cpu_check(struct err *err);

/* True if programs can have shadow stacks, which hold copies of return addresses. Then every return
 * address must come from a real call. Read from the /proc/cpuinfo flag that Linux 6.6 introduced.
 */
bool cpu_guards_returns(void);

/* True if memory can have tags that accesses are checked against (MTE). */
bool cpu_tags_memory(void);
