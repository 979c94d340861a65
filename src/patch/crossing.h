/*
 * Lets a stopped thread run what is left of the straight code of a trampoline: over the bridge
 * (arch/bridge.h) of the module's area. Nobody steps it, as a step outlives its tracer and would
 * raise SIGTRAP: at each moment a thread without its tracer goes on by itself, with its registers
 * and, once it is over the bridge, its signal mask.
 *
 * One thread at a time goes over a bridge. Whoever has been left there by a tracer that was killed
 * is brought away by settle_registers(), before anybody else comes.
 */
#ifndef SPOOR_PATCH_CROSSING_H
#define SPOOR_PATCH_CROSSING_H

#include <signal.h>

#include "arch/bridge.h"
#include "patch/space.h"

struct crossing {
    const struct space *space;
    const struct patched *module;
    pid_t tid;
    const uint8_t *code; /* instructions, as bridge_fit() has found them */
    size_t size;         /* 0: one for which bridge_returns() */
    taddr_t from;        /* where they stand, and the thread's pc */
};

/* Whether the thread may be let go there: not where its sandbox forbids it to set its mask, nor
 * where another is to come back to the bridge from a signal's handler. */
bool crossing_is_possible(const struct crossing *c);
/* Puts the thread onto the bridge: it goes over it when it is resumed, whoever resumes it. *RET: as
 * it was. −ERANGE: that code cannot stand there. */
struct crossing_before {
    struct bridge_notes notes;
    bool before_signal; /* that is about to be delivered */
    siginfo_t signal;
    bool trap_flag;
    void *vectors; /* that its calls would forget */
};
int crossing_begin(const struct crossing *c, struct crossing_before *ret);
/* Lets it go, and stops it at the other side as it was stopped: before the same signal, with the
 * same mask, but still on the bridge. *ret_fault: an instruction has faulted, before which it
 * stands, on the bridge, too. */
int crossing_end(const struct crossing *c, const struct crossing_before *before, bool *ret_fault);

#endif
