/*
 * Finds out from the instructions before an indirect jump of A64 how it gets its target. The forms
 * are those of GCC and Clang, and of hand-written code of glibc:
 *
 *     ldrb w1, [xt, w1, uxtw]; adr x0, base; add x1, x0, w1, sxtb #2; br x1      offsets, GCC
 *     ldrsw x2, [xt, x1, lsl #2]; add x1, xt, x2; br x1                          offsets, Clang
 *     ldr x1, [xt, x1, lsl #3]; br x1                                            addresses
 *     adrp x0, page; ldr x1, [x0, #low]; br x1                                   a variable
 *     mov sp, x5; … br x30                                                       another stack
 *     add sp, sp, x5; … br x6                                  the same, of GCC's eh_return
 */
#include "arch/aarch64/aarch64.h"

enum { FP = 29, MOVES = 3 };

struct line { /* the instructions before the jump, nearest first */
    const struct code_bytes *past;
    size_t count;
};

static uint32_t word_at(const struct line *line, size_t i) { return a64_word(line->past[i].at); }
static uint8_t form_at(const struct line *line, size_t i) {
    return a64_classify(word_at(line, i)).form;
}

static uint32_t written_by(const struct code_bytes *code) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = a64_stack(code->at, code->size, effects);
    return stack_written(effects, count);
}

/* The number, from FROM on, of the instruction that wrote REG last; the count if none did. */
static size_t writer(const struct line *line, size_t from, uint8_t reg) {
    while (from < line->count && !(written_by(&line->past[from]) >> reg & 1))
        from++;
    return from;
}

/* The address that REG holds behind number FROM; 0: not known. */
static vaddr_t address_in(const struct line *line, size_t from, uint8_t reg) {
    vaddr_t low = 0;
    size_t i = reg == A64_ZERO ? line->count : writer(line, from, reg);
    if (i < line->count && (word_at(line, i) & 0xff800000) == 0x91000000) { /* add, 64 bits */
        uint32_t word = word_at(line, i);
        low = (vaddr_t)a64_bits(word, 10, 12) << (a64_bits(word, 22, 1) ? 12 : 0);
        i = writer(line, i + 1, a64_rn(word));
    }
    if (i == line->count || (form_at(line, i) != A64_ADR && form_at(line, i) != A64_ADRP))
        return 0;
    struct insn in;
    a64_decode(line->past[i].at, line->past[i].size, line->past[i].addr, &in, NULL);
    return in.target + low;
}

/* The register that WORD copies to another one, or A64_ZERO: mov; ubfx and sxtw of the lower half.
 */
static uint8_t copied(uint32_t word) {
    if ((word & 0x7fe0ffe0) == 0x2a0003e0)
        return a64_rm(word);
    return (word & 0xfffffc00) == 0xd3407c00 || (word & 0xfffffc00) == 0x93407c00 ? a64_rn(word)
                                                                                  : A64_ZERO;
}

/* How many values REG can have behind number FROM, by the comparison that guards the jump; 0: no
 * comparison is found.
 *
 *     cmp wi, #last; b.hi elsewhere; …        or   cmp wi, #count; b.cs elsewhere
 */
static uint32_t values_of(const struct line *line, size_t from, uint8_t reg) {
    enum { CARRY_SET = 2, HIGHER = 8 };
    uint32_t guard = 0; /* the condition of a branch that uses the flags as they are here */
    for (size_t i = from; i < line->count; i++) {
        uint32_t word = word_at(line, i), condition = word & 15;
        bool branch = (word & 0xff000010) == 0x54000000;
        bool compares = (word & 0x7f80001f) == 0x7100001f;
        if (branch && (condition == HIGHER || condition == CARRY_SET))
            guard = condition;
        if (compares && guard && a64_rn(word) == reg)
            return (a64_bits(word, 10, 12) << (a64_bits(word, 22, 1) ? 12 : 0)) + (guard == HIGHER);
        if (a64_flags(line->past[i].at, A64_BYTES).written)
            guard = 0;
        if (!(written_by(&line->past[i]) >> reg & 1))
            continue;
        reg = copied(word);
        if (reg == A64_ZERO)
            return 0;
    }
    return 0;
}

/* If REG behind number FROM was loaded from a table: the table and its form. */
static bool read_entry(const struct line *line, size_t from, uint8_t reg, struct dispatch *ret) {
    size_t i = reg == A64_ZERO ? line->count : writer(line, from, reg);
    if (i == line->count || form_at(line, i) != A64_INDEXED)
        return false;
    uint32_t word = word_at(line, i);
    ret->table = address_in(line, i + 1, a64_rn(word));
    ret->entry_bytes = (uint8_t)(1U << (word >> 30));
    ret->is_signed = a64_bits(word, 23, 1);
    ret->count = values_of(line, i + 1, a64_rm(word));
    return true;
}

