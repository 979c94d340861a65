/*
 * Decodes A32 instructions. Nearly all may write the pc, and so jump. The form decides the kind:
 *
 *     bx lr; mov pc, lr; pop {…, pc}; ldm fp, {…, sp, pc}; ldr pc, [sp], #4      returns
 *     add pc, lr, #0                                                             Go's
 *     the same with a condition, and bxne r3, movne pc, r3, ldrne pc, [r3]       INSN_BRANCH to 0
 *     bx r3; mov pc, r3; ldr pc, …; add pc, …, r3                                indirect jumps
 *     addls pc, pc, r3, lsl #2; ldrls pc, [pc, r3, lsl #2]                       … of switches
 *     blne f; blxne r3                                                           calls
 *
 * Nearly all may also read the pc. Forms that a32_relocate.c does not rewrite, but that read or
 * store the pc, `stay`.
 */
#include "arch/arm/a32.h"

static vaddr_t at_pc(vaddr_t addr, int64_t distance) {
    return (addr + A32_AHEAD + (vaddr_t)distance) & UINT32_MAX;
}

static void branch(uint32_t word, struct insn *ret) {
    bool turns = a32_condition(word) == ARM_UNCONDITIONAL; /* blx: bit 24 adds two bytes */
    int32_t distance = arm_signed(word, 0, 24) * A32_BYTES;
    ret->turns = turns;
    ret->target = at_pc(ret->addr, distance + (turns && arm_bits(word, 24, 1) ? 2 : 0));
    ret->goes_on = ret->kind == INSN_CALL && a32_is_conditional(word);
    if (ret->kind == INSN_JUMP && a32_is_conditional(word))
        ret->kind = INSN_BRANCH;
}

/* An exit through a register or memory: a return or another jump. */
static void exit_through(uint32_t word, bool returns, struct insn *ret) {
    ret->kind = returns ? INSN_RETURN : INSN_JUMP_INDIRECT;
    if (!a32_is_conditional(word))
        return;
    ret->kind = INSN_BRANCH;
    ret->tails = !returns;
}

/* A jump as switches have it: if its condition does not hold, the next instruction follows. */
static void dispatch(uint32_t word, struct insn *ret) {
    ret->kind = INSN_JUMP_INDIRECT;
    ret->goes_on = a32_is_conditional(word);
}

static void bx(uint32_t word, struct insn *ret) {
    if (ret->kind == INSN_CALL_INDIRECT)
        ret->goes_on = a32_is_conditional(word);
    else
        exit_through(word, a32_rm(word) == ARM_LR, ret);
}

static bool reads_pc(const struct a32_data *d) {
    bool second = d->form != A32_FORM_IMMEDIATE && d->rm == ARM_PC;
    return second || (d->has_first && d->rn == ARM_PC);
}

/* add, sub with the pc, and mov of it, which a32_relocate() can write. */
static bool is_movable_sum(const struct a32_data *d) {
    if (d->flags || d->rd == ARM_SP || d->form == A32_FORM_BY_REGISTER)
        return false;
    if (d->form == A32_FORM_IMMEDIATE)
        return d->opcode == A32_ADD || d->opcode == A32_SUB;
    if (d->rm == ARM_PC)
        return a32_is_plain(d) &&
               (d->opcode == A32_MOV ||
                (d->opcode == A32_ADD && d->rn != d->rd && d->rn != ARM_PC && d->rn != ARM_SP));
    return (d->opcode == A32_ADD || d->opcode == A32_SUB) && d->rm != d->rd;
}

/* Data processing that writes the pc. */
static void data_jump(uint32_t word, const struct a32_data *d, struct insn *ret) {
    bool reads = reads_pc(d);
    bool constant = reads && is_movable_sum(d) && d->form == A32_FORM_IMMEDIATE;
    vaddr_t to = at_pc(ret->addr, d->opcode == A32_SUB ? -(int64_t)d->value : d->value);
    if (d->flags || d->form == A32_FORM_BY_REGISTER || (constant && to % A32_BYTES)) {
        ret->kind = INSN_FIXED; /* to another mode, unpredictable, or to T32 */
        return;
    }
    if (constant) {
        ret->kind = a32_is_conditional(word) ? INSN_BRANCH : INSN_JUMP;
        ret->target = to;
        return;
    }
    if (a32_moved(d) >= 0 && !reads)
        exit_through(word, a32_moved(d) == ARM_LR, ret);
    else
        dispatch(word, ret);
    ret->stays = reads;
}

