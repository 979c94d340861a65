/* Part of spoor_backtrace.c: follows A32. Arm Architecture Reference Manual, A5 and A8. */
#ifndef SPOOR_A32_H
#define SPOOR_A32_H

#include "spoor_t32.h"

#if HAVE_A32

static uint32_t a32_constant(uint32_t i) {
    uint32_t byte = i & 0xff, rotation = i >> 7 & 30;
    return rotation ? byte >> rotation | byte << (32 - rotation) : byte;
}

/* ldr and str, of a word or a byte. */
static enum step a32_single(struct sim *sim, uint32_t i) {
    unsigned base = i >> 16 & 15, to = i >> 12 & 15, how = i >> 20 & MOVE_LOAD;
    int before = (i & 0x1000000) != 0, is_number = !(i & 0x2000000);
    int back = !before || (i & 0x200000);
    spoor_word add = i & 0x800000 ? i & 0xfff : -(spoor_word)(i & 0xfff);
    spoor_word at = sim->r[base] + (before ? add : 0);
    if (is_number && !(i & 0x400000) && (back || base == SPOOR_PC || (base == SPOOR_SP && to >= 4)))
        how |= MOVE_FOLLOW;
    move_word(sim, to, at, how);
    if (back)
        set_sum(sim, base, base, is_number ? add : 0);
    if (back && !is_number)
        forget(sim, base);
    sim->reg = SPOOR_PC;
    return how & MOVE_LOAD && to == SPOOR_PC ? STEP_RETURN : STEP_NEXT;
}

/* ldrd, strd with an immediate; other extra loads and stores; products. */
static enum step a32_extra(struct sim *sim, uint32_t i) {
    unsigned base = i >> 16 & 15, to = i >> 12 & 15;
    int before = (i & 0x1000000) != 0, back = !before || (i & 0x200000);
    uint32_t number = (i >> 4 & 0xf0) | (i & 15);
    if ((i & 0xf0) == 0x90) { /* products, exclusive accesses */
        forget(sim, to), forget(sim, base);
        return STEP_NEXT;
    }
    spoor_word add = i & 0x800000 ? number : -(spoor_word)number;
    spoor_word at = sim->r[base] + (before ? add : 0);
    int is_double = !(i & 0x100000) && (i & 0xd0) == 0xd0;
    unsigned how = is_double ? !(i & 0x20) : i >> 20 & MOVE_LOAD;
    if (is_double && (i & 0x400000) && (back || base == SPOOR_PC || (base == SPOOR_SP && to >= 4)))
        how |= MOVE_FOLLOW;
    move_word(sim, to, at, how);
    if (is_double)
        move_word(sim, to | 1, at + 4, how);
    if (back)
        set_sum(sim, base, base, add);
    if (back && !(i & 0x400000))
        forget(sim, base);
    return STEP_NEXT;
}

/* Data processing: sums, moves and constants are followed. */
static enum step a32_data(struct sim *sim, uint32_t i) {
    unsigned op = i >> 21 & 15, from = i >> 16 & 15, to = i >> 12 & 15, by = i & 15;
    int is_constant = (i & 0x2000000) != 0;
    int plain = is_constant || (!(i & 0xff0) && by != 15 && is_known(sim, by));
    spoor_word value = is_constant ? a32_constant(i) : sim->r[by];
    if (op >= 8 && op < 12)
        return STEP_NEXT;
    if (to == 15) {
        sim->reg = by;
        return op == 13 && !is_constant && !(i & 0xff0) ? STEP_RETURN : STEP_DEAD;
    }
    if (plain && from != 15 && (op == 4 || op == 2))
        set_sum(sim, to, from, op == 4 ? value : -value);
    else if (plain && (op == 13 || op == 15))
        set(sim, to, op == 13 ? value : ~value);
    else
        forget(sim, to);
    return STEP_NEXT;
}

/* bx, blx, movw, movt, status registers and the like: what data processing does not use. */
static enum step a32_misc(struct sim *sim, uint32_t i) {
    unsigned to = i >> 12 & 15;
    uint32_t wide = (i >> 4 & 0xf000) | (i & 0xfff);
    switch (i & 0xff00000) {
    case 0x3000000:
        set(sim, to, wide);
        return STEP_NEXT;
    case 0x3400000:
        if (is_known(sim, to))
            set(sim, to, (sim->r[to] & 0xffff) | wide << 16);
        return STEP_NEXT;
    case 0x1200000:
        sim->reg = i & 15;
        if ((i & 0xf0) == 0x30)
            return STEP_CALL;
        if ((i & 0xd0) == 0x10)
            return STEP_RETURN;
        return (i & 0xf0) == 0x70 ? STEP_DEAD : STEP_NEXT;
    default:
        if (!(i & 0x2000000))
            forget(sim, i & 0x80 ? i >> 16 & 15 : to);
        if (!(i & 0x2000000))
            forget(sim, to);
        return STEP_NEXT;
    }
}

/* ldm, stm, in each of their modes. */
static enum step a32_many(struct sim *sim, uint32_t i) {
    unsigned base = i >> 16 & 15, is_load = i >> 20 & MOVE_LOAD;
    int up = (i & 0x800000) != 0, before = (i & 0x1000000) != 0;
    spoor_word at = sim->r[base], size = 0;
    for (uint32_t rest = i & 0xffff; rest; rest &= rest - 1)
        size += 4;
    at += (up ? 0 : -size) + (up == before ? 4 : 0);
    if (i & 0x200000)
        set_sum(sim, base, base, up ? size : -size);
    for (unsigned n = 0; n < 16; n++)
        if (i >> n & 1) {
            move_word(sim, n, at, is_load | MOVE_FOLLOW);
            at += 4;
        }
    sim->reg = SPOOR_PC;
    return is_load && i >> SPOOR_PC & 1 ? STEP_RETURN : STEP_NEXT;
}

static enum step a32_plain(struct sim *sim, uint32_t pc, uint32_t i) {
    switch (i >> 25 & 7) {
    case 0:
    case 1:
        if (!(i & 0x2000000) && (i & 0x90) == 0x90)
            return a32_extra(sim, i);
        return (i & 0x1900000) == 0x1000000 ? a32_misc(sim, i) : a32_data(sim, i);
    case 3:
        if (i & 0x10) { /* media; udf */
            forget(sim, i >> 12 & 15), forget(sim, i >> 16 & 15);
            return (i & 0xff000f0) == 0x7f000f0 ? STEP_DEAD : STEP_NEXT;
        }
        return a32_single(sim, i);
    case 2:
        return a32_single(sim, i);
    case 4:
        return a32_many(sim, i);
    case 5:
        sim->target = pc + 8 + 4 * sign_extend(i & 0xffffff, 24);
        return i & 0x1000000 ? STEP_CALL : STEP_BRANCH;
    default:
        if ((i & 0xf000000) != 0xf000000) /* svc */
            set_sum(sim, SPOOR_SP, SPOOR_SP, coprocessor(i));
        return STEP_NEXT;
    }
}

/* Instructions without a condition: blx, and what knows no core register but a base. */
static enum step a32_unconditional(struct sim *sim, uint32_t i) {
    if (i >> 25 == 0x7d)
        return STEP_CALL;
    if ((i & 0xfe000000) == 0xf4000000 && !(i & 0x1000000)) /* vld1 and the like */
        forget(sim, i >> 16 & 15);
    return STEP_NEXT;
}
#endif

#endif
