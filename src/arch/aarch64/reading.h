/* The code that reads values, in the stubs of captures and judges (arch/capture.h). */
#pragma once

#include "arch/aarch64/writer.h"
#include "arch/capture.h"

enum { A64_BACK = 0, A64_LANE = 3 };

/* Its CTX is a struct reading. x3 is the lane. A register that the stub has saved is read from the
 * stack. */
extern const struct value_reader a64_reader;

/* Writes INSN, which leads to LABEL. */
void a64_jump_to(struct reading *r, uint32_t insn, int label);
/* LABEL is FAR bytes behind. */
void a64_set_label(struct reading *r, int label, size_t far);
/* TO becomes the stack pointer at the function's entry plus OFFSET, which is less than 1 << 23. */
void a64_stack_address(const struct reading *r, uint32_t to, int64_t offset);

/* stub_read_switch of struct arch: `b read` becomes a branch to the `b next` behind it. A `b` may
 * replace a `b` that threads run meanwhile (doc/ARM.md). */
uint32_t a64_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte);
