/*
 * Effects of x86-64 instructions on the stack pointer and its copies. Registers have DWARF numbers
 * (System V ABI, AMD64, figure 3.36). Only the few forms by which compilers and people make frames
 * are understood. Other instructions give the registers that they write unknown values.
 */
#include "arch/x86_64/operands.h"

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, NO_REG = STACK_NO_REGISTER };
enum { WORD = 8, WORD_BITS = 64 };
static const uint32_t not_kept_by_calls = 1U << RAX | 1U << RDX | 1U << RCX | 1U << RSI |
                                          1U << RDI | 1U << R8 | 1U << R9 | 1U << R10 | 1U << R11;

static bool is_word(const ZydisDecodedOperand *o) {
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size == WORD_BITS &&
           x86_64_general_number(o->reg.value) != NO_REG;
}

static uint32_t written_registers(const struct operands *d) {
    uint32_t written = 0;
    for (int i = 0; i < d->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->at[i];
        uint8_t number =
            o->type == ZYDIS_OPERAND_TYPE_REGISTER ? x86_64_general_number(o->reg.value) : NO_REG;
        if (number != NO_REG && (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            written |= 1U << number;
    }
    return written;
}

/* A write to plain memory. The effect names the stored register if the instruction is a mov. */
static struct stack_effect store_effect(const struct operands *d) {
    struct stack_effect none = {.op = STACK_NONE};
    for (int i = 0; i < d->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->at[i];
        if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) || !x86_64_is_plain_memory(o))
            continue;
        bool move = d->in.mnemonic == ZYDIS_MNEMONIC_MOV && is_word(&d->at[1]);
        return (struct stack_effect){
            .op = STACK_STORE,
            .reg = move ? x86_64_general_number(d->at[1].reg.value) : NO_REG,
            .base = x86_64_general_number(o->mem.base),
            .displacement = o->mem.disp.value,
            .size = (uint16_t)(o->size / 8),
        };
    }
    return none;
}

static struct stack_effect move_effect(const struct operands *d) {
    const ZydisDecodedOperand *to = &d->at[0], *from = &d->at[1];
    if (!is_word(to))
        return store_effect(d);
    uint8_t reg = x86_64_general_number(to->reg.value);
    if (is_word(from))
        return stack_set(reg, x86_64_general_number(from->reg.value), 0);
    if (x86_64_is_plain_memory(from))
        return stack_load(reg, x86_64_general_number(from->mem.base), from->mem.disp.value);
    return stack_changed(0);
}

/* add, sub, and with a constant; lea of plain memory. */
static struct stack_effect sum_effect(const struct operands *d) {
    const ZydisDecodedOperand *to = &d->at[0], *from = &d->at[1];
    if (!is_word(to))
        return store_effect(d);
    uint8_t reg = x86_64_general_number(to->reg.value);
    if (d->in.mnemonic == ZYDIS_MNEMONIC_LEA && x86_64_is_plain_memory(from))
        return stack_set(reg, x86_64_general_number(from->mem.base), from->mem.disp.value);
    if (from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return stack_changed(0);
    int64_t value = from->imm.value.s;
    switch (d->in.mnemonic) {
    case ZYDIS_MNEMONIC_ADD:
        return stack_set(reg, reg, value);
    case ZYDIS_MNEMONIC_SUB:
        return stack_set(reg, reg, -value);
    case ZYDIS_MNEMONIC_AND:
        return (struct stack_effect){.op = STACK_ALIGN, .reg = reg, .base = reg};
    default:
        return stack_changed(0);
    }
}

static struct stack_effect push_effect(const struct operands *d) {
    if (d->in.operand_width != WORD_BITS)
        return stack_changed(0);
    uint8_t reg = is_word(&d->at[0]) ? x86_64_general_number(d->at[0].reg.value) : NO_REG;
    if (d->in.mnemonic != ZYDIS_MNEMONIC_PUSH)
        reg = NO_REG; /* flags */
    return (struct stack_effect){.op = STACK_PUSH, .reg = reg};
}

static struct stack_effect pop_effect(const struct operands *d) {
    bool flags = d->in.mnemonic != ZYDIS_MNEMONIC_POP;
    if (d->in.operand_width != WORD_BITS || (!flags && !is_word(&d->at[0])))
        return stack_changed(0);
    uint8_t reg = flags ? NO_REG : x86_64_general_number(d->at[0].reg.value);
    if (reg == RSP)
        return stack_changed(0);
    return (struct stack_effect){.op = STACK_POP, .reg = reg};
}

/* Hardened programs (-mspeculative-load-hardening) do this to spoil the stack pointer when they run
 * speculatively. Otherwise the register holds 0, and the stack pointer does not change. */
static bool spoils_speculation(const struct operands *d) {
    const ZydisDecodedOperand *to = &d->at[0], *from = &d->at[1];
    return d->in.mnemonic == ZYDIS_MNEMONIC_OR && is_word(to) && is_word(from) &&
           x86_64_general_number(to->reg.value) == RSP;
}

static struct stack_effect effect_of(const struct operands *d) {
    if (spoils_speculation(d))
        return stack_set(RSP, RSP, 0);
    switch (d->in.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        return move_effect(d);
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
        return sum_effect(d);
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
        return push_effect(d);
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPFQ:
        return pop_effect(d);
    case ZYDIS_MNEMONIC_LEAVE:
        return (struct stack_effect){
            .op = d->in.operand_width == WORD_BITS ? STACK_LEAVE : STACK_NONE, .reg = RBP};
    case ZYDIS_MNEMONIC_CALL:
        return (struct stack_effect){.op = STACK_CALL};
    default:
        return store_effect(d);
    }
}

/* Registers whose new values the effect gives. */
static uint32_t registers_with_values(const struct stack_effect *effect) {
    uint32_t reg = effect->reg == NO_REG ? 0 : 1U << effect->reg;
    switch ((enum stack_op)effect->op) {
    case STACK_SET:
    case STACK_ALIGN:
    case STACK_LOAD:
        return reg;
    case STACK_POP:
    case STACK_LEAVE:
        return reg | 1U << RSP;
    case STACK_PUSH:
    case STACK_CALL:
        return 1U << RSP;
    default:
        return 0;
    }
}

struct stack_effect x86_64_stack_any(const uint8_t *bytes, size_t size) {
    struct operands d;
    if (!x86_64_operands(bytes, size, &d))
        return (struct stack_effect){.op = STACK_NONE, .changed = UINT32_MAX};
    struct stack_effect e = effect_of(&d);
    e.changed = written_registers(&d) & ~registers_with_values(&e);
    if (e.op == STACK_CALL)
        e.changed = not_kept_by_calls;
    if (d.in.mnemonic == ZYDIS_MNEMONIC_SYSCALL)
        e.changed |= 1U << RAX;
    return e;
}

size_t x86_64_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]) {
    if (!x86_64_stack_common(bytes, size, ret))
        *ret = x86_64_stack_any(bytes, size);
    return 1;
}
