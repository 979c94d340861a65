/*
 * The bridge: code in the agent on which a stopped thread runs the straight code of a trampoline
 * that is left for it, and nothing else (patch/crossing.c). Pure functions over bytes; for the host
 * only, like regs.h.
 *
 *     bridge:  copies of the instructions     AREA's first bytes are the agent
 *              jump to the gate
 *     gate:    saves its registers in spoor's memory, calls the kernel twice (src/agent), restores
 *              them, and jumps to notes.back
 *
 * A return that authenticates its address runs in two parts, as only the thread has the key: the
 * bridge authenticates, and the gate returns.
 */
#pragma once

#include "arch/regs.h"

struct bridge_notes { /* in the target's memory, with the bridge */
    uint64_t mask;    /* the thread's signal mask */
    taddr_t from;     /* address of the instructions in the trampoline */
    taddr_t back;     /* their end, as by regs_code_pointer(); FROM: an authenticating return */
    taddr_t saved;    /* where the gate saves registers: BRIDGE_WORDS of writable memory */
};

/* CODE is SIZE bytes from the pc of REGS. Returns how many of them are whole instructions of
 * straight code that fit on the bridge. */
size_t bridge_fit(const struct regs *regs, const uint8_t *code, size_t size);
/* Is the first instruction of CODE a return that authenticates its address? */
bool bridge_returns(const uint8_t *code, size_t size);
/* Writes the bytes from bridge_at(AREA) on: the instructions CODE, from NOTES->from to NOTES->back,
 * the jump, and the variable part of the gate. 0, or −ERANGE when an instruction cannot run
 * there. */
int bridge_write(const uint8_t *code, const struct bridge_notes *notes, taddr_t area,
                 uint8_t out[BRIDGE_WRITTEN]);

/* Run-time addresses of the bridge and of its notes. */
taddr_t bridge_at(taddr_t area);
taddr_t bridge_notes_at(taddr_t area);
/* Whether ADDR is in the gate, not on the bridge itself. */
bool bridge_is_gate(taddr_t area, taddr_t addr);

/* REGS are of a thread on the bridge of AREA; makes them what they would be in the trampoline.
 * WORDS are those at notes->saved. False: REGS do not fit to a bridge with these notes. */
bool bridge_leave(struct regs *regs, taddr_t area, const struct bridge_notes *notes,
                  const regs_word_t words[BRIDGE_WORDS]);