/* Whether REG behind number FROM was loaded as a pointer, without an index. */
static bool is_pointer(const struct line *line, size_t from, uint8_t reg) {
    size_t i = writer(line, from, reg);
    return i < line->count && (word_at(line, i) & 0xffc00000) == 0xf9400000; /* ldr x, [x, #n] */
}

/* Number I adds an extended or shifted offset to a base. If it adds two members of a structure, as
 * the dynamic linker does to call a file's functions, it is no switch. */
static struct dispatch dispatch_of_sum(const struct line *line, size_t i) {
    enum { EXTENDED_SIGNED = 4 };
    struct dispatch d = {.kind = DISPATCH_OFFSETS};
    uint32_t word = word_at(line, i);
    bool extended = form_at(line, i) == A64_ADD_EXTENDED;
    uint8_t base = a64_rn(word), offset = a64_rm(word);
    d.shift = (uint8_t)(extended ? a64_bits(word, 10, 3) : a64_bits(word, 10, 6));
    bool found = read_entry(line, i + 1, offset, &d);
    if (!found && !extended && !d.shift && read_entry(line, i + 1, base, &d)) {
        found = true;
        base = offset;
    }
    if (extended && a64_bits(word, 13, 2) != 3)
        d.is_signed = a64_bits(word, 13, 3) >= EXTENDED_SIGNED;
    if (!found && !extended && is_pointer(line, i + 1, base) && is_pointer(line, i + 1, offset))
        return (struct dispatch){.kind = DISPATCH_ANY};
    d.base = found ? address_in(line, i + 1, base) : 0;
    bool subtracts = a64_bits(word, 30, 1);
    if (!d.base)
        d.table = 0;
    if (subtracts)
        d.table = d.base = d.count = 0;
    return d;
}

static struct dispatch dispatch_of_load(const struct line *line, size_t i) {
    enum { LDR_X_INDEXED = (int)0xf8600800, LDR_X = (int)0xf9400000 };
    uint32_t word = word_at(line, i);
    if ((word & 0xffe00c00) == (uint32_t)LDR_X_INDEXED)
        return (struct dispatch){.kind = DISPATCH_ADDRESSES,
                                 .table = address_in(line, i + 1, a64_rn(word))};
    size_t page = a64_rn(word) == A64_SP ? line->count : writer(line, i + 1, a64_rn(word));
    bool variable = (word & 0xffc00000) == (uint32_t)LDR_X && page < line->count &&
                    form_at(line, page) == A64_ADRP;
    return (struct dispatch){.kind = variable ? DISPATCH_VARIABLE : DISPATCH_ANY};
}

static struct dispatch dispatch_through(const struct line *line, uint8_t reg) {
    size_t i = 0;
    for (int moves = 0; moves < MOVES; moves++, i++) {
        i = writer(line, i, reg);
        if (i == line->count)
            break;
        uint32_t word = word_at(line, i);
        switch (form_at(line, i)) {
        case A64_ADD_EXTENDED:
        case A64_ADD_SHIFTED:
            return dispatch_of_sum(line, i);
        case A64_LITERAL:
            return (struct dispatch){.kind = DISPATCH_VARIABLE};
        case A64_INDEXED:
        case A64_SCALED:
            return dispatch_of_load(line, i);
        case A64_LOGICAL_SHIFTED:
            if ((word & 0xffe0ffe0) != 0xaa0003e0) /* mov */
                return (struct dispatch){.kind = DISPATCH_ANY};
            reg = a64_rm(word);
            break;
        default:
            return (struct dispatch){.kind = DISPATCH_ANY};
        }
    }
    return (struct dispatch){.kind = DISPATCH_ANY};
}

/* Whether REG holds a constant of a move: large frames are left by adding such a constant. */
static bool is_constant(const struct line *line, size_t from, uint8_t reg) {
    size_t i = writer(line, from, reg);
    return i < line->count && (word_at(line, i) & 0x1f800000) == 0x12800000;
}

/* Does number I switch to another stack? */
static bool loads_sp(const struct line *line, size_t i) {
    uint32_t word = word_at(line, i);
    uint8_t rn = a64_rn(word);
    if ((word & 0xfffffc1f) == 0x9100001f) /* mov sp, xn */
        return rn != FP && rn != A64_SP;
    if ((word & 0xffe0001f) == 0x8b20001f) /* add sp, xn, xm */
        return !is_constant(line, i + 1, a64_rm(word));
    return false;
}

struct dispatch a64_dispatch(struct code_bytes jump, const struct code_bytes *past, size_t count) {
    struct line line = {past, count};
    for (size_t i = 0; i < count; i++) {
        if (loads_sp(&line, i))
            return (struct dispatch){.kind = DISPATCH_STACK};
    }
    uint32_t word = a64_word(jump.at);
    if (a64_classify(word).form != A64_INDIRECT)
        return (struct dispatch){.kind = DISPATCH_ANY};
    return dispatch_through(&line, a64_rn(word));
}
