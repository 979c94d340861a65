/* What stubs of 32-bit Arm put on the stack (stub.h). */
#pragma once

#include "arch/stub.h"
#include "wire/lane_lookup.h"

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
