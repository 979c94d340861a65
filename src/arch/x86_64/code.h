/*
 * Writes the code that stubs have in their middle: of captures (capture.h) and of what judges calls
 * (judge.h). Jumps lead forwards, to labels.
 */
#pragma once

#include <stddef.h>

#include "arch/labels.h"
#include "arch/stub.h"

enum { CODE_RAX = 0, CODE_RCX = 1, CODE_RDX = 2, CODE_RSI = 6, CODE_RDI = 7 }; /* in instructions */

struct code {
    uint8_t *out;
    size_t size;
    uint32_t up; /* from rsp to that at the site */
    const struct stub_spec *stub;
    unsigned saved;       /* how many of rax, rdx, rcx, rsi, rdi, r8 the stub has pushed last */
    struct labels labels; /* a jump's `at` is the end of its displacement */
};

void code_bytes(struct code *c, const void *p, size_t n);
void code_number(struct code *c, int64_t value); /* its lower 32 bits */
#define INSN(c, text) code_bytes(c, text, sizeof(text) - 1)
#define INSN32(c, text, value) (INSN(c, text), code_number(c, value))

/* A displacement to label TO. */
void code_lead(struct code *c, int to);
/* The label TO stands FAR bytes behind. */
void code_set(struct code *c, int to, uint32_t far);

/* lea AT(%rsp),%to and mov AT(%rsp),%to, of the first eight registers. */
void code_stack_address(struct code *c, uint8_t to, int64_t at);
void code_load_stack(struct code *c, uint8_t to, int64_t at);
/* The number in instructions of the general register REG of DWARF (System V ABI, AMD64, figure
 * 3.36). */
uint8_t code_register(uint8_t reg);
/* TO becomes the register REG of DWARF as it was at the site. */
void code_load_register(struct code *c, uint8_t to, uint8_t reg);
bool code_is_saved(const struct code *c, uint8_t reg);

/* Goes to TO if nobody would see a fault. Changes rdx. */
void code_check_owner(struct code *c, int to);
/* Goes to TO if no program has memory at ADDRESS. Else rdx becomes TO: there the tool sends threads
 * whose loads fault. */
void code_check_address(struct code *c, uint8_t address, uint8_t scratch, int to);
