/*
 * Patches that come upon threads. Before the text of a module changes, threads that stand in the
 * middle of one of its windows-to-be go on at the same instruction's copy; windows into whose
 * middle something returns that cannot be moved stay as they are. So a spoor that is killed between
 * any two steps leaves a program that runs on.
 */
#ifndef SPOOR_PATCH_THREAD_POSITIONS_H
#define SPOOR_PATCH_THREAD_POSITIONS_H

#include "base/mem.h"
#include "patch/parked_sigframes.h"
#include "patch/patched.h"
#include "unwind/sigframes.h"

struct thread_positions {
    ARRAY(pid_t) tids;  /* all threads of the space; they stand still, or wait in the kernel */
    ARRAY(taddr_t) pcs; /* where something returns to that cannot be moved */
    struct parked_sigframes parked; /* the same, if it counts */
    ARRAY(struct span) stacks;      /* goroutines', which stay where they are until all go on */
    bool as_prepared; /* it was looked for in prepared windows only: there must be no others */
};

void thread_positions_add(struct thread_positions *a, int memory_fd, const struct maps *maps,
                          pid_t tid);
void thread_positions_done(struct thread_positions *a);
/* The trampolines of P, in the memory of MEMORY_FD, are mapped and filled, and its text is what it
 * was. */
void thread_positions_resolve(const struct thread_positions *a, int memory_fd, struct patched *p);

#endif
