/*
 * Writes one A64 instruction anew for another address, and jumps.
 *
 *     b target                b target
 *     b.cond, cbz, tbz        the opposite one over it; b target
 *     adrp xd, page           adrp xd, page
 *     adr xd, address         adrp xd, page; add xd, xd, #low
 *     ldr xd, literal         adrp xd, page; ldr xd, [xd, #low], or with an add between
 *     ldr qd, literal         ldr qd, copy; b over; copy: …
 *     prfm literal            nop: a hint
 *     bl target               adrp x30, page; add x30, x30, #low; b target
 *
 * Before its last instruction each form changes only a register that the original overwrites. So a
 * thread that stands in between can run the original once more. A vector load has no such register:
 * a copy of its constant stands beside it. A call returns to the original's return address. All
 * other instructions work at any address and are copied.
 */
#include <errno.h>

#include "arch/aarch64/aarch64.h"

enum { PAGE_BITS = 12, NOP = (int)0xd503201f };
enum { ADRP = (int)0x90000000, ADD = (int)0x91000000, B = 0x14000000 };

static bool fits(int64_t value, unsigned bits) {
    int64_t half = INT64_C(1) << (bits - 1);
    return value >= -half && value < half;
}

/* Puts COUNT bits of VALUE / 4 into WORD, from bit LOW on. 0 or −ERANGE. */
static int put_distance(uint32_t *word, unsigned low, unsigned count, int64_t value) {
    if (value % A64_BYTES || !fits(value / A64_BYTES, count))
        return -ERANGE;
    uint32_t mask = ((UINT32_C(1) << count) - 1) << low;
    *word = (*word & ~mask) | ((uint32_t)(value / A64_BYTES) << low & mask);
    return 0;
}

static void put(struct relocated *ret, uint32_t word) {
    memcpy(ret->bytes + ret->size, &word, sizeof word);
    ret->size += A64_BYTES;
}

int a64_jump(uint8_t *out, vaddr_t at, vaddr_t to) {
    uint32_t word = B;
    int r = put_distance(&word, 0, 26, (int64_t)(to - at));
    memcpy(out, &word, sizeof word);
    return r;
}

/* A thread at the next instruction stands, in the original code, at RESUME. */
static void begin_part(struct relocated *ret, vaddr_t resume) {
    ret->parts[ret->part_count].offset = ret->size;
    ret->parts[ret->part_count].through = false;
    ret->parts[ret->part_count++].resume = resume;
}

static int put_jump(struct relocated *ret, vaddr_t to, vaddr_t target) {
    int r = a64_jump(ret->bytes + ret->size, to + ret->size, target);
    ret->size += A64_BYTES;
    return r;
}

static int put_page(struct relocated *ret, vaddr_t to, uint8_t reg, vaddr_t target) {
    /* Of link-time addresses, either may have wrapped around. */
    int64_t pages = (int64_t)(target - ((to + ret->size) & -(vaddr_t)A64_PAGE)) >> PAGE_BITS;
    if (!fits(pages, 21))
        return -ERANGE;
    put(ret,
        (uint32_t)ADRP | ((uint32_t)pages & 3) << 29 | ((uint32_t)pages >> 2 & 0x7ffff) << 5 | reg);
    return 0;
}

static uint32_t low_of(vaddr_t address) { return (uint32_t)(address & (A64_PAGE - 1)); }

static void put_low(struct relocated *ret, const struct insn *insn, uint8_t reg, vaddr_t address) {
    begin_part(ret, insn->addr);
    put(ret, (uint32_t)ADD | low_of(address) << 10 | (uint32_t)reg << 5 | reg);
}

static int address_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    int r = put_page(ret, to, a64_rd(word), insn->target);
    if (insn->operand == OPERAND_PC_ADDRESS && a64_rd(word) != A64_ZERO)
        put_low(ret, insn, a64_rd(word), insn->target);
    return r;
}

