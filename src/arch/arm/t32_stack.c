/*
 * Effects of T32 instructions on the stack pointer and its copies. DWARF numbers of registers
 * (AADWARF32, 4.1) are those of the encoding. Only the forms by which compilers and people make
 * frames are understood. Other instructions give the registers that they write unknown values.
 *
 * Instructions of a block may or may not run, so their writes are unknown, too. If the last one
 * leaves the function, the effects are those of the instructions with its condition. If all have
 * one condition, t32_stack_if() returns the effects where it holds.
 */
#include "arch/arm/t32.h"

static size_t stores(const struct t32_access *a, struct stack_effect *ret) {
    size_t n = 0;
    bool words = a->general && a->bytes == 4;
    if (a->indexed)
        return 0;
    if (!words) {
        ret[n++] =
            stack_store(STACK_NO_REGISTER, a->base, a->offset, (uint32_t)a->count * a->bytes);
        return n;
    }
    for (uint8_t i = 0; i < a->count; i++)
        ret[n++] = stack_store(a->regs[i], a->base, a->offset + 4 * i, 4);
    return n;
}

/* A load of the base comes last, as the other effects are relative to the base. */
static size_t loads(const struct t32_access *a, struct stack_effect *ret) {
    size_t n = 0;
    bool words = a->general && a->bytes == 4 && !a->indexed;
    struct stack_effect last = {.op = STACK_NONE};
    for (uint8_t i = 0; a->general && i < a->count; i++) {
        uint8_t reg = a->regs[i];
        struct stack_effect e = stack_changed(UINT32_C(1) << reg);
        if (words)
            e = stack_load(reg, a->base, a->offset + 4 * i);
        if (reg == a->base)
            last = e;
        else
            ret[n++] = e;
    }
    if (last.changed || last.op != STACK_NONE)
        ret[n++] = last;
    return n;
}

static size_t access_effects(const struct t32_access *a, struct stack_effect *ret) {
    size_t n = a->load ? loads(a, ret) : stores(a, ret);
    if (a->adds && a->unknown)
        ret[n++] = stack_changed(UINT32_C(1) << a->base);
    else if (a->adds)
        ret[n++] = stack_set(a->base, a->base, a->step);
    if (!n)
        ret[n++] = stack_changed(0);
    return n;
}

/* bic rd, rn, #2^n - 1. */
static bool rounds_down(uint32_t word) {
    uint32_t mask = t32_expand(word);
    return mask && !(mask & (mask + 1));
}

/* Is it `mov rd, rm`? */
static bool is_move(uint32_t word) { return (word & 0xffeff0f0) == 0xea4f0000; }

static struct stack_effect simple_effect(const struct t32 *in) {
    const uint32_t word = in->word;
    const struct stack_effect other = stack_changed(t32_written(in));
    switch (in->row->form) {
    case T32_ADJUST_SP:
        return stack_set(ARM_SP, ARM_SP, t32_addend(in));
    case T32_ADD_SP:
        return stack_set(t32_low(word, 8), ARM_SP, t32_addend(in));
    case T32_MOV_HIGH:
        if (t32_reg(word, 3) == ARM_PC || t32_high(word) == ARM_PC)
            return other;
        return stack_set(t32_high(word), t32_reg(word, 3), 0);
    case T32_MOVS:
        return stack_set(t32_low(word, 0), t32_low(word, 3), 0);
    case T32_ADD_3:
        return stack_set(t32_low(word, 0), t32_low(word, 3), t32_addend(in));
    case T32_ADD_8:
        return stack_set(t32_low(word, 8), t32_low(word, 8), t32_addend(in));
    case T32_ADD_IMMEDIATE:
    case T32_ADD_PLAIN:
        if (t32_rn(word) == ARM_PC)
            return other;
        return stack_set(t32_rd(word), t32_rn(word), t32_addend(in));
    case T32_CLEAR_BITS:
        if (!rounds_down(word))
            return other;
        return (struct stack_effect){.op = STACK_ALIGN, .reg = t32_rd(word), .base = t32_rn(word)};
    case T32_SHIFTED:
        return is_move(word) ? stack_set(t32_rd(word), t32_rm(word), 0) : other;
    default:
        return other;
    }
}

static bool is_call(uint8_t kind) { return kind == INSN_CALL || kind == INSN_CALL_INDIRECT; }

static size_t effects_of(const struct t32 *in, struct stack_effect ret[STACK_MAX_EFFECTS]) {
    struct t32_access a;
    if (is_call(in->kind))
        ret[0] = (struct stack_effect){.op = STACK_CALL, .changed = ARM_CHANGED_BY_CALLS};
    else if (t32_access_of(in, &a))
        return access_effects(&a, ret);
    else
        ret[0] = simple_effect(in);
    return 1;
}

