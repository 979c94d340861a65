/* The code that reads values, in the stubs of captures and judges (arch/capture.h). */
#pragma once

#include "arch/arm/writer.h"
#include "arch/capture.h"

enum {
    ARM_BACK = 0, /* registers: where the agent or, after a fault, the tool goes on */
    ARM_ADDRESS = 2,
    ARM_FREE = 3,
    ARM_HIGH = 4, /* of the word */
    ARM_LANE = 6
};

/* Its CTX is a struct reading, whose `word` is the register of its lower half; the other registers
 * are those above. A register that the stub has saved is read from the stack. */
extern const struct value_reader arm_reader;

/* Branches to LABEL on CONDITION. ARM_UNCONDITIONAL: does not branch, r0 becomes the address. */
void arm_jump_to(struct reading *r, uint32_t condition, int label);
/* LABEL is FAR bytes behind. */
void arm_set_label(struct reading *r, int label, size_t far);
/* TO becomes the stack pointer at the function's entry plus OFFSET. */
void arm_stack_address(const struct reading *r, uint32_t to, int32_t offset);

/* As stub_read_switch of struct arch. `bne next` becomes `b next`. T32's `beq read` becomes a
 * branch to what follows it anyway. Only the condition or the distance of a `b` changes, which
 * threads may run meanwhile; so T32 has a `b` of one halfword for this (doc/ARM.md). */
uint32_t arm_read_switch(bool t32, const uint8_t *stub, uint32_t at, uint8_t *ret_byte);
