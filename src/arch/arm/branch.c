/*
 * Executes branches for a stopped thread, and other instructions of trampolines that read the pc
 * (a32_relocate.c, t32_relocate.c). Facts: Arm ARM (of Armv7-A), A2.3.1 (writes of the pc, and the
 * states that they select), A2.6.2 (floating-point registers), A8.3 (conditions), A8.4 (shifts),
 * A8.8 (instructions).
 */
#include "arch/arm/a32.h"
#include "arch/arm/psr.h"
#include "arch/arm/t32.h"
#include "arch/regs.h"

struct emulation {
    struct user_regs *r;
    const struct regs_access *reach;
};

static bool holds(uint32_t condition, uint32_t psr) {
    bool n = psr >> 31 & 1, z = psr >> 30 & 1, c = psr >> 29 & 1, v = psr >> 28 & 1;
    const bool all[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    bool always = condition >> 1 == 7;
    return always || all[condition >> 1] != (condition & 1);
}

/* Jump to TO, whose lowest bit selects the state; go() keeps the present state. */
static void exchange(struct user_regs *r, uint32_t to) {
    r->uregs[ARM_PC] = to & ~UINT32_C(1);
    r->uregs[PSR] = psr_with_block(psr_with_state((uint32_t)r->uregs[PSR], to & 1), 0);
}
static void go(struct user_regs *r, uint32_t to) {
    exchange(r, psr_is_t32((uint32_t)r->uregs[PSR]) ? to | 1 : to & ~UINT32_C(1));
}

/* The value of REG as an instruction reads it. AHEAD is added to the pc. */
static uint32_t value_of(const struct user_regs *r, uint8_t reg, uint32_t ahead) {
    return (uint32_t)r->uregs[reg] + (reg == ARM_PC ? ahead : 0);
}

/* A load that writes the pc: words from AT on into registers; then the base moves. */
struct loading {
    uint8_t regs[T32_MOST_REGISTERS];
    uint8_t count, base;
    uint32_t at;
    int32_t moves; /* the base */
};

static enum regs_emulated load(const struct emulation *t, const struct loading *l) {
    regs_word_t words[T32_MOST_REGISTERS];
    uint32_t to = 0;
    for (uint8_t i = 0; i < l->count; i++)
        if (!t->reach->read(t->reach->from, (uint32_t)(l->at + i * (uint32_t)ARM_WORD), &words[i]))
            return REGS_NOT_EMULATED;
    t->r->uregs[l->base] += (uint32_t)l->moves;
    for (uint8_t i = 0; i < l->count; i++) {
        if (l->regs[i] == ARM_PC)
            to = words[i];
        else
            t->r->uregs[l->regs[i]] = words[i];
    }
    exchange(t->r, to);
    return REGS_EMULATED;
}

/* ---- literals ---- */

/* Reads COUNT bytes, at most 8. */
static bool read_bytes(const struct emulation *t, uint32_t at, unsigned count, uint64_t *ret) {
    *ret = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t place = at + i, whole = place & ~UINT32_C(3);
        regs_word_t word;
        if (!t->reach->read(t->reach->from, whole, &word))
            return false;
        *ret |= (uint64_t)(word >> 8 * (place - whole) & 0xff) << 8 * i;
    }
    return true;
}

/* Executes vldr, whose WORD is the same in both states. */
static bool fill(const struct emulation *t, uint32_t word, uint32_t at, unsigned bytes) {
    const uint32_t one = arm_bits(word, 22, 1), four = arm_bits(word, 12, 4);
    const bool two = bytes > ARM_WORD;
    uint64_t value;
    if (!t->reach->fill || !read_bytes(t, at, bytes, &value))
        return false;
    const regs_word_t words[] = {(uint32_t)value, (uint32_t)(value >> 32)};
    const unsigned first = two ? 2 * (one << 4 | four) : four << 1 | one;
    return t->reach->fill(t->reach->from, first, words, two ? 2 : 1);
}

/* ---- A32 ---- */

