/* The agent of 32-bit Arm (agent/arm.S), for src/arch/arm. */
#pragma once

#include "arch/arm/stub.h"

/*
 * All offsets from the area's start, where the tables of lanes stand.
 *
 * From wait to drop_counted nothing of the thread's is reserved or done but the count: at
 * drop_counting, and up to drop_counted, the event is counted as lost if r1 is 0. In seek, slice
 * and hook nothing is.
 *
 * The gate is A32 code, to be come to at `gate` with any flags, outside of blocks. It keeps r0, r1,
 * r2, r3 and r7, words of 32 bits in this order, at notes.saved. From gate to gate_saving nothing
 * is saved, up to gate_saved it is being done, and r0 is on top of the stack; from gate_restored on
 * all is back. There stands a load of the pc from the word at gate_back, which the tool writes,
 * with the bit of the state.
 */
struct arm_agent_entries {
    uint16_t seek, seek_end, wait, drop, drop_counting, drop_counted, slice;
    uint16_t hook, hook_seek_end, call, end;
    uint16_t bridge, gate, gate_saving, gate_saved, gate_restored, gate_back, gate_end, notes, asks;
    uint16_t remainder, remainder_made, remainder_end;
};
struct arm_agent_entries arm_agent_entries(void);

extern const uint8_t arm_agent_bytes[];
extern const size_t arm_agent_size;