/* Effects of an instruction that may or may not run. */
static size_t possible_effects(const struct t32 *in, struct stack_effect *ret) {
    struct t32_access a;
    size_t n = 0;
    bool writes = t32_access_of(in, &a) && !a.load && !a.indexed;
    if (writes) /* through the base as it was before it changed */
        ret[n++] = stack_store(STACK_NO_REGISTER, a.base, a.offset, (uint32_t)a.count * a.bytes);
    ret[n++] = stack_changed(t32_written(in));
    return n;
}

static bool leaves_function(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT;
}

/* Effects of a block in which the instructions with CONDITION run. */
static size_t effects_where(const struct t32_block *block, uint8_t condition,
                            struct stack_effect ret[STACK_MAX_EFFECTS]) {
    size_t n = 0;
    for (uint8_t i = 0; i < block->count; i++) {
        const struct t32_member *m = &block->at[i];
        struct stack_effect more[STACK_MAX_EFFECTS];
        bool runs = m->condition == condition || is_call(m->in.kind);
        size_t count = runs ? effects_of(&m->in, more) : possible_effects(&m->in, more);
        if (n + count > STACK_MAX_EFFECTS) {
            ret[0] = stack_changed(UINT32_MAX);
            return 1;
        }
        memcpy(ret + n, more, count * sizeof *more);
        n += count;
    }
    return n;
}

static size_t block_effects(const struct t32_block *block,
                            struct stack_effect ret[STACK_MAX_EFFECTS]) {
    const struct t32_member *last = t32_last(block);
    return effects_where(block, leaves_function(last->in.kind) ? last->condition : ARM_ALWAYS, ret);
}

/* The condition of all instructions of a block that writes no flags; else ARM_ALWAYS. */
static uint8_t condition_of(const struct t32_block *block) {
    const uint8_t condition = block->at[0].condition;
    for (uint8_t i = 0; i < block->count; i++) {
        const struct t32_member *m = &block->at[i];
        if (m->condition != condition || t32_flags_of(&m->in, true).written)
            return ARM_ALWAYS;
    }
    return condition;
}

uint8_t t32_condition_number(const uint8_t *bytes, size_t size) {
    enum { IT = 0xbf, B_NARROW = 0xd0, B_WIDE = 0xf0 };
    const uint8_t first = size < T32_HALF ? 0 : bytes[1];
    struct t32_block block;
    uint32_t condition = ARM_ALWAYS;
    if (first != IT && (first & 0xf0) != B_NARROW && (first & 0xf8) != B_WIDE)
        return 0;
    struct t32 in = t32_classify(bytes, size);
    if (in.row->form == T32_IT && t32_block_at(bytes, size, &block))
        condition = condition_of(&block);
    else if (in.row->form == T32_B_COND_N)
        condition = arm_bits(in.word, 8, 4);
    else if (in.row->form == T32_B_COND_W)
        condition = arm_bits(in.word, 22, 4);
    return condition < ARM_ALWAYS ? (uint8_t)(ARM_FIRST_CONDITION + condition) : 0;
}

size_t t32_stack_if(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]) {
    struct t32_block block;
    if (!t32_condition_number(bytes, size) || !t32_block_at(bytes, size, &block))
        return t32_stack(bytes, size, ret);
    return effects_where(&block, block.at[0].condition, ret);
}

size_t t32_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]) {
    struct t32 in = t32_classify(bytes, size);
    struct t32_block block;
    ret[0] = stack_changed(UINT32_MAX);
    if (in.row->form == T32_IT)
        return t32_block_at(bytes, size, &block) ? block_effects(&block, ret) : 1;
    return in.kind == INSN_BAD ? 1 : effects_of(&in, ret);
}

int t32_return_pops(const uint8_t *bytes, size_t size, uint8_t *ret_behind) {
    struct t32_block block;
    struct t32_access a;
    struct t32 in = t32_classify(bytes, size);
    if (in.row->form == T32_IT && t32_block_at(bytes, size, &block))
        in = t32_last(&block)->in;
    if (!t32_access_of(&in, &a))
        return 0;
    bool sets = false, pops = a.count && a.regs[a.count - 1] == ARM_PC;
    const int32_t all = ARM_WORD * (int32_t)a.count;
    for (uint8_t i = 0; i < a.count; i++)
        sets |= a.regs[i] == ARM_SP;
    if (!sets && (a.base != ARM_SP || !a.adds))
        return 0;
    pops &= !sets && !a.unknown && !a.indexed && !a.offset;
    pops &= a.step == all || (a.step > all && a.count == 1);
    *ret_behind = pops ? (uint8_t)((a.step - all) / ARM_WORD) : 0;
    return pops ? a.step : -1;
}
