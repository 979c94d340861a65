/* The steps of code_read(), in this order, which complete its result. Private to it. */
#pragma once

#include "plan/code/code.h"

struct literal { /* a constant between instructions */
    vaddr_t addr;
    uint8_t size;
};

struct reading {
    struct code *code;
    const struct module *module;
    address_list returns_twice;             /* such functions, their stubs and slots; sorted */
    ARRAY(struct literal) literals;         /* what loads read; by address, once settled */
    ARRAY(struct address_load) undecodable; /* words of functions that are no instructions */
};

/* Decodes all code, and notes what it refers to. */
void decode_all(struct reading *r);
/* What is a constant is no instruction. */
void literals_settle(struct reading *r);
/* What symbols, data, landing pads and lists of the compiler's refer to. */
void targets_note(struct code *code);
/* Completes transfers by what the instructions around them tell. */
void transfers_resolve(struct code *code);

/* Notes that ADDR is called, or its address TAKEN. */
void code_note_called(const struct code *code, vaddr_t addr, bool taken);
/* Keeps SIZE bytes at ADDR from being patched. */
void code_keep(const struct code *code, vaddr_t addr, uint64_t size);

static inline void insn_write(struct code *code, const struct text *text, vaddr_t addr,
                              const struct insn *in) {
    code->insns[text_place(text, addr)] = (uint8_t)(in->size >> text->size_shift << 4 | in->kind);
}
