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
    unsigned base = i >> 16 & 15, to = i >> 12 & 15;
    int is_load = (i & 0x100000) != 0, before = (i & 0x1000000) != 0;
    int back = !before || (i & 0x200000), known_add = !(i & 0x2000000);
    spoor_word add = i & 0x800000 ? i & 0xfff : -(spoor_word)(i & 0xfff);
    uint32_t at = (uint32_t)(sim->now.r[base] + (before ? add : 0)), value;
    int follow =
        known_add && !(i & 0x400000) && base != 15 && is_known(sim, base) && is_stack(sim, at);
    if (!is_load && follow && is_saved(base, to, back) && store(sim, to, at))
        return STEP_DEAD;
    if (back && known_add)
        set_sum(sim, base, base, add);
    else if (back)
        forget(sim, BIT(base));
    if (!is_load)
        return STEP_NEXT;
    if (follow)
        load(sim, to, at);
    else
        forget(sim, BIT(to));
    if (base == 15 && known_add && !(i & 0x400000) &&
        !read_u32(sim->walk, sim->now.r[SPOOR_PC] + 8 + add, &value))
        set_known(sim, to, value);
    sim->reg = SPOOR_PC;
    return to == 15 ? STEP_RETURN : STEP_NEXT;
}

/* ldrd, strd with an immediate; other extra loads and stores; products. */
static enum step a32_extra(struct sim *sim, uint32_t i) {
    unsigned base = i >> 16 & 15, to = i >> 12 & 15;
    int before = (i & 0x1000000) != 0, back = !before || (i & 0x200000);
    uint32_t number = (i >> 4 & 0xf0) | (i & 15);
    if ((i & 0xf0) == 0x90) { /* products, exclusive accesses */
        forget(sim, BIT(to) | BIT(base));
        return STEP_NEXT;
    }
    spoor_word add = i & 0x800000 ? number : -(spoor_word)number;
    uint32_t at = (uint32_t)(sim->now.r[base] + (before ? add : 0));
    int is_double = !(i & 0x100000) && (i & 0xd0) == 0xd0, is_store = is_double && (i & 0x20);
    int follow = is_double && (i & 0x400000) && is_known(sim, base) && is_stack(sim, at);
    if (is_store && follow && is_saved(base, to, back) &&
        (store(sim, to, at) || store(sim, to | 1, at + 4)))
        return STEP_DEAD;
    if (back && (i & 0x400000))
        set_sum(sim, base, base, add);
    else if (back)
        forget(sim, BIT(base));
    if (is_store || !(i & 0x100000 || is_double))
        return STEP_NEXT;
    forget(sim, BIT(to) | (is_double ? BIT(to | 1) : 0));
    if (follow) {
        load(sim, to, at);
        load(sim, to | 1, at + 4);
    }
    return STEP_NEXT;
}

/* Data processing: sums, moves and constants are followed. */
static enum step a32_data(struct sim *sim, uint32_t i) {
    unsigned op = i >> 21 & 15, from = i >> 16 & 15, to = i >> 12 & 15, by = i & 15;
    int is_constant = (i & 0x2000000) != 0, plain = is_constant || !(i & 0xff0);
    spoor_word value = is_constant ? a32_constant(i) : sim->now.r[by];
    if (op >= 8 && op < 12)
        return STEP_NEXT;
    if (to == 15) {
        sim->reg = (uint8_t)by;
        return op == 13 && plain && !is_constant ? STEP_RETURN : STEP_DEAD;
    }
    plain = plain && from != 15 && (is_constant || (by != 15 && is_known(sim, by)));
    if (plain && (op == 4 || op == 2))
        set_sum(sim, to, from, op == 4 ? value : -value);
    else if (op == 13 && plain && !is_constant)
        set_sum(sim, to, by, 0);
    else if (op == 13 && is_constant)
        set_known(sim, to, value);
    else if (op == 15 && is_constant)
        set_known(sim, to, ~value);
    else
        forget(sim, BIT(to));
    return STEP_NEXT;
}

/* bx, blx, movw, movt, status registers and the like: what data processing does not use. */
static enum step a32_misc(struct sim *sim, uint32_t i) {
    unsigned to = i >> 12 & 15;
    uint32_t wide = (i >> 4 & 0xf000) | (i & 0xfff);
    switch (i & 0xff00000) {
    case 0x3000000:
        set_known(sim, to, wide);
        return STEP_NEXT;
    case 0x3400000:
        if (is_known(sim, to))
            set_known(sim, to, (sim->now.r[to] & 0xffff) | wide << 16);
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
            forget(sim, BIT(to) | ((i & 0x80) ? BIT(i >> 16 & 15) : 0));
        return STEP_NEXT;
    }
}

static enum step a32_plain(struct sim *sim, uint32_t pc, uint32_t i) {
    sim->now.r[SPOOR_PC] = pc;
    switch (i >> 25 & 7) {
    case 0:
    case 1:
        if (!(i & 0x2000000) && (i & 0x90) == 0x90)
            return a32_extra(sim, i);
        return (i & 0x1900000) == 0x1000000 ? a32_misc(sim, i) : a32_data(sim, i);
    case 3:
        if (i & 0x10) { /* media; udf */
            forget(sim, BIT(i >> 12 & 15) | BIT(i >> 16 & 15));
            return (i & 0xff000f0) == 0x7f000f0 ? STEP_DEAD : STEP_NEXT;
        }
        return a32_single(sim, i);
    case 2:
        return a32_single(sim, i);
    case 4:
        return transfer_many(sim, i >> 16 & 15, i & 0xffff,
                             (i >> 20 & 3) | (i >> 21 & 4) | (i >> 21 & 8));
    case 5:
        sim->target = pc + 8 + 4 * (uint32_t)sign_extend(i & 0xffffff, 24);
        return i & 0x1000000 ? STEP_CALL : STEP_BRANCH;
    default:
        if ((i & 0xf000000) != 0xf000000) /* svc */
            coprocessor(sim, i);
        return STEP_NEXT;
    }
}

/* Instructions without a condition: blx, and what knows no core register but a base. */
static enum step a32_unconditional(struct sim *sim, uint32_t i) {
    if (i >> 25 == 0x7d)
        return STEP_CALL;
    if ((i & 0xfe000000) == 0xf4000000 && !(i & 0x1000000)) /* vld1 and the like */
        forget(sim, BIT(i >> 16 & 15));
    return STEP_NEXT;
}
#endif

#endif
