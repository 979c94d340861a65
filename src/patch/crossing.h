/*
 * Lets a stopped thread run the rest of a trampoline's straight code on the bridge (arch/bridge.h)
 * of the module's area. The thread is not single-stepped: a step outlives its tracer and would
 * raise SIGTRAP. If the tracer dies at any moment, the thread goes on by itself with its own
 * registers and, behind the bridge, its own signal mask.
 *
 * One thread at a time is on a bridge. If a killed tracer has left a thread there,
 * settle_registers() moves that away before another thread comes.
 */
#pragma once

#include <signal.h>

#include "arch/bridge.h"
#include "patch/space.h"

struct crossing {
    const struct space *space;
    const struct patched *patched;
    pid_t tid;
    const uint8_t *code; /* instructions found by bridge_fit() */
    size_t size;         /* 0: the instruction is one for which bridge_returns() */
    taddr_t from;        /* address of the code, which is the thread's pc */
};

/* Whether the thread can cross. It cannot if its sandbox forbids it to set its signal mask, or if
 * another thread will return to the bridge from a signal handler. */
bool crossing_is_possible(const struct crossing *c);
struct crossing_before { /* the state of a thread that crosses */
    struct bridge_notes notes;
    bool before_signal; /* `signal` is about to be delivered */
    siginfo_t signal;
    bool trap_flag;
    void *vectors; /* vector registers, which its system calls may clear */
};
/* Puts the thread onto the bridge; it crosses when resumed. *RET: its state before. −ERANGE: the
 * code cannot run on the bridge. */
int crossing_begin(const struct crossing *c, struct crossing_before *ret);
/* Lets the thread cross, and stops it behind the code, still on the bridge, as it was stopped
 * before: before the same signal, with the same mask. *ret_fault: an instruction on the bridge has
 * faulted, and the thread is stopped at it. */
int crossing_end(const struct crossing *c, const struct crossing_before *before, bool *ret_fault);
