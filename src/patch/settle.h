/*
 * Moves stopped threads out of stubs and trampolines, so that signal handlers, core dumps and
 * debuggers see the program's own code, and so that trampolines can be unmapped.
 * (thread_positions.h moves threads in.)
 *
 * A thread in a stub is rolled back to the site: it gets its registers as they were, and its
 * reserved slot of the ring is given back. A thread between relocated instructions goes back to the
 * original code where it can always resume: the start of a window. Elsewhere it runs on until it
 * has left the trampoline (crossing.h).
 */
#pragma once

#include "patch/space.h"

enum settled {
    SETTLED_OUTSIDE, /* pc was or is now in the program's own code */
    SETTLED_INSIDE,  /* pc is at a relocated instruction in the middle of a window */
};

struct settle_place { /* of a thread that could not be moved by changing registers */
    struct patched *module;
    taddr_t original;        /* run-time address that the instruction was taken from */
    const struct mark *mark; /* of that place; NULL: the registers are as they would be there */
};

/* Changes registers only: never resumes the thread. HANDLE may be NULL. */
int settle_registers(const struct space *space, pid_t tid, struct lane_handle *handle,
                     enum settled *ret_settled, struct settle_place *ret_place);
/* Changes REGS, of the thread that PLACE is about, to what they would be in the program's own
 * code. False: the thread's stack could not be read. */
bool settle_put_back(const struct space *space, const struct settle_place *place,
                     struct regs *regs);
/* Lets the thread run until it has left the trampoline. Asynchronous signals stay blocked
 * meanwhile; an instruction that faults ends it with *ret_settled = SETTLED_INSIDE (the fault
 * happens again when the thread is resumed). −ESRCH: the thread died. */
int settle_step_out(const struct space *space, pid_t tid, struct lane_handle *handle,
                    enum settled *ret_settled);
/* All text is the program's own again: moves the thread to where it would be without spoor. It
 * only runs through instructions that stand for one instruction together. */
int settle_out(const struct space *space, pid_t tid, struct lane_handle *handle,
               enum settled *ret_settled);
/* The thread has faulted in a stub that reads the clock, which it may not do (PR_SET_TSC,
 * seccomp's strict mode): writes its event and moves it behind the stub. False: the thread stands
 * elsewhere, and nothing was done. */
bool settle_clockless(const struct space *space, pid_t tid, struct lane_handle *handle);
