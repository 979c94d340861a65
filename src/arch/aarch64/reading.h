/* The code that reads values, in the stubs of captures and judges (arch/capture.h). */
#pragma once

#include "arch/aarch64/writer.h"
#include "arch/capture.h"

enum { A64_BACK = 0, A64_LANE = 3, A64_MOST_JUMPS = 256 };

/* A branch, or an `adr`, to a place that is not written yet. */
struct a64_jump {
    size_t at;
    int to; /* a label: any number */
};

struct a64_reading {
    struct writer *w;
    const struct stub_spec *stub;
    uint32_t word, address, free; /* registers; the first two may be one */
    int otherwise;                /* where it goes on if a value cannot be read: a label */
    struct a64_jump jumps[A64_MOST_JUMPS];
    size_t jump_count;
};

/* Their CTX is a struct a64_reading, or begins with one. x3 is the lane. A register that the stub
 * has saved is read from the stack. */
extern const struct value_reader a64_reader;

/* Writes INSN, which leads to LABEL. */
void a64_jump_to(struct a64_reading *r, uint32_t insn, int label);
/* LABEL is at offset AT. */
void a64_set_label(struct a64_reading *r, int label, size_t at);
/* TO becomes the stack pointer at the function's entry plus OFFSET, which is less than 1 << 23. */
void a64_stack_address(const struct a64_reading *r, uint32_t to, int64_t offset);

/* stub_read_switch of struct arch: `b read` becomes a branch to the `b next` behind it. A `b` may
 * replace a `b` that threads run meanwhile (doc/ARM.md). */
uint32_t a64_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte);
