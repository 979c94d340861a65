/*
 * What a function's first instructions show of what it was passed: where the bytes that it keeps in
 * its frame were when it was called. Nothing of a calling convention is used for that.
 *
 *     sub  $0x18,%rsp
 *     mov  %edi,0x8(%rsp)       the frame's bytes 8 to 11 were the lower half of rdi,
 *     mov  %rsi,0x10(%rsp)      16 to 23 were rsi
 */
#pragma once

#include "elf/module.h"

enum origin_kind {
    ORIGIN_UNKNOWN,
    ORIGIN_REGISTER, /* byte `at` of the register at the function's first instruction */
    ORIGIN_STACK     /* the byte at CFA + at */
};
struct origin {
    enum origin_kind kind;
    uint8_t reg; /* by its number in struct data_use (arch/arch.h) */
    bool bit;    /* of that byte only the lowest bit is kept */
    int32_t at;
};

struct entry_code;
/* Reads code from a function's start at START on, up to UNTIL if that is not 0, else as far as it
 * is straight. NULL: it does not lead to UNTIL, or the machine's code is not understood. */
struct entry_code *entry_code_read(const struct module *m, vaddr_t start, vaddr_t until);
void entry_code_free(struct entry_code *e);

/* A place in memory, where the code was read to: register BASE (by its DWARF number; ENTRY_CFA: the
 * CFA) + OFFSET. */
enum { ENTRY_CFA = -1 };
struct entry_memory {
    int32_t base;
    int64_t offset;
};
/* As distance from the CFA. False: not known. WHOLE: BASE is that of the whole function, not only
 * of the place where the code was read to. */
bool entry_code_place(const struct entry_code *e, struct entry_memory at, bool whole, int32_t *ret);
/* The origin of the byte that was first stored at CFA + AT, or was there when the function was
 * called. */
struct origin entry_code_first(const struct entry_code *e, int32_t at);
/* The origin of byte BYTE of REG, where the code was read to. */
struct origin entry_code_register(const struct entry_code *e, unsigned reg, unsigned byte);