/* A literal load into a general register. */
static int literal_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    static const uint32_t loads[] = {0xb9400000, 0xf9400000, 0xb9800000}; /* w, x, sw */
    uint32_t opc = word >> 30;
    unsigned shift = opc == 1 ? 3 : 2;
    uint8_t reg = a64_rd(word);
    uint32_t load = loads[opc] | (uint32_t)reg << 5 | reg, low = low_of(insn->target);
    int r = put_page(ret, to, reg, insn->target);
    if (low % (1U << shift)) {
        put_low(ret, insn, reg, insn->target);
        low = 0;
    }
    begin_part(ret, insn->addr);
    put(ret, load | low >> shift << 10);
    return r;
}

static int vector_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    uint8_t bytes = insn->copies;
    a64_load_by_pc(&word, 0, 2 * (vaddr_t)A64_BYTES);
    put(ret, word);
    begin_part(ret, insn->addr + insn->size);
    ret->copy_at = 2 * A64_BYTES;
    ret->copy_bytes = bytes;
    ret->copy = insn->target;
    int r = put_jump(ret, to, to + 2 * A64_BYTES + bytes);
    memset(ret->bytes + ret->size, 0, bytes);
    ret->size += bytes;
    return r;
}

int a64_load_by_pc(uint32_t *word, vaddr_t at, vaddr_t target) {
    return put_distance(word, 5, 19, (int64_t)(target - at));
}

/* Makes of a conditional branch the opposite one, over SKIP bytes behind it. */
static int opposite(uint32_t word, int64_t skip, uint32_t *ret) {
    bool condition = word >> 24 == 0x54;
    *ret = word ^ (condition ? 1U : UINT32_C(1) << 24);
    return put_distance(ret, 5, (word & 0x7e000000) == 0x36000000 ? 14 : 19, A64_BYTES + skip);
}

static int branch_to(const struct insn *insn, uint32_t word, vaddr_t to, struct relocated *ret) {
    uint32_t over;
    opposite(word, A64_BYTES, &over);
    put(ret, over);
    begin_part(ret, insn->target);
    return put_jump(ret, to, insn->target);
}

static int call_to(const struct insn *insn, vaddr_t to, struct relocated *ret) {
    vaddr_t back = insn->addr + insn->size;
    int r = put_page(ret, to, A64_LR, back);
    put_low(ret, insn, A64_LR, back);
    begin_part(ret, insn->target);
    int jump = put_jump(ret, to, insn->target);
    return r ? r : jump;
}

bool a64_can_call(const struct insn *insn, const uint8_t *bytes) {
    (void)bytes;
    return insn->kind == INSN_CALL;
}

int a64_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to, struct relocated *ret) {
    uint32_t word = a64_word(bytes);
    struct a64_insn in = a64_classify(word);
    ret->size = ret->part_count = ret->address_at = ret->copy_bytes = 0;
    begin_part(ret, insn->addr);
    switch (in.form) {
    case A64_B:
    case A64_IMM19:
    case A64_IMM14:
        if (insn->kind == INSN_CALL)
            return call_to(insn, to, ret);
        return insn->kind == INSN_BRANCH ? branch_to(insn, word, to, ret)
                                         : put_jump(ret, to, insn->target);
    case A64_ADR:
    case A64_ADRP:
        return address_to(insn, word, to, ret);
    case A64_LITERAL:
        if (a64_bits(word, 26, 1))
            return vector_to(insn, word, to, ret);
        if (word >> 30 == 3) {
            put(ret, (uint32_t)NOP);
            return 0;
        }
        return literal_to(insn, word, to, ret);
    default:
        put(ret, word);
        return 0;
    }
}

size_t a64_relocated_bytes(const struct insn *insn) {
    if (insn->kind == INSN_BRANCH || insn->operand == OPERAND_PC_ADDRESS)
        return 2 * (size_t)A64_BYTES;
    if (insn->kind == INSN_CALL)
        return 3 * (size_t)A64_BYTES;
    return insn->operand == OPERAND_PC_MEMORY ? 2 * (size_t)A64_BYTES + 16 : A64_BYTES;
}

size_t a64_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                       uint8_t out[RELOCATED_MAX_BYTES]) {
    uint32_t over;
    if (insn->kind != INSN_BRANCH || opposite(a64_word(bytes), skip, &over))
        return 0;
    memcpy(out, &over, sizeof over);
    return A64_BYTES;
}
