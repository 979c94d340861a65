/*
 * Stage 1: the executable segments of a module. A *place* numbers each byte of them, so that later
 * stages keep what they find in one array for all segments.
 */
#pragma once

#include "arch/arch.h"
#include "base/mem.h"
#include "elf/module.h"

enum { PLACE_STEP = 256 }; /* the first place of each segment is a multiple of it */

struct text { /* an executable segment */
    vaddr_t start;
    size_t size;
    const uint8_t *bytes;
    size_t first;       /* the place of its first byte */
    uint8_t size_shift; /* sizes of instructions are multiples of 1 << size_shift */
};

struct texts {
    const struct module *module;
    const struct arch *arch; /* of one of the machine's states: for what is the same in all */
    struct text *at;         /* by address, disjoint */
    size_t count;
    size_t places; /* of all segments, a multiple of PLACE_STEP */
};

/* Errors: EFBIG "text-too-large". */
int texts_open(const struct module *module, const struct arch *arch, struct texts *ret,
               struct err *err);
void texts_done(struct texts *texts);

/* The segment that holds ADDR; NULL: none. */
const struct text *text_at(const struct texts *texts, vaddr_t addr);
/* The executable section at ADDR; NULL: none. */
const struct section *text_section_at(const struct texts *texts, vaddr_t addr);
/* The constant in a literal pool (32-bit Arm) that IN loads; NULL: it loads none. For trails. */
const uint8_t *text_literal(const struct texts *texts, const struct insn *in);

static inline bool text_holds(const struct text *text, vaddr_t addr) {
    return addr - text->start < text->size;
}
static inline size_t text_place(const struct text *text, vaddr_t addr) {
    return text->first + (addr - text->start);
}
static inline const uint8_t *text_bytes(const struct text *text, vaddr_t addr) {
    return text->bytes + (addr - text->start);
}
static inline vaddr_t text_end(const struct text *text) { return text->start + text->size; }
/* The address that WORD leads to, without the bit that tells a state. */
static inline vaddr_t code_address(const struct texts *texts, vaddr_t word) {
    return texts->arch->other ? word & ~(vaddr_t)1 : word;
}
