/* What the processor and its kernel offer to programs. */
#ifndef SPOOR_TARGET_CPU_H
#define SPOOR_TARGET_CPU_H

#include <stdbool.h>

/* Whether programs can have shadow stacks, which hold copies of their return addresses: then a call
 * must be a call. By the flag of /proc/cpuinfo that Linux 6.6 introduced. */
bool cpu_guards_returns(void);

#endif
