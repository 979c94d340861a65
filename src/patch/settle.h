/*
 * Moves stopped threads out of stubs and trampolines. Then signal handlers, core dumps and
 * debuggers see the program's own code, and trampolines can be unmapped. (thread_positions.h moves
 * threads in.)
 *
 * A thread in a stub is rolled back to the site: it gets its registers back, and its reserved slot
 * of the ring is released. A thread between relocated instructions goes back to the original code
 * where it can always resume there: at the start of a window, unless a stub of the window has run,
 * whose event would be recorded twice. Elsewhere it runs on until it has left the trampoline
 * (crossing.h).
 */
#pragma once

#include "patch/space.h"

enum settled {
    SETTLED_OUTSIDE, /* pc was or is now in the program's own code */
    SETTLED_INSIDE,  /* pc is at a relocated instruction in the middle of a window */
};

struct settle_place { /* where a thread is that could not be moved by changing registers */
    struct patched *patched;
    taddr_t original;        /* run-time address of the original instruction */
    const struct mark *mark; /* NULL: the registers are as they would be at `original` */
};

/* Settles a thread by its registers alone: never resumes it. HANDLE may be NULL. */
int settle_registers(const struct space *space, pid_t tid, struct lane_handle *handle,
                     enum settled *ret_settled, struct settle_place *ret_place);
/* Changes REGS, of the thread at PLACE, to their values in the program's own code. False: the
 * thread's stack could not be read. */
bool settle_put_back(const struct space *space, const struct settle_place *place,
                     struct regs *regs);
/* Lets the thread run until it has left the trampoline. Asynchronous signals stay blocked
 * meanwhile. If an instruction faults, *ret_settled is SETTLED_INSIDE, and the fault happens again
 * when the thread is resumed. −ESRCH: the thread has died. */
int settle_step_out(const struct space *space, pid_t tid, struct lane_handle *handle,
                    enum settled *ret_settled);
/* All text is restored: moves the thread to where it would be without spoor. It only runs through
 * instructions that together stand for one original instruction. */
int settle_out(const struct space *space, pid_t tid, struct lane_handle *handle,
               enum settled *ret_settled);
struct settle_hooked { /* a thread that waits in the agent for the tool */
    uint8_t variant;   /* of its stub */
    taddr_t site;      /* run-time address */
    struct regs regs;  /* what its registers were at the site, but the pc */
};
/* Whether the thread waits so. Changes nothing. */
bool settle_find_hooked(const struct space *space, pid_t tid, struct settle_hooked *ret);
/* Where in P's area a thread at run-time address SITE, which is patched, goes on behind the site's
 * hook; 0: there is no hook. */
taddr_t settle_behind_hook(const struct patched *p, taddr_t site);
/* The thread has faulted in a stub because it may not read the clock (PR_SET_TSC, seccomp's strict
 * mode): writes its event and moves it behind the stub. If it has faulted in the agent, it only
 * does without the clock. False: the thread is elsewhere, and nothing was done. */
bool settle_clockless(const struct space *space, pid_t tid, struct lane_handle *handle);
