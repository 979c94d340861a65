/* Finds the signal frames on a stopped thread's stacks, and so where its handlers will return to.
 * Frames are recognized by what the kernel writes into them, not by unwinding, since handlers may
 * be any code. */
#pragma once

#include "arch/regs.h"
#include "base/mem.h"
#include "target/maps.h"

typedef ARRAY(struct regs_context) sigframe_array;

/* Adds to RET the contexts to which TID's handlers will return. Searches upward from its stack
 * pointer, and on the stacks that its handlers interrupted. May find too many. Misses only handlers
 * more than 8 MB deep, and stacks that the thread left by other means than signals. */
void sigframes_find(int memory_fd, const struct maps *maps, pid_t tid, sigframe_array *ret);
