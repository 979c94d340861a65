/*
 * Stage 1: the executable segments of a module. A *place* is the number of a byte in them. So
 * later stages keep their findings in one array for all segments.
 */
#pragma once

#include "arch/arch.h"
#include "base/mem.h"
#include "elf/module.h"

enum { PLACE_STEP = 256 }; /* each segment's first place is a multiple of this */

struct text { /* an executable segment */
    vaddr_t start;
    size_t size;
    const uint8_t *bytes;
    size_t first;       /* the place of its first byte */
    uint8_t size_shift; /* sizes of instructions are multiples of 1 << size_shift */
};

struct texts {
    const struct module *module;
    const struct arch *arch; /* one of the machine's states, for facts that all states share */
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
/* The constant that IN loads from a literal pool (32-bit Arm); NULL: none. For arch.follow(). */
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
/* The address in WORD, without the bit that selects a state. */
static inline vaddr_t code_address(const struct texts *texts, vaddr_t word) {
    return texts->arch->other ? word & ~(vaddr_t)1 : word;
}
