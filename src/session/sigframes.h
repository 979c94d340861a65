/*
 * Signal frames on the stacks of a stopped thread: where its handlers return to. They are told by
 * what the kernel writes into them, not by unwinding: handlers may be of any code.
 */
#ifndef SPOOR_SESSION_SIGFRAMES_H
#define SPOOR_SESSION_SIGFRAMES_H

#include "base/mem.h"
#include "target/maps.h"

typedef ARRAY(taddr_t) taddr_array;

/* Adds to RET the pcs that TID's handlers return to. Looks from its stack pointer up, and likewise
 * on the stacks that its handlers have interrupted. Too many are possible, too few are not, but for
 * handlers that are more than 8 MB deep and for stacks that the thread has left by other means
 * than signals. */
void sigframes_find(int memory_fd, const struct maps *maps, pid_t tid, taddr_array *ret);

#endif