static void data(uint32_t word, struct insn *ret) {
    struct a32_data d = a32_data_of(word);
    bool by_pc = d.form == A32_FORM_BY_REGISTER && (a32_rs(word) == ARM_PC || reads_pc(&d));
    if (by_pc || (d.rd == ARM_PC && !d.has_result)) {
        ret->kind = INSN_FIXED;
        return;
    }
    if (d.rd == ARM_PC) {
        data_jump(word, &d, ret);
        return;
    }
    if (!reads_pc(&d))
        return;
    ret->stays = !is_movable_sum(&d);
    bool sum = (d.opcode == A32_ADD || d.opcode == A32_SUB) && d.form == A32_FORM_IMMEDIATE;
    bool moves = d.opcode == A32_MOV && a32_is_plain(&d);
    if (!sum && !moves)
        return;
    ret->operand = OPERAND_PC_ADDRESS;
    ret->target = at_pc(ret->addr, d.opcode == A32_SUB ? -(int64_t)d.value : d.value);
}

/* A load of the pc through memory. */
static void load_jump(uint32_t word, const struct a32_access *a, struct insn *ret) {
    bool popped = a->base == ARM_SP && a->after && a->moves >= ARM_WORD; /* lr and padding */
    if (a->bytes != ARM_WORD || (a->after && arm_bits(word, 21, 1)))
        ret->kind = INSN_FIXED;
    else if (a->indexed || a->base == ARM_PC)
        dispatch(word, ret);
    else
        exit_through(word, popped, ret);
}

/* An access relative to the pc: its address, and whether a32_relocate() can write it. */
static void literal(uint32_t word, const struct a32_access *a, enum a32_form form,
                    struct insn *ret) {
    uint8_t rd = a32_rd(word);
    bool vector = form == A32_VECTOR, jump = ret->kind == INSN_JUMP_INDIRECT;
    if (a->before || a->after) {
        ret->kind = INSN_FIXED;
        return;
    }
    if (a->indexed) {
        ret->stays = jump || !a->load || a32_rm(word) == rd || rd == ARM_SP;
        return;
    }
    ret->operand = OPERAND_PC_MEMORY;
    ret->target = at_pc(ret->addr, a->offset);
    ret->loads = (uint8_t)a32_access_bytes(a);
    ret->stays = !a->load || (jump && a32_is_conditional(word));
    if (vector || jump)
        ret->copies = (uint8_t)a->bytes;
    else
        ret->stays |= rd == ARM_SP || a->list >> ARM_SP & 1;
    if (vector && a->bytes < ARM_WORD)
        ret->stays = true;
}

static void single(uint32_t word, enum a32_form form, struct insn *ret) {
    struct a32_access a = a32_access_of(word, form);
    bool two = form == A32_EXTRA && a.bytes == ARM_WORD, back = a.before || a.after;
    uint32_t rm = UINT32_C(1) << a32_rm(word);
    bool odd = two && (a32_rd(word) % 2 || a.list >> ARM_PC & 1 || a.list >> ARM_LR & 1);
    bool clash = back && a.load && a.list >> a.base & 1;
    if (form == A32_VECTOR) {
        if (a.base == ARM_PC)
            literal(word, &a, form, ret);
        return;
    }
    if (odd || clash || (a.indexed && rm >> ARM_PC & 1) || (a.indexed && two && rm & a.list)) {
        ret->kind = INSN_FIXED;
        return;
    }
    if (a.list >> ARM_PC & 1) {
        ret->stays = !a.load;
        if (form == A32_EXTRA || (!a.load && a.bytes != ARM_WORD))
            ret->kind = INSN_FIXED;
        else if (a.load)
            load_jump(word, &a, ret);
    }
    if (a.base == ARM_PC && ret->kind != INSN_FIXED)
        literal(word, &a, form, ret);
}

static void several(uint32_t word, struct insn *ret) {
    struct a32_access a = a32_access_of(word, A32_SEVERAL);
    bool pc = a.list >> ARM_PC & 1, sp = a.list >> ARM_SP & 1;
    bool clash = a.load && a.after && a.list >> a.base & 1;
    if (a.base == ARM_PC || !a.list || clash)
        ret->kind = INSN_FIXED;
    else if (pc && a.load)
        exit_through(word, a.base == ARM_SP || (a.base == ARM_FP && sp), ret);
    ret->stays = pc && !a.load;
}

/* A list that is empty, or goes beyond the last register, is unpredictable. */
static void vectors(uint32_t word, struct insn *ret) {
    enum { REGISTERS = 32 };
    bool wide = arm_bits(word, 8, 1), back = arm_bits(word, 21, 1);
    uint32_t high = arm_bits(word, 22, 1), four = arm_bits(word, 12, 4);
    uint32_t first = wide ? high << 4 | four : four << 1 | high;
    uint32_t count = arm_bits(word, 0, 8) >> (wide ? 1 : 0);
    if (!count || first + count > REGISTERS || (back && a32_rn(word) == ARM_PC))
        ret->kind = INSN_FIXED;
    ret->stays = a32_rn(word) == ARM_PC;
}