static enum regs_emulated a32_load(const struct emulation *t, uint32_t word, enum a32_form form) {
    struct a32_access a = a32_access_of(word, form);
    struct loading l = {.base = a.base, .moves = a.moves};
    uint32_t index = value_of(t->r, a32_rm(word), 0) << arm_bits(word, 7, 5);
    if (a.indexed && (arm_bits(word, 5, 2) || a.before || a.after))
        return REGS_NOT_EMULATED; /* another shift than lsl */
    l.at = value_of(t->r, a.base, A32_AHEAD);
    if (a.indexed)
        l.at += a.subtracts ? -index : index;
    else
        l.at += (uint32_t)a.offset;
    for (int i = 0; i < T32_MOST_REGISTERS; i++)
        if (a.list >> i & 1)
            l.regs[l.count++] = (uint8_t)i;
    return load(t, &l);
}

/* An exit whose condition holds. */
static enum regs_emulated a32_leave(const struct emulation *t, uint32_t word) {
    enum a32_form form = (enum a32_form)a32_classify(word).form;
    struct a32_data d;
    switch (form) {
    case A32_BX:
        exchange(t->r, value_of(t->r, a32_rm(word), A32_AHEAD));
        return REGS_EMULATED;
    case A32_DATA:
        d = a32_data_of(word);
        if (a32_moved(&d) < 0)
            return REGS_NOT_EMULATED;
        exchange(t->r, value_of(t->r, (uint8_t)a32_moved(&d), A32_AHEAD));
        return REGS_EMULATED;
    case A32_SINGLE:
    case A32_SEVERAL:
        return a32_load(t, word, form);
    default:
        return REGS_NOT_EMULATED;
    }
}

/* rm shifted by a constant. Amount 0 of lsr and asr means 32; of ror it means rrx. */
static uint32_t shifted(const struct user_regs *r, const struct a32_data *d) {
    enum { LSL, LSR, ASR, BITS = 32 };
    const uint32_t value = value_of(r, d->rm, A32_AHEAD);
    const uint32_t carry = (uint32_t)r->uregs[PSR] >> 29 & 1;
    const unsigned by = d->amount, to_right = by ? by : BITS;
    switch (d->shift) {
    case LSL:
        return value << by;
    case LSR:
        return (uint32_t)((uint64_t)value >> to_right);
    case ASR:
        return (uint32_t)((int64_t)(int32_t)value >> to_right);
    default:
        return by ? value >> by | value << (BITS - by) : value >> 1 | carry << (BITS - 1);
    }
}

/* add and sub with the pc, and loads at a constant distance from it. */
static bool a32_is_relative(uint32_t word, enum a32_form form) {
    if (form == A32_DATA) {
        const struct a32_data d = a32_data_of(word);
        const bool second = d.form == A32_FORM_SHIFTED && d.rm == ARM_PC;
        return (d.opcode == A32_ADD || d.opcode == A32_SUB) && !d.flags && d.rd != ARM_PC &&
               d.form != A32_FORM_BY_REGISTER && (d.rn == ARM_PC || second);
    }
    if (form != A32_SINGLE && form != A32_EXTRA && form != A32_VECTOR)
        return false;
    const struct a32_access a = a32_access_of(word, form);
    return a.base == ARM_PC && a.load && !a.indexed && !a.before && !a.after && !(a.list >> ARM_PC);
}

static void a32_add(struct user_regs *r, uint32_t word) {
    const struct a32_data d = a32_data_of(word);
    const uint32_t second = d.form == A32_FORM_IMMEDIATE ? d.value : shifted(r, &d);
    r->uregs[d.rd] = value_of(r, d.rn, A32_AHEAD) + (d.opcode == A32_SUB ? -second : second);
}

