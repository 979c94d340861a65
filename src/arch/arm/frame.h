/* What stubs of 32-bit Arm put on the stack, and where they enter the agent (stub.h). */
#pragma once

#include "arch/stub.h"
#include "wire/lane_lookup.h"

/* The agent's entries: offsets from its code, behind the table. */
enum {
    ARM_AGENT_SEEK = 0,
    ARM_AGENT_WAIT = 4,
    ARM_AGENT_DROP = 8,
    ARM_AGENT_HOOK = 12,
    ARM_AGENT_SLICE = 16,
    ARM_AGENT_GUARD = 20,
    ARM_AGENT_ROOM = 24,
    ARM_AGENT_CRAMPED = 28,
    ARM_AGENT_TEXT = 32,
    ARM_AGENT_TEXT_WIDE = 36,
    ARM_AGENT_TEXT_LONG = 40,
    ARM_AGENT_TEXT_COUNTED = 44
};
enum {
    ARM_STUB_FRAME = 32,
    ARM_SLICE_FRAME = 52,
    ARM_LENGTHS_BYTES = 36, /* above the registers, with a capture */
    ARM_CAPTURE_FRAME = ARM_SLICE_FRAME + ARM_LENGTHS_BYTES,
    ARM_CAPTURE_HEAD = 8, /* the register that tells where the next slot stands */
    ARM_STUB_FLAGS = 7    /* the register that keeps them */
};

/* How many registers a stub saves, from r0 on. */
static inline uint32_t arm_stub_saved(uint8_t variant) {
    const bool all = stub_slices(variant) || stub_stores_values(variant);
    return (all ? ARM_SLICE_FRAME : ARM_STUB_FRAME) / 4;
}
/* What a stub takes of the stack. */
static inline uint32_t arm_stub_frame(uint8_t variant) {
    return 4 * arm_stub_saved(variant) + (stub_stores_values(variant) ? ARM_LENGTHS_BYTES : 0);
}
