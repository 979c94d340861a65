/* The code that reads values, in the stubs of captures and judges (arch/capture.h). */
#pragma once

#include "arch/arm/writer.h"
#include "arch/capture.h"

enum {
    ARM_BACK = 0, /* registers: where the agent or, after a fault, the tool goes on */
    ARM_ADDRESS = 2,
    ARM_FREE = 3,
    ARM_HIGH = 4, /* of the word */
    ARM_LANE = 6,
    ARM_MOST_JUMPS = 192
};

/* A branch, or what makes an address, to a place that is not written yet. */
struct arm_jump {
    size_t at;
    uint32_t condition; /* ARM_UNCONDITIONAL: no branch, r0 becomes the address */
    int to;             /* a label: any number */
};

struct arm_reading {
    struct writer *w;
    const struct stub_spec *stub;
    uint32_t word; /* the register of its lower half */
    int otherwise; /* where it goes on if a value cannot be read: a label */
    struct arm_jump jumps[ARM_MOST_JUMPS];
    size_t jump_count;
};

/* Their CTX is a struct arm_reading, or begins with one. A register that the stub has saved is read
 * from the stack. */
extern const struct value_reader arm_reader;

/* Branches to LABEL on CONDITION. */
void arm_jump_to(struct arm_reading *r, uint32_t condition, int label);
/* LABEL is at offset AT. */
void arm_set_label(struct arm_reading *r, int label, size_t at);
/* TO becomes the stack pointer at the function's entry plus OFFSET. */
void arm_stack_address(const struct arm_reading *r, uint32_t to, int32_t offset);

/* As stub_read_switch of struct arch. `bne next` becomes `b next`. T32's `beq read` becomes a
 * branch to what follows it anyway. Only the condition or the distance of a `b` changes, which
 * threads may run meanwhile; so T32 has a `b` of one halfword for this (doc/ARM.md). */
uint32_t arm_read_switch(bool t32, const uint8_t *stub, uint32_t at, uint8_t *ret_byte);