static bool a32_literal(const struct emulation *t, uint32_t word, enum a32_form form) {
    enum { SIGNED = 2 }; /* of A32_EXTRA's loads */
    const struct a32_access a = a32_access_of(word, form);
    const uint32_t at = value_of(t->r, ARM_PC, A32_AHEAD) + (uint32_t)a.offset;
    const unsigned bytes = a32_access_bytes(&a);
    uint64_t value;
    if (form == A32_VECTOR)
        return fill(t, word, at, bytes);
    if (!read_bytes(t, at, bytes, &value))
        return false;
    if (form == A32_EXTRA && !a.whole && arm_bits(word, 5, 2) & SIGNED)
        value = (uint32_t)arm_signed((uint32_t)value, 0, 8 * bytes);
    t->r->uregs[a32_rd(word)] = (uint32_t)value;
    if (bytes > ARM_WORD)
        t->r->uregs[a32_rd(word) + 1] = (uint32_t)(value >> 32);
    return true;
}

static enum regs_emulated a32_compute(const struct emulation *t, uint32_t word,
                                      enum a32_form form) {
    if (!a32_is_relative(word, form))
        return REGS_NOT_EMULATED;
    if (holds(a32_condition(word), (uint32_t)t->r->uregs[PSR])) {
        if (form == A32_DATA)
            a32_add(t->r, word);
        else if (!a32_literal(t, word, form))
            return REGS_NOT_EMULATED;
    }
    t->r->uregs[ARM_PC] += A32_BYTES;
    return REGS_EMULATED;
}

static bool is_exit(const struct insn *insn) {
    return insn->kind == INSN_JUMP || insn->kind == INSN_BRANCH || insn->kind == INSN_RETURN ||
           insn->kind == INSN_JUMP_INDIRECT;
}

static enum regs_emulated a32_take(const struct emulation *t, const uint8_t *code, size_t room) {
    struct user_regs *r = t->r;
    struct insn insn;
    if (!a32_decode(code, room, r->uregs[ARM_PC], &insn, NULL) || insn.turns)
        return REGS_NOT_EMULATED;
    uint32_t word = a32_word(code);
    if (insn.kind == INSN_OTHER)
        return a32_compute(t, word, (enum a32_form)a32_classify(word).form);
    if (!is_exit(&insn))
        return REGS_NOT_EMULATED;
    if (!holds(a32_condition(word), (uint32_t)r->uregs[PSR]))
        r->uregs[ARM_PC] += A32_BYTES;
    else if (insn.target && a32_classify(word).form == A32_BRANCH)
        go(r, (uint32_t)insn.target);
    else
        return a32_leave(t, word);
    return REGS_EMULATED;
}

/* ---- T32 ---- */

static enum regs_emulated t32_load(const struct emulation *t, const struct t32 *in) {
    struct t32_access a;
    if (!t32_access_of(in, &a) || !a.load || !a.general || a.bytes != ARM_WORD || a.unknown ||
        !a.count || a.regs[a.count - 1] != ARM_PC)
        return REGS_NOT_EMULATED;
    struct loading l = {.count = a.count, .base = a.base, .moves = a.adds ? a.step : 0};
    memcpy(l.regs, a.regs, sizeof l.regs);
    l.at = value_of(t->r, a.base, T32_PC);
    l.at = (a.base == ARM_PC ? l.at & ~UINT32_C(3) : l.at) + (uint32_t)a.offset;
    if (a.indexed)
        l.at += value_of(t->r, t32_rm(in->word), 0) << arm_bits(in->word, 4, 2);
    return load(t, &l);
}

static void t32_step(struct user_regs *r, const struct t32 *in) {
    uint32_t psr = (uint32_t)r->uregs[PSR];
    r->uregs[ARM_PC] += in->size;
    r->uregs[PSR] = psr_with_block(psr, psr_advanced(psr_block(psr)));
}

static void t32_go_if(const struct emulation *t, const struct t32 *in, bool taken) {
    if (taken)
        go(t->r, (uint32_t)t32_operand_of(in, t->r->uregs[ARM_PC]).target);
    else
        t32_step(t->r, in);
}

