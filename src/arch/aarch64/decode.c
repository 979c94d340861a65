/*
 * Decodes A64 instructions, and follows addresses along straight code. An address more than a
 * megabyte away takes two instructions; the first one makes its page.
 *
 *     adrp x0, page ; add x0, x0, #low          the address
 *     adrp x0, page ; ldr x1, [x0, #low]        the memory there
 */
#include "arch/aarch64/aarch64.h"

/* The target of a pc-relative form; else 0. */
static vaddr_t target_of(uint32_t word, uint8_t form, vaddr_t addr) {
    switch (form) {
    case A64_B:
        return addr + (vaddr_t)(a64_signed(word, 0, 26) * A64_BYTES);
    case A64_IMM19:
    case A64_LITERAL:
        return addr + (vaddr_t)(a64_signed(word, 5, 19) * A64_BYTES);
    case A64_IMM14:
        return addr + (vaddr_t)(a64_signed(word, 5, 14) * A64_BYTES);
    case A64_ADR:
    case A64_ADRP: {
        int64_t distance = a64_signed(word, 5, 19) * 4 + a64_bits(word, 29, 2);
        return form == A64_ADR ? addr + (vaddr_t)distance
                               : (addr & -(vaddr_t)A64_PAGE) + (vaddr_t)(distance * A64_PAGE);
    }
    default:
        return 0;
    }
}

static uint8_t operand_of(uint8_t form) {
    switch (form) {
    case A64_ADR:
        return OPERAND_PC_ADDRESS;
    case A64_ADRP:
        return OPERAND_PC_PAGE;
    case A64_LITERAL:
        return OPERAND_PC_MEMORY;
    default:
        return OPERAND_PLAIN;
    }
}

/* C6.2, clrex, ldxr and stxr: bit 22 is set in loads. `pacm` changes how the next instruction signs
 * or authenticates. */
static uint8_t exclusive_of(uint32_t word, const struct a64_insn *in) {
    if (word == (uint32_t)A64_PACM)
        return EXCLUSIVE_WITH_NEXT;
    if ((word & 0xfffff0ff) == 0xd503305f)
        return EXCLUSIVE_ENDS;
    if (in->kind != INSN_EXCLUSIVE)
        return EXCLUSIVE_NO;
    return a64_bits(word, 22, 1) ? EXCLUSIVE_BEGINS : EXCLUSIVE_ENDS;
}

/* A literal load into the zero register has no register in which its address could be computed. */
static bool is_fixed(uint32_t word, const struct a64_insn *in) {
    bool prefetch = a64_bits(word, 30, 2) == 3, vector = a64_bits(word, 26, 1);
    return in->form == A64_LITERAL && !vector && !prefetch && a64_rd(word) == A64_ZERO;
}

bool a64_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                struct insn_constants *constants) {
    *ret = (struct insn){.addr = addr, .size = A64_BYTES, .kind = INSN_BAD};
    if (constants)
        *constants = (struct insn_constants){0};
    if (room < A64_BYTES || addr % A64_BYTES) {
        uint8_t rest = (uint8_t)(A64_BYTES - addr % A64_BYTES);
        ret->size = room < rest ? (uint8_t)room : rest;
        return false;
    }
    uint32_t word = a64_word(bytes);
    struct a64_insn in = a64_classify(word);
    ret->kind = is_fixed(word, &in) ? INSN_FIXED : in.kind;
    ret->target = target_of(word, in.form, addr);
    ret->operand = operand_of(in.form);
    ret->exclusive = exclusive_of(word, &in);
    ret->stays = in.form == A64_SIGNED_HERE;
    if (in.form == A64_LITERAL && a64_bits(word, 26, 1))
        ret->copies = (uint8_t)(4U << (word >> 30));
    if (in.form == A64_LITERAL)
        ret->loads = ret->copies ? ret->copies : word >> 30 == 1 ? 8 : 4;
    struct flags_use flags = a64_flags(bytes, A64_BYTES);
    ret->reads_flags = flags.tested != 0;
    ret->writes_flags = flags.written != 0;
    return in.kind != INSN_BAD;
}

static void set(struct trail *trail, uint8_t reg, vaddr_t value) {
    trail->at[reg] = value;
    trail->known |= UINT32_C(1) << reg;
}

static bool knows(const struct trail *trail, uint8_t reg) { return trail->known >> reg & 1; }

