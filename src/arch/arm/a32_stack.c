/*
 * Effects of A32 instructions on the stack pointer and its copies. DWARF numbers of registers are
 * those of the encoding. `push` is `stmdb sp!`: a store of each register and a change of sp. Only
 * the few forms by which compilers and people make frames are understood. Other instructions, and
 * those with a condition, give the registers that they write unknown values; a32_stack_if() returns
 * the effects where the condition holds. For an exit with a condition a32_stack() does so, too.
 */
#include "arch/arm/a32.h"

static uint32_t bit(unsigned reg) { return UINT32_C(1) << reg; }

/* Effects do not describe the pc. */
static struct stack_effect changed(uint32_t registers) {
    return stack_changed(registers & ~bit(ARM_PC));
}

/* `bic rd, rn, #mask` of low bits. */
static bool rounds(const struct a32_data *d) {
    return d->opcode == A32_BIC && !(d->value & (d->value + 1)) && d->rn != ARM_PC;
}

static struct stack_effect data(uint32_t word) {
    struct a32_data d = a32_data_of(word);
    if (!d.has_result)
        return changed(0);
    if (d.rd == ARM_PC || a32_is_conditional(word))
        return changed(bit(d.rd));
    if (d.opcode == A32_MOV && a32_is_plain(&d) && d.rm != ARM_PC)
        return stack_set(d.rd, d.rm, 0);
    bool sum = d.opcode == A32_ADD || d.opcode == A32_SUB;
    if (d.form == A32_FORM_IMMEDIATE && sum && d.rn != ARM_PC)
        return stack_set(d.rd, d.rn, d.opcode == A32_SUB ? -(int64_t)d.value : (int64_t)d.value);
    if (d.form == A32_FORM_IMMEDIATE && rounds(&d))
        return (struct stack_effect){.op = STACK_ALIGN, .reg = d.rd, .base = d.rn};
    return changed(bit(d.rd));
}

/* Registers that an access may write. */
static uint32_t written_by(const struct a32_access *a) {
    return (a->load ? a->list : 0U) | (a->before || a->after ? bit(a->base) : 0);
}

/* Effects on each general register of the access. A load of the base comes last, as the other
 * effects are relative to the base. */
static size_t each_register(const struct a32_access *a, struct stack_effect *ret) {
    size_t n = 0;
    struct stack_effect last = {.op = STACK_NONE};
    int64_t at = a->offset;
    bool moved = false; /* the base, if stored now, has another value than before */
    for (unsigned number = 0; number <= ARM_PC; number++) {
        uint8_t reg = (uint8_t)number;
        if (!(a->list >> reg & 1))
            continue;
        bool known = a->whole && !(reg == a->base && moved) && reg != ARM_PC;
        struct stack_effect e;
        if (!a->load)
            e = stack_store(known ? reg : STACK_NO_REGISTER, a->base, at, a->bytes);
        else if (a->whole && reg != ARM_PC)
            e = stack_load(reg, a->base, at);
        else
            e = changed(bit(reg));
        if (a->load && reg == a->base)
            last = e;
        else
            ret[n++] = e;
        moved = a->moves != 0;
        at += a->bytes;
    }
    if (a->load && a->list >> a->base & 1)
        ret[n++] = last;
    return n;
}

static size_t access(uint32_t word, enum a32_form form, struct stack_effect *ret) {
    struct a32_access a = a32_access_of(word, form);
    bool back = a.before || a.after, general = form != A32_VECTOR && form != A32_VECTORS;
    bool leaves = a.load && a.list >> ARM_PC & 1, conditional = a32_is_conditional(word) && !leaves;
    size_t n = 0;
    if (a.indexed || a.base == ARM_PC || (conditional && (a.load || back))) {
        ret[0] = changed(general ? written_by(&a) : back ? bit(a.base) : 0);
        return 1;
    }
    if (general && !conditional)
        n = each_register(&a, ret);
    else if (!a.load)
        ret[n++] =
            stack_store(STACK_NO_REGISTER, a.base, a.offset,
                        (uint16_t)(general ? a.bytes * __builtin_popcount(a.list) : a.bytes));
    if (back)
        ret[n++] = stack_set(a.base, a.base, a.moves);
    if (!n)
        ret[n++] = changed(0);
    return n;
}

/* Exclusive loads and stores, and exchanges, at a register. */
static size_t exclusive(uint32_t word, uint8_t fields, struct stack_effect *ret) {
    enum { MOST = 8 };
    bool two = arm_bits(word, 20, 4) == 0xb; /* ldrexd */
    bool loads = arm_bits(word, 23, 1) && arm_bits(word, 20, 1);
    uint32_t registers = fields & A32_D ? bit(a32_rd(word)) : 0;
    ret[0] = changed(registers | (two ? registers << 1 : 0));
    if (!loads)
        ret[1] = stack_store(STACK_NO_REGISTER, a32_rn(word), 0, MOST);
    return loads ? 1 : 2;
}

