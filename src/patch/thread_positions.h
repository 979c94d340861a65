/*
 * Where threads stand, and return to, while patches are written. Before the text of a module
 * changes, a thread that stands inside a future window goes on at the copy of the same instruction.
 * Windows into whose middle something else returns stay unpatched. So the program runs on if spoor
 * is killed between any two steps.
 */
#pragma once

#include "base/mem.h"
#include "patch/parked_sigframes.h"
#include "patch/patched.h"
#include "unwind/sigframes.h"

struct thread_positions {
    ARRAY(pid_t) tids;  /* all threads of the space: they stand still, or wait in the kernel */
    ARRAY(taddr_t) pcs; /* return addresses that cannot be changed */
    struct parked_sigframes parked; /* the same, where parked_sigframe_counts() */
    ARRAY(struct span) stacks;      /* of goroutines, which do not move until all threads run */
    bool as_prepared; /* only prepared windows were searched: no others may be written */
};

void thread_positions_add(struct thread_positions *a, int memory_fd, const struct maps *maps,
                          pid_t tid);
void thread_positions_done(struct thread_positions *a);
/* P's trampolines are mapped and filled, in the memory of MEMORY_FD, and its text is not patched
 * yet: moves threads out of its windows, and leaves out the sites that stay occupied. */
void thread_positions_resolve(const struct thread_positions *a, int memory_fd, struct patched *p);
