/*
 * Where threads are, and return to, while patches are written. Before a module's text changes, a
 * thread inside a future window is moved to the trampoline's copy of its instruction. Windows into
 * whose middle a handler or a goroutine returns stay unpatched. So the program runs on if spoor is
 * killed between any two steps.
 */
#pragma once

#include "base/mem.h"
#include "patch/parked_sigframes.h"
#include "patch/patched.h"
#include "unwind/sigframes.h"

struct thread_positions {
    ARRAY(pid_t) tids;              /* all threads of the space, stopped or waiting in the kernel */
    ARRAY(taddr_t) pcs;             /* return addresses that cannot be changed */
    struct parked_sigframes parked; /* likewise, where parked_sigframe_counts() */
    ARRAY(struct span) stacks; /* stacks of goroutines, which do not move until all threads run */
    bool as_prepared;          /* only prepared windows were searched: no others may be written */
};

void thread_positions_add(struct thread_positions *a, int memory_fd, const struct maps *maps,
                          pid_t tid);
void thread_positions_done(struct thread_positions *a);
/* P's trampolines are in MEMORY_FD and its text is not patched yet: moves threads out of its
 * windows, and leaves out sites that stay occupied. */
void thread_positions_resolve(const struct thread_positions *a, int memory_fd, struct patched *p);