/* Element and structure accesses write the base back unless rm is the pc. */
static size_t elements(uint32_t word, struct stack_effect *ret) {
    enum { MOST = 32 };
    size_t n = 0;
    bool loads = arm_bits(word, 21, 1);
    if (!loads)
        ret[n++] = stack_store(STACK_NO_REGISTER, a32_rn(word), 0, MOST);
    ret[n++] = changed(a32_rm(word) == ARM_PC ? 0 : bit(a32_rn(word)));
    return n;
}

static uint32_t written_fields(uint32_t word, uint8_t fields) {
    return (fields & A32_N ? bit(a32_rn(word)) : 0) | (fields & A32_D ? bit(a32_rd(word)) : 0);
}

static size_t effects_of(uint32_t word, const struct a32_insn *in, struct stack_effect *ret) {
    switch (in->form) {
    case A32_DATA:
        ret[0] = data(word);
        return 1;
    case A32_SINGLE:
    case A32_EXTRA:
    case A32_SEVERAL:
    case A32_VECTOR:
    case A32_VECTORS:
        return access(word, (enum a32_form)in->form, ret);
    case A32_EXCLUSIVE:
        return exclusive(word, in->writes, ret);
    case A32_ELEMENTS:
        return elements(word, ret);
    default:
        ret[0] = changed(in->kind == INSN_SYSCALL ? bit(0) : written_fields(word, in->writes));
        return 1;
    }
}

size_t a32_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]) {
    ret[0] = changed(UINT32_MAX);
    if (size < A32_BYTES)
        return 1;
    uint32_t word = a32_word(bytes);
    struct a32_insn in = a32_classify(word);
    uint8_t kind = a32_kind_of(word, &in);
    if (kind == INSN_CALL || kind == INSN_CALL_INDIRECT)
        ret[0] = (struct stack_effect){.op = STACK_CALL, .changed = ARM_CHANGED_BY_CALLS};
    else if (kind != INSN_FIXED && kind != INSN_BAD)
        return effects_of(word, &in, ret);
    return 1;
}

/* Opposite conditions differ in bit 28; eq is 0. */
uint8_t a32_condition_number(const uint8_t *bytes, size_t size) {
    uint32_t word = size < A32_BYTES ? UINT32_MAX : a32_word(bytes);
    return a32_is_conditional(word) ? (uint8_t)(ARM_FIRST_CONDITION + a32_condition(word)) : 0;
}

size_t a32_stack_if(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]) {
    if (!a32_condition_number(bytes, size))
        return a32_stack(bytes, size, ret);
    uint32_t always = arm_bits(a32_word(bytes), 0, 28) | (uint32_t)ARM_ALWAYS << 28;
    return a32_stack((const uint8_t *)&always, sizeof always, ret);
}

/* ldr pc, [sp], #8 also pops a word that was pushed for alignment. */
int a32_return_pops(const uint8_t *bytes, size_t size, uint8_t *ret_behind) {
    uint32_t word = a32_word(bytes);
    struct a32_insn in = a32_classify(word);
    if (size < A32_BYTES || (in.form != A32_SINGLE && in.form != A32_SEVERAL))
        return 0;
    struct a32_access a = a32_access_of(word, (enum a32_form)in.form);
    int32_t all = ARM_WORD * __builtin_popcount(a.list);
    bool moves = a.before || a.after, sets = a.list >> ARM_SP & 1, pops = a.list >> ARM_PC & 1;
    if (!sets && (a.base != ARM_SP || !moves))
        return 0;
    pops &= a.base == ARM_SP && a.load && a.after && !a.indexed && !sets && !a.offset;
    pops &= a.moves == all || (a.moves > all && all == ARM_WORD);
    *ret_behind = pops ? (uint8_t)((a.moves - all) / ARM_WORD) : 0;
    return pops ? a.moves : -1;
}

/* Frames of the older procedure call standard: ldm sp, {fp, sp, pc} and ldmdb fp, {…}. */
bool a32_return_loads_sp(const uint8_t *bytes, size_t size, uint8_t *ret_base, int32_t *ret_link) {
    uint32_t word = size < A32_BYTES ? 0 : a32_word(bytes);
    if (a32_classify(word).form != A32_SEVERAL)
        return false;
    struct a32_access a = a32_access_of(word, A32_SEVERAL);
    bool both = a.list >> ARM_SP & 1 && a.list >> ARM_PC & 1;
    if (!a.load || !both || a.before || a.after || a.base == ARM_PC)
        return false;
    *ret_base = a.base;
    *ret_link = a.offset + ARM_WORD * (__builtin_popcount(a.list) - 1);
    return true;
}

uint32_t a32_written(uint32_t word) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    size_t count = a32_stack((const uint8_t *)&word, sizeof word, effects);
    return stack_written(effects, count);
}
