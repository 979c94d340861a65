/*
 * The bridge: code in the agent over which a stopped thread is let go to run straight code of a
 * trampoline and no more (patch/crossing.c). Pure functions over bytes; like regs.h those of the
 * host.
 *
 *     bridge:  copies of the instructions     AREA's first bytes are the agent
 *              jump to the gate
 *     gate:    saves what it uses in memory of ours, calls the kernel twice (src/agent), puts it
 *              back, and jumps to notes.back
 *
 * A return that authenticates its address is run in two parts, as only the thread has the key: the
 * bridge authenticates, and the gate returns.
 */
#pragma once

#include "arch/regs.h"

struct bridge_notes { /* in the target's memory, with the bridge */
    uint64_t mask;    /* of signals, as the thread has it */
    taddr_t from;     /* where the instructions stand in the trampoline */
    taddr_t back;     /* where they end, as regs_name_code() names it; FROM: such a return */
    taddr_t saved;    /* where the gate keeps registers: BRIDGE_WORDS of writable memory */
};

/* How many of the SIZE bytes at CODE, which stand where the thread of REGS does, are whole
 * instructions that are run one after the other, and fit. */
size_t bridge_fit(const struct regs *regs, const uint8_t *code, size_t size);
/* Does a return that authenticates its address stand first at CODE? */
bool bridge_returns(const uint8_t *code, size_t size);
/* Writes the instructions from NOTES->from to NOTES->back, which are CODE (as above), the jump and
 * what of the gate is to be written, as they are to stand from bridge_at(AREA) on. 0, or −ERANGE
 * when one of them cannot run there. */
int bridge_write(const uint8_t *code, const struct bridge_notes *notes, taddr_t area,
                 uint8_t out[BRIDGE_WRITTEN]);

/* Run-time addresses: its start, its notes. */
taddr_t bridge_at(taddr_t area);
taddr_t bridge_notes_at(taddr_t area);
/* Whether ADDR is in the gate, and not on the bridge itself. */
bool bridge_is_gate(taddr_t area, taddr_t addr);

/* Makes of REGS, of a thread on the bridge of AREA, what they would be in the trampoline; WORDS are
 * those at notes->saved. False: no thread stands so on a bridge with these notes. */
bool bridge_leave(struct regs *regs, taddr_t area, const struct bridge_notes *notes,
                  const regs_word_t words[BRIDGE_WORDS]);
