/* AArch64's agent (agent/aarch64.S), for src/arch/aarch64 and the code that fills its tables. */
#pragma once

#include "base/types.h"

/* Labels of the agent, as offsets from the area's start, where the tables of lanes are. */
struct a64_agent_entries {
    uint16_t seek, seek_end, wait, wait_released, drop, drop_released, drop_counted;
    uint16_t slice, hook, hook_seek_end, call, end;
    uint16_t bridge, gate, gate_saving, gate_saved, gate_restored, gate_end, notes, asks;
    uint16_t remainder, remainder_made, remainder_end;
    uint16_t guarded;
    uint16_t room, text, captures_end; /* `room` is where the code of captures begins */
};
struct a64_agent_entries a64_agent_entries(void);

extern const uint8_t a64_agent_bytes[];
extern const size_t a64_agent_size;
