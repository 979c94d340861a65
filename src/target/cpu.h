/* What the processor and its kernel offer to programs. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Whether this machine has what programs need that are recorded, a clock for one: to be asked
 * before a clock is read (arch/clock.h), by a process with one thread. Error: "machine". */
int cpu_check(struct err *err);

/* Whether programs can have shadow stacks, which hold copies of their return addresses: then a call
 * must be a call. By the flag of /proc/cpuinfo that Linux 6.6 introduced. */
bool cpu_guards_returns(void);

/* Whether memory can have tags that accesses are checked against (MTE). */
bool cpu_tags_memory(void);
