/*
 * Patches that come upon threads. Before the text of a module changes, threads that stand in the
 * middle of one of its windows-to-be go on at the same instruction's copy; windows into whose
 * middle something returns that cannot be moved stay as they are. So a spoor that is killed between
 * any two steps leaves a program that runs on.
 */
#ifndef SPOOR_PATCH_ARRIVAL_H
#define SPOOR_PATCH_ARRIVAL_H

#include "base/mem.h"
#include "patch/aside.h"
#include "patch/patched.h"
#include "unwind/sigframes.h"

struct arrival {
    ARRAY(pid_t) tids;  /* all threads of the space; they stand still, or wait in the kernel */
    ARRAY(taddr_t) pcs; /* where something returns to that cannot be moved */
    struct aside aside; /* the same, if it counts */
    ARRAY(struct span) stacks; /* goroutines', which stay where they are until all go on */
    bool as_prepared; /* it was looked for in prepared windows only: there must be no others */
};

void arrival_add(struct arrival *a, int memory_fd, const struct maps *maps, pid_t tid);
void arrival_done(struct arrival *a);
/* The trampolines of P, in the memory of MEMORY_FD, are mapped and filled, and its text is what it
 * was. */
void arrival_settle(const struct arrival *a, int memory_fd, struct patched *p);

#endif
