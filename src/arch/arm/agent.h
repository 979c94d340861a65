/* The agent of 32-bit Arm (agent/arm.S), for src/arch/arm. */
#pragma once

#include "arch/arm/stub.h"

/*
 * Labels of the agent, as offsets from the area's start, where the tables of lanes are.
 *
 * In seek, slice, hook, and from wait to drop_counted no slot is reserved. From drop_counting to
 * drop_counted the event is counted as lost if r1 is 0.
 *
 * The gate is A32 code. Threads come to `gate` outside of blocks, with any flags. It saves r0, r1,
 * r2, r3 and r7, words in this order, at notes.saved. Before gate_saving nothing is saved; from
 * there to gate_saved r0 is on top of the stack; from gate_restored on all registers are restored.
 * There the pc is loaded from gate_back, which the tool writes, with the state's bit.
 */
struct arm_agent_entries {
    uint16_t seek, seek_end, wait, drop, drop_counting, drop_counted, slice;
    uint16_t hook, hook_seek_end, call, end;
    uint16_t bridge, gate, gate_saving, gate_saved, gate_restored, gate_back, gate_end, notes, asks;
    uint16_t remainder, remainder_made, remainder_end;
    uint16_t guarded;
    uint16_t room, text, captures_end; /* `room` is where the code of captures begins */
};
struct arm_agent_entries arm_agent_entries(void);

extern const uint8_t arm_agent_bytes[];
extern const size_t arm_agent_size;