static bool with_operand(const struct insn *insn, uint8_t operand, vaddr_t target,
                         struct insn *ret) {
    *ret = *insn;
    ret->operand = operand;
    ret->target = target;
    return true;
}

/* The result of `add xd, xn, #constant`. False: another instruction, or xn is not known. */
static bool adds(const struct trail *trail, uint32_t word, vaddr_t *ret) {
    if ((word & 0xff800000) != 0x91000000 || !knows(trail, a64_rn(word)))
        return false;
    unsigned shift = a64_bits(word, 22, 1) ? 12 : 0;
    *ret = trail->at[a64_rn(word)] + ((vaddr_t)a64_bits(word, 10, 12) << shift);
    return true;
}

static void forget(struct trail *trail, const uint8_t *bytes) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = a64_stack(bytes, A64_BYTES, effects);
    for (size_t i = 0; i < count; i++) {
        bool writes = effects[i].op == STACK_SET || effects[i].op == STACK_LOAD ||
                      effects[i].op == STACK_ALIGN;
        trail->known &= ~effects[i].changed;
        if (writes)
            trail->known &= ~(UINT32_C(1) << effects[i].reg);
    }
}

bool a64_follow(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                struct insn *ret) {
    uint32_t word = a64_word(bytes);
    struct a64_insn in = a64_classify(word);
    vaddr_t value;
    if (in.form == A64_ADR || in.form == A64_ADRP) {
        if (a64_rd(word) != A64_ZERO)
            set(trail, a64_rd(word), insn->target);
        return false;
    }
    if (!trail->known)
        return false;
    if (in.form == A64_ADD_IMMEDIATE && adds(trail, word, &value)) {
        set(trail, a64_rd(word), value);
        return with_operand(insn, OPERAND_PC_ADDRESS, value, ret);
    }
    if (insn->kind == INSN_JUMP_INDIRECT)
        return in.form == A64_INDIRECT && knows(trail, a64_rn(word)) &&
               with_operand(insn, OPERAND_PC_ADDRESS, trail->at[a64_rn(word)], ret);
    struct a64_access access = {0};
    bool plain = in.form == A64_SCALED || in.form == A64_UNSCALED || in.form == A64_PAIR;
    if (plain)
        access = a64_access_of(word, (enum a64_form)in.form);
    bool found = plain && knows(trail, access.base) && !access.after;
    value = found ? trail->at[access.base] + (vaddr_t)access.offset : 0;
    forget(trail, bytes);
    return found && with_operand(insn, OPERAND_PC_MEMORY, value, ret);
}

bool a64_is_return(const uint8_t *bytes, size_t room) {
    return room >= A64_BYTES && a64_classify(a64_word(bytes)).kind == INSN_RETURN;
}

/* eret, hvc, smc, and system registers that programs may not use (C5.1.2, op1 is not 3). */
bool a64_is_barred(const uint8_t *bytes, size_t size) {
    uint32_t word = size >= A64_BYTES ? a64_word(bytes) : 0;
    bool calls = (word & 0xfffff3ff) == 0xd69f03e0 || (word & 0xffe0001e) == 0xd4000002;
    bool moves = (word & 0xffd00000) == 0xd5100000 && a64_bits(word, 16, 3) != 3;
    return calls || moves;
}

/* `bti c; pacm; paciasp` at most. */
size_t a64_landing(const uint8_t *bytes, size_t room) {
    enum { MOST = 3 * A64_BYTES };
    size_t size = 0;
    while (room - size >= A64_BYTES && size < MOST &&
           a64_classify(a64_word(bytes + size)).kind == INSN_LANDING)
        size += A64_BYTES;
    return size;
}

/* XRay's sleds (compiler-rt, xray_AArch64.cpp): `b #32` over seven nops. The runtime stores the
 * seven words at any time, then the first. A sled of an exit stands before the return. */
size_t a64_sled(const uint8_t *bytes, size_t room, enum sled_kind kind) {
    enum { SLED_WORDS = 8, OVER = 0x14000008, NOP = (int)0xd503201f };
    if (kind == SLED_EVENT || room < (size_t)SLED_WORDS * A64_BYTES || a64_word(bytes) != OVER)
        return 0;
    for (size_t i = 1; i < SLED_WORDS; i++) {
        if (a64_word(bytes + i * A64_BYTES) != (uint32_t)NOP)
            return 0;
    }
    return (size_t)SLED_WORDS * A64_BYTES;
}