static uint8_t exclusive_of(uint32_t word, uint8_t kind) {
    enum { CLREX = (int)0xf57ff01f };
    if (word == (uint32_t)CLREX)
        return EXCLUSIVE_ENDS;
    if (kind != INSN_EXCLUSIVE)
        return EXCLUSIVE_NO;
    return arm_bits(word, 20, 1) ? EXCLUSIVE_BEGINS : EXCLUSIVE_ENDS;
}

static void complete(uint32_t word, enum a32_form form, struct insn *ret) {
    switch (form) {
    case A32_BRANCH:
        branch(word, ret);
        return;
    case A32_BX:
        bx(word, ret);
        return;
    case A32_DATA:
        data(word, ret);
        return;
    case A32_SINGLE:
    case A32_EXTRA:
    case A32_VECTOR:
        single(word, form, ret);
        return;
    case A32_SEVERAL:
        several(word, ret);
        return;
    case A32_VECTORS:
        vectors(word, ret);
        return;
    case A32_PRELOAD:
        if (a32_rn(word) != ARM_PC)
            return;
        ret->operand = OPERAND_PC_MEMORY;
        ret->target = at_pc(ret->addr, a32_access_of(word, form).offset);
        return;
    default:
        return;
    }
}

uint8_t a32_kind_of(uint32_t word, const struct a32_insn *in) {
    struct insn insn = {.kind = in->kind};
    if (in->kind != INSN_BAD && in->kind != INSN_FIXED)
        complete(word, (enum a32_form)in->form, &insn);
    return insn.kind;
}

bool a32_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                struct insn_constants *constants) {
    *ret = (struct insn){.addr = addr, .size = A32_BYTES, .kind = INSN_BAD};
    if (constants)
        *constants = (struct insn_constants){0};
    if (room < A32_BYTES || addr % A32_BYTES) {
        uint8_t rest = (uint8_t)(A32_BYTES - addr % A32_BYTES);
        ret->size = room < rest ? (uint8_t)room : rest;
        return false;
    }
    uint32_t word = a32_word(bytes);
    struct a32_insn in = a32_classify(word);
    ret->kind = in.kind;
    if (in.kind == INSN_BAD)
        return false;
    struct flags_use flags = a32_flags_of(word, &in);
    ret->reads_flags = flags.tested != 0;
    ret->writes_flags = a32_flags_changed(word, &in) != 0;
    if (in.kind != INSN_FIXED)
        complete(word, (enum a32_form)in.form, ret);
    ret->exclusive = exclusive_of(word, ret->kind);
    if (ret->kind == INSN_FIXED) {
        ret->target = 0;
        ret->operand = OPERAND_PLAIN;
    }
    return true;
}

bool a32_is_return(const uint8_t *bytes, size_t room) {
    enum { BX_LR = (int)0xe12fff1e, MOV_PC_LR = (int)0xe1a0f00e };
    uint32_t word = room < A32_BYTES ? 0 : a32_word(bytes);
    return word == (uint32_t)BX_LR || word == (uint32_t)MOV_PC_LR;
}

bool a32_is_barred(const uint8_t *bytes, size_t size) {
    uint32_t word = size < A32_BYTES ? 0 : a32_word(bytes);
    struct a32_insn in = a32_classify(word);
    if (in.form != A32_DATA)
        return in.barred;
    struct a32_data d = a32_data_of(word);
    return d.flags && d.has_result && d.rd == ARM_PC; /* returns to another mode */
}

/* XRay's sleds (compiler-rt, xray_arm.cpp): `b #20` over six nops, of either encoding. The runtime
 * stores the six words at any time, then the first. A sled of an exit stands before the return. */
size_t a32_sled(const uint8_t *bytes, size_t room, enum sled_kind kind) {
    enum { SLED_WORDS = 7, OVER = (int)0xea000005, NOP = (int)0xe320f000, MOVE = (int)0xe1a00000 };
    if (kind == SLED_EVENT || room < (size_t)SLED_WORDS * A32_BYTES ||
        a32_word(bytes) != (uint32_t)OVER)
        return 0;
    for (size_t i = 1; i < SLED_WORDS; i++) {
        uint32_t word = a32_word(bytes + i * A32_BYTES);
        if (word != (uint32_t)NOP && word != (uint32_t)MOVE)
            return 0;
    }
    return (size_t)SLED_WORDS * A32_BYTES;
}