/* Executes vldr, or one of the three instructions by which t32_relocate.c makes an address. */
static enum regs_emulated t32_compute(const struct emulation *t, const struct t32 *in) {
    struct user_regs *r = t->r;
    struct t32_access a;
    const uint32_t word = in->word, low = 0xffff, pc = value_of(r, ARM_PC, T32_PC);
    switch (in->row->form) {
    case T32_MOVW:
        r->uregs[t32_rd(word)] = t32_immediate_16(word);
        break;
    case T32_MOVT:
        r->uregs[t32_rd(word)] &= low;
        r->uregs[t32_rd(word)] |= t32_immediate_16(word) << 16;
        break;
    case T32_ADD_HIGH:
        if (t32_reg(word, 3) != ARM_PC || t32_high(word) == ARM_PC)
            return REGS_NOT_EMULATED;
        r->uregs[t32_high(word)] += pc;
        break;
    case T32_VECTOR_SINGLE:
        if (!t32_access_of(in, &a) || !a.load || a.base != ARM_PC ||
            !fill(t, word, (pc & ~UINT32_C(3)) + (uint32_t)a.offset, a.bytes))
            return REGS_NOT_EMULATED;
        break;
    default:
        return REGS_NOT_EMULATED;
    }
    t32_step(r, in);
    return REGS_EMULATED;
}

/* Executes an IT alone, so that each instruction of its block is executed separately. */
static enum regs_emulated t32_leave(const struct emulation *t, const struct t32 *in) {
    struct user_regs *r = t->r;
    const uint32_t word = in->word, psr = (uint32_t)r->uregs[PSR];
    switch (in->row->form) {
    case T32_IT:
        t32_step(r, in);
        r->uregs[PSR] = psr_with_block(psr, (uint8_t)word);
        return REGS_EMULATED;
    case T32_B_N:
    case T32_B_W:
        t32_go_if(t, in, true);
        return REGS_EMULATED;
    case T32_B_COND_N:
        t32_go_if(t, in, holds(arm_bits(word, 8, 4), psr));
        return REGS_EMULATED;
    case T32_B_COND_W:
        t32_go_if(t, in, holds(arm_bits(word, 22, 4), psr));
        return REGS_EMULATED;
    case T32_CBZ:
        t32_go_if(t, in, (r->uregs[t32_low(word, 0)] != 0) == arm_bits(word, 11, 1));
        return REGS_EMULATED;
    case T32_BX:
        if (in->kind == INSN_CALL_INDIRECT)
            return REGS_NOT_EMULATED;
        exchange(r, value_of(r, t32_reg(word, 3), T32_PC) &
                        (t32_reg(word, 3) == ARM_PC ? ~UINT32_C(3) : ~UINT32_C(0)));
        return REGS_EMULATED;
    case T32_MOV_HIGH:
        if (t32_high(word) != ARM_PC)
            return REGS_NOT_EMULATED;
        go(r, value_of(r, t32_reg(word, 3), T32_PC));
        return REGS_EMULATED;
    case T32_MOVW:
    case T32_MOVT:
    case T32_ADD_HIGH:
    case T32_VECTOR_SINGLE:
        return t32_compute(t, in);
    default:
        return t32_load(t, in);
    }
}

static enum regs_emulated t32_take(const struct emulation *t, const uint8_t *code, size_t room) {
    const uint32_t psr = (uint32_t)t->r->uregs[PSR];
    const uint8_t block = psr_block(psr);
    struct t32 in = t32_classify(code, room);
    bool begins = in.size && in.row->form == T32_IT;
    if (!in.size || (!begins && (in.kind == INSN_BAD || in.kind == INSN_FIXED)))
        return REGS_NOT_EMULATED;
    if (block && !holds(block >> 4, psr)) {
        t32_step(t->r, &in);
        return REGS_EMULATED;
    }
    return t32_leave(t, &in);
}

enum regs_emulated regs_emulate(struct regs *regs, const uint8_t *code, size_t room,
                                const struct regs_access *reach) {
    const struct emulation t = {&regs->raw, reach};
    return psr_is_t32((uint32_t)regs->raw.uregs[PSR]) ? t32_take(&t, code, room)
                                                      : a32_take(&t, code, room);
}
