/*
 * Effects of A64 instructions on the stack pointer and its copies. Registers have DWARF numbers
 * (AADWARF64, 4.1): x0 to x30, and 31 for sp. Only the few forms by which compilers and people make
 * frames are understood. Other instructions give the registers that they write unknown values.
 */
#include "arch/aarch64/aarch64.h"

enum { KEPT_FIRST = 19, KEPT_LAST = 29 }; /* by calls: AAPCS64, 6.1.1 */

static uint32_t bit(uint8_t reg) { return UINT32_C(1) << reg; }
/* The same for fields in which 31 is the zero register. */
static uint32_t general(uint8_t reg) { return reg == A64_ZERO ? 0 : bit(reg); }

/* add, sub with a constant; if they set flags, rd 31 is the zero register. */
static struct stack_effect add_immediate(uint32_t word) {
    bool wide = a64_bits(word, 31, 1), subtracts = a64_bits(word, 30, 1);
    bool flags = a64_bits(word, 29, 1);
    uint8_t rd = a64_rd(word);
    if (flags && rd == A64_ZERO)
        return stack_changed(0);
    if (!wide)
        return stack_changed(bit(rd));
    int64_t value = (int64_t)a64_bits(word, 10, 12) << (a64_bits(word, 22, 1) ? 12 : 0);
    return stack_set(rd, a64_rn(word), subtracts ? -value : value);
}

static struct stack_effect logical_immediate(uint32_t word) {
    enum { AND = 0, ANDS = 3 };
    uint32_t opc = a64_bits(word, 29, 2);
    uint8_t rd = a64_rd(word), rn = a64_rn(word);
    if (opc == ANDS)
        return stack_changed(general(rd));
    if (opc == AND && a64_bits(word, 31, 1) && rn != A64_ZERO)
        return (struct stack_effect){.op = STACK_ALIGN, .reg = rd, .base = rn};
    return stack_changed(bit(rd));
}

/* mov xd, xm is orr xd, xzr, xm. */
static struct stack_effect logical_shifted(uint32_t word) {
    bool move = (word & 0xffe0ffe0) == 0xaa0003e0;
    uint8_t rd = a64_rd(word), rm = a64_rm(word);
    if (move && rd != A64_ZERO && rm != A64_ZERO)
        return stack_set(rd, rm, 0);
    return stack_changed(general(rd));
}

/* Loads and stores at a register plus a constant. */
static size_t access(uint32_t word, enum a64_form form, struct stack_effect *ret) {
    struct a64_access a = a64_access_of(word, form);
    size_t n = 0;
    if (a.before)
        ret[n++] = stack_set(a.base, a.base, a.offset);
    int64_t at = a.before || a.after ? 0 : a.offset;
    for (uint8_t i = 0; i < a.count; i++, at += a.bytes) {
        uint8_t reg = a.regs[i];
        bool word_of = a.wide && reg != A64_ZERO;
        if (!a.load)
            ret[n++] = stack_store(word_of ? reg : STACK_NO_REGISTER, a.base, at, a.bytes);
        else if (word_of && (reg != a.base || i + 1 == a.count))
            ret[n++] = stack_load(reg, a.base, at);
        else
            ret[n++] = stack_changed(a.general ? general(reg) : 0);
    }
    if (a.after)
        ret[n++] = stack_set(a.base, a.base, a.offset);
    if (!n)
        ret[n++] = stack_changed(0);
    return n;
}

/* Registers that other memory accesses may write: those of the usual fields, in some the base. */
static uint32_t written_by_memory(uint32_t word) {
    bool ordered = (word & 0x3f000000) == 0x08000000, atomic = (word & 0x3b200c00) == 0x38200000;
    bool unscaled = (word & 0x3f200c00) == 0x19000000;
    uint32_t registers =
        general(a64_rd(word)) | general(a64_rm(word)) | general((uint8_t)a64_bits(word, 10, 5));
    return ordered || atomic || unscaled ? registers : registers | bit(a64_rn(word));
}

/* addvl, addpl and their streaming forms: the only ones of SVE that write the stack pointer. */
static bool adds_vectors(uint32_t word) { return (word & 0xffa0f000) == 0x04205000; }

static struct stack_effect simple(uint32_t word, const struct a64_insn *in) {
    switch (in->form) {
    case A64_ADD_IMMEDIATE:
        return add_immediate(word);
    case A64_ADD_EXTENDED: /* if it sets flags, 31 is the zero register */
        return stack_changed(a64_bits(word, 29, 1) ? general(a64_rd(word)) : bit(a64_rd(word)));
    case A64_LOGICAL_IMMEDIATE:
        return logical_immediate(word);
    case A64_LOGICAL_SHIFTED:
        return logical_shifted(word);
    case A64_MEMORY:
        return stack_changed(written_by_memory(word));
    case A64_LITERAL:
        return stack_changed(a64_bits(word, 26, 1) || word >> 30 == 3 ? 0 : general(a64_rd(word)));
    case A64_B:
    case A64_IMM19:
    case A64_IMM14:
    case A64_INDIRECT:
    case A64_SIGNED: /* x30 holds the same address, signed or not */
    case A64_SIGNED_HERE:
        return stack_changed(0);
    default:
        return stack_changed(adds_vectors(word) ? bit(a64_rd(word)) : general(a64_rd(word)));
    }
}

static uint32_t changed_by_calls(void) {
    uint32_t kept = bit(A64_SP);
    for (int reg = KEPT_FIRST; reg <= KEPT_LAST; reg++)
        kept |= bit((uint8_t)reg);
    return ~kept;
}

size_t a64_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]) {
    ret[0] = stack_changed(UINT32_MAX);
    if (size < A64_BYTES)
        return 1;
    uint32_t word = a64_word(bytes);
    struct a64_insn in = a64_classify(word);
    bool call = in.kind == INSN_CALL || in.kind == INSN_CALL_INDIRECT;
    if (call)
        ret[0] = (struct stack_effect){.op = STACK_CALL, .changed = changed_by_calls()};
    else if (in.form == A64_PAIR || in.form == A64_UNSCALED || in.form == A64_SCALED)
        return access(word, (enum a64_form)in.form, ret);
    else if (in.kind != INSN_BAD)
        ret[0] = simple(word, &in);
    return 1;
}
