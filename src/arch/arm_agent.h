/* The agents of AArch64 and 32-bit Arm (src/agent): where stubs enter them, and their labels. */
#pragma once

#include "base/types.h"

/* An agent begins with a branch for each of its entries. These are their offsets from its code,
 * which stands behind the tables of lanes. */
enum arm_agent_entry {
    AGENT_ENTRY_SEEK = 0,
    AGENT_ENTRY_WAIT = 4,
    AGENT_ENTRY_DROP = 8,
    AGENT_ENTRY_SLICE = 12,
    AGENT_ENTRY_HOOK = 16,
    AGENT_ENTRY_GUARD = 20,
    AGENT_ENTRY_ROOM = 24,
    AGENT_ENTRY_CRAMPED = 28,
    AGENT_ENTRY_TEXT = 32,
    AGENT_ENTRY_TEXT_WIDE = 36,
    AGENT_ENTRY_TEXT_LONG = 40,
    AGENT_ENTRY_TEXT_COUNTED = 44,
    AGENT_ENTRIES_BYTES = 48
};

/*
 * Labels of the host's agent, as offsets from the area's start, where the tables of lanes are.
 * Behind its branches the agent has them in this order; 0: it has no such label.
 *
 * AArch64: a slot stays reserved from `wait` to wait_released, and from `drop` to drop_released.
 * 32-bit Arm: no slot is reserved. From drop_counting to drop_counted the event is counted as lost
 * if r1 is 0.
 *
 * The gate saves registers at notes.saved (arch/bridge.h): x0 to x3 and x8, or r0 to r3 and r7.
 * Before gate_saving nothing is saved; from there to gate_saved one register is on the stack; from
 * gate_restored on all are restored. Threads come to the gate of 32-bit Arm, which is A32 code,
 * outside of blocks, with any flags. It loads the pc from gate_back, which the tool writes, with
 * the state's bit.
 */
struct arm_agent_labels {
    uint16_t seek, seek_end, wait, wait_released;
    uint16_t drop, drop_released, drop_counting, drop_counted;
    uint16_t slice, hook, hook_seek_end, call, end;
    uint16_t bridge, gate, gate_saving, gate_saved, gate_restored, gate_back, gate_end, notes, asks;
    uint16_t remainder, remainder_made, remainder_end;
    uint16_t guarded;
    uint16_t room, text, captures_end; /* `room` is where the code of captures begins */
};
struct arm_agent_labels arm_agent_labels(void);

extern const uint8_t a64_agent_bytes[], arm_agent_bytes[];
extern const size_t a64_agent_size, arm_agent_size;
