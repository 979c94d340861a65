/*
 * Signal frames on the stacks of a stopped thread: where its handlers return to. They are told by
 * what the kernel writes into them, not by unwinding: handlers may be of any code.
 */
#pragma once

#include "arch/regs.h"
#include "base/mem.h"
#include "target/maps.h"

typedef ARRAY(struct regs_context) sigframe_array;

/* Adds to RET what TID's handlers return to. Looks from its stack pointer up, and likewise on the
 * stacks that its handlers have interrupted. Too many are possible, too few are not, but for
 * handlers that are more than 8 MB deep and for stacks that the thread has left by other means
 * than signals. */
void sigframes_find(int memory_fd, const struct maps *maps, pid_t tid, sigframe_array *ret);
