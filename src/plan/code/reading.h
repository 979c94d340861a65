/* The steps of code_read(), in this order. Together they fill its result. Private to it. */
#pragma once

#include "plan/code/code.h"

struct literal { /* a constant between instructions */
    vaddr_t addr;
    uint8_t size;
};

struct reading {
    struct code *code;
    const struct module *module;
    address_list returns_twice;     /* functions that do, their stubs and import slots; sorted */
    ARRAY(struct literal) literals; /* data that loads read; by address after literals_settle() */
    ARRAY(struct address_load) undecodable; /* words in functions that do not decode */
};

/* Decodes all code and records its references. */
void decode_all(struct reading *r);
/* Removes what was decoded from constants between instructions. */
void literals_settle(struct reading *r);
/* Records what symbols, data, landing pads and the compiler's tables refer to. */
void targets_note(struct code *code);
/* Completes transfers from the instructions around them. */
void transfers_resolve(struct code *code);

/* Records that ADDR is called, or that its address is TAKEN. */
void code_note_called(const struct code *code, vaddr_t addr, bool taken);
/* Keeps SIZE bytes at ADDR from being patched. */
void code_keep(const struct code *code, vaddr_t addr, uint64_t size);

static inline void insn_write(struct code *code, const struct text *text, vaddr_t addr,
                              const struct insn *in) {
    code->insns[text_place(text, addr)] = (uint8_t)(in->size >> text->size_shift << 4 | in->kind);
}
