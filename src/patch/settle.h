/*
 * Moves stopped threads out of stubs and trampolines, so that signal handlers,
 * core dumps and debuggers see the program's own code, and so that trampolines
 * can be taken away. (thread_positions.h moves them in.)
 *
 * A thread in a stub is rolled back to the site: registers as they were, the
 * reserved slot given back. A thread between relocated instructions is put
 * back to the original code where resuming is always right (the start of a
 * window); else it is brought on until it has left the trampoline (crossing.h).
 */
#ifndef SPOOR_PATCH_SETTLE_H
#define SPOOR_PATCH_SETTLE_H

#include "patch/space.h"

enum settled {
    SETTLED_OUTSIDE, /* pc was or is now in the program's own code */
    SETTLED_INSIDE,  /* pc is at a relocated instruction in the middle of a window */
};

struct settle_place { /* where a thread stands that could not be moved by registers alone */
    struct patched *module;
    taddr_t original;        /* run-time address that the instruction was taken from */
    const struct mark *mark; /* what tells so; NULL: the registers are as they would be there */
};

/* By registers alone: never resumes the thread. HANDLE may be NULL. */
int settle_registers(const struct space *space, pid_t tid, struct lane_handle *handle,
                     enum settled *ret_settled, struct settle_place *ret_place);
/* Makes of REGS, of the thread for which PLACE was told, what they would be there in the program's
 * own code. False: the thread's stack could not be read. */
bool settle_put_back(const struct space *space, const struct settle_place *place,
                     struct regs *regs);
/*
 * Brings the thread on until it has left the trampoline. Asynchronous signals stay blocked
 * meanwhile; an instruction that faults ends it with *ret_settled = SETTLED_INSIDE (the fault will
 * happen again when the thread is resumed). −ESRCH: the thread died.
 */
int settle_step_out(const struct space *space, pid_t tid, struct lane_handle *handle,
                    enum settled *ret_settled);
/*
 * The program's text is its own again: brings the thread to where it would be without us. It is
 * brought on only through what several instructions do for one.
 */
int settle_out(const struct space *space, pid_t tid, struct lane_handle *handle,
               enum settled *ret_settled);
/*
 * The thread stands at a stub's reading of the clock, which has faulted: it may not read it
 * (PR_SET_TSC, seccomp's strict mode). Writes the event in its stead and puts it behind the stub.
 * False: it stands elsewhere, and nothing was done.
 */
bool settle_clockless(const struct space *space, pid_t tid, struct lane_handle *handle);

#endif
