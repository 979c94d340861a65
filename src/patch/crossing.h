/*
 * Lets a stopped thread run the rest of the straight code of a trampoline: over the bridge
 * (arch/bridge.h) of the module's area. It is not single-stepped: a step outlives its tracer and
 * would raise SIGTRAP. If the tracer dies at any moment, the thread goes on by itself, with its own
 * registers and, behind the bridge, its own signal mask.
 *
 * One thread at a time goes over a bridge. settle_registers() moves away a thread that a killed
 * tracer has left there, before another one comes.
 */
#pragma once

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

/* Whether the thread can cross: not where its sandbox forbids it to set its signal mask, nor where
 * another thread will return to the bridge from a signal handler. */
bool crossing_is_possible(const struct crossing *c);
struct crossing_before { /* the state of a thread that crosses */
    struct bridge_notes notes;
    bool before_signal; /* that is about to be delivered */
    siginfo_t signal;
    bool trap_flag;
    void *vectors; /* that its calls would forget */
};
/* Puts the thread onto the bridge: it crosses when anybody resumes it. *RET: its state before.
 * −ERANGE: that code cannot stand there. */
int crossing_begin(const struct crossing *c, struct crossing_before *ret);
/* Lets it run, and stops it at the other side as it was stopped: before the same signal, with the
 * same mask, still on the bridge. *ret_fault: an instruction on the bridge has faulted; the thread
 * stands before it. */
int crossing_end(const struct crossing *c, const struct crossing_before *before, bool *ret_fault);
