/*
 * The arguments of USDT probes, as the assembler has written them into notes: "-4@$5 8@%rax". Each
 * is SIZE@OPERAND, or an operand alone, of a word. SIZE is in bytes; − says signed, f a float.
 *
 *   x86-64    $5   %rax   %al   %ah   %xmm0   -20(%rbp)   (%rax,%rbx,4)   sym+8(%rip)   sym
 *   AArch64   5    x0   w0   d0   [sp, 16]   [x0]   [x0, x1, lsl 3]
 *   Arm       #5   r0   fp   s0   d0   [fp, #-8]   [r0]
 *
 * What has no such form, or a symbol that is not known, is there, but has no value.
 */
#pragma once

#include "base/err.h"
#include "values/abi.h"

enum operand_kind { OPERAND_UNKNOWN, OPERAND_CONSTANT, OPERAND_REGISTER, OPERAND_MEMORY };

struct operand {
    enum operand_kind kind;
    uint8_t bytes; /* of the argument: 1, 2, 4, 8, …; 0: SIZE is not known */
    bool is_signed, is_float;
    enum capture_from from; /* of the register, or the memory's base: FROM_REGISTER, FROM_VECTOR */
    uint8_t reg, part;      /* as in struct capture_value */
    uint8_t shift;          /* OPERAND_REGISTER: the lowest bit: 8 of %ah */
    bool indexed;           /* OPERAND_MEMORY: index << scale is added to the base */
    uint8_t index, scale;
    int64_t number; /* the constant; of memory the offset */
    /* OPERAND_MEMORY at a symbol, without a register: its name, in the text. NULL: at none */
    const char *symbol;
    size_t symbol_bytes;
};

/* Parses the next argument at *TEXT, of ABI, and moves *TEXT behind it. False: there is none. */
bool operand_next(enum abi abi, const char **text, struct operand *ret);

struct probe_request {
    struct types *types;
    enum abi abi;
    const char *arguments; /* of the note */
    const char *spec;      /* "arg1/s,arg3/x"; NULL: all, by their sizes. Arguments that the probe
                              lacks are left out: other probes of its pattern may have them */
    uint32_t strings;      /* most bytes of a text */
    /* The address of the symbol NAME in the probe's file. False: it is not known. */
    bool (*symbol_at)(void *ctx, const char *name, uint64_t *ret);
    void *ctx;
};
/* Fills RET, but for `function`, with what R asks for. Errors: "spec", with a caret: SPEC is
 * malformed, or has other terms than argN. */
int operands_compile(const struct probe_request *r, struct capture *ret, struct err *err);
/* The same check of SPEC, as far as it takes no probe. */
int operands_check_spec(const char *spec, struct err *err);
