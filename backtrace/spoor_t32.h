/* Part of spoor_backtrace.c: follows T32 (Thumb-1 included). Arm Architecture Reference Manual, A5
 * to A7. */
#ifndef SPOOR_T32_H
#define SPOOR_T32_H

#include "spoor_sim.h"

#if HAVE_ARM

static int32_t sign_extend(uint32_t value, unsigned bits) {
    uint32_t sign = 1u << (bits - 1);
    return (int32_t)((value ^ sign) - sign);
}

static int t32_is_wide(uint32_t first) { return first >= 0xe800; }

/* Modified immediate constant of 12 bits. */
static uint32_t t32_constant(uint32_t imm12) {
    uint32_t byte = imm12 & 0xff, rotation = imm12 >> 7;
    if (rotation >= 8) {
        byte = (imm12 & 0x7f) | 0x80;
        return byte >> rotation | byte << (32 - rotation);
    }
    return byte * (imm12 < 0x100   ? 1u
                   : imm12 < 0x200 ? 0x10001u
                   : imm12 < 0x300 ? 0x1000100u
                                   : 0x1010101u);
}

static enum step t32_jump(struct sim *sim, unsigned reg) {
    sim->reg = (uint8_t)reg;
    return STEP_RETURN;
}

/* 0x0000 to 0x3fff: shifts, sums, 8-bit constants. */
static void t32_shift_add(struct sim *sim, uint32_t i) {
    unsigned low = i & 7, from = i >> 3 & 7, high = i >> 8 & 7;
    switch (i >> 11) {
    case 0: /* lsl, and mov as lsl #0 */
        set_sum(sim, low, from, 0);
        if (is_known(sim, low) && i >> 6)
            set_known(sim, low, (uint32_t)sim->now.r[low] << (i >> 6));
        break;
    case 3:
        if (i & 0x400)
            set_sum(sim, low, from, i & 0x200 ? -(spoor_word)(i >> 6 & 7) : (i >> 6 & 7));
        else
            forget(sim, BIT(low));
        break;
    case 4:
        set_known(sim, high, i & 0xff);
        break;
    case 6:
        set_sum(sim, high, high, i & 0xff);
        break;
    case 7:
        set_sum(sim, high, high, -(spoor_word)(i & 0xff));
        break;
    case 5: /* cmp */
        break;
    default:
        forget(sim, BIT(low));
    }
}

/* 0x4000 to 0x4fff. */
static enum step t32_high(struct sim *sim, uint32_t i, uint32_t pc) {
    unsigned to = (i & 7) | (i >> 4 & 8), from = i >> 3 & 15, high = i >> 8 & 7;
    uint32_t value;
    switch (i >> 8 & 15) {
    case 4: /* add */
        if (to == SPOOR_PC)
            return STEP_DEAD;
        if (is_known(sim, from))
            set_sum(sim, to, to, sim->now.r[from]);
        else
            forget(sim, BIT(to));
        return STEP_NEXT;
    case 5:
        return STEP_NEXT;
    case 6:
        if (to == SPOOR_PC)
            return t32_jump(sim, from);
        set_sum(sim, to, from, 0);
        return STEP_NEXT;
    case 7:
        if (from == SPOOR_PC)
            set_known(sim, SPOOR_PC, (pc + 4) & ~3u);
        return i & 0x80 ? STEP_CALL : t32_jump(sim, from);
    default:
        if (i & 0x800) {
            forget(sim, BIT(high));
            if (!read_u32(sim->walk, ((pc + 4) & ~3u) + (i & 0xff) * 4, &value))
                set_known(sim, high, value);
        } else if ((i & 0xffc0) == 0x4240 && is_known(sim, i >> 3 & 7)) { /* negs */
            set_known(sim, i & 7, -sim->now.r[i >> 3 & 7]);
        } else {
            forget(sim, BIT(i & 7));
        }
        return STEP_NEXT;
    }
}

/* 0x5000 to 0xafff: loads and stores, addresses. */
static enum step t32_load_store(struct sim *sim, uint32_t i) {
    unsigned high = i >> 8 & 7;
    switch (i >> 12) {
    case 5:
        if ((i >> 9 & 7) >= 3)
            forget(sim, BIT(i & 7));
        break;
    case 9:
        if (i & 0x800)
            load(sim, high, sim->now.r[SPOOR_SP] + (i & 0xff) * 4);
        else if (high >= 4 && is_known(sim, SPOOR_SP))
            return store(sim, high, sim->now.r[SPOOR_SP] + (i & 0xff) * 4) ? STEP_DEAD : STEP_NEXT;
        break;
    case 10:
        forget(sim, BIT(high));
        if (i & 0x800)
            set_sum(sim, high, SPOOR_SP, (i & 0xff) * 4);
        break;
    default:
        if (i & 0x800)
            forget(sim, BIT(i & 7));
    }
    return STEP_NEXT;
}

/* 0xb000 to 0xbfff. */
static enum step t32_misc(struct sim *sim, uint32_t i, uint32_t pc) {
    switch (i >> 8 & 15) {
    case 0:
        set_sum(sim, SPOOR_SP, SPOOR_SP, i & 0x80 ? -(spoor_word)(i & 0x7f) * 4 : (i & 0x7f) * 4);
        return STEP_NEXT;
    case 1:
    case 3:
    case 9:
    case 11: /* cbz, cbnz */
        sim->target = pc + 4 + ((i >> 2 & 0x3e) | (i >> 3 & 0x40));
        return STEP_FORK;
    case 4:
    case 5:
        return transfer_many(sim, SPOOR_SP, (i & 0xff) | (i & 0x100) << 6, MANY_BACK | MANY_BEFORE);
    case 12:
    case 13:
        return transfer_many(sim, SPOOR_SP, (i & 0xff) | (i & 0x100) << 7,
                             MANY_LOAD | MANY_BACK | MANY_UP);
    case 14: /* bkpt */
        return STEP_DEAD;
    case 15:
        if (i & 15)
            sim->it = i & 1 ? 4 : i & 2 ? 3 : i & 4 ? 2 : 1;
        return STEP_NEXT;
    default:
        forget(sim, BIT(i & 7));
        return STEP_NEXT;
    }
}

static enum step t32_branch(struct sim *sim, uint32_t i, uint32_t pc) {
    if (i >> 12 == 14) {
        sim->target = pc + 4 + 2 * (uint32_t)sign_extend(i & 0x7ff, 11);
        return STEP_BRANCH;
    }
    sim->target = pc + 4 + 2 * (uint32_t)sign_extend(i & 0xff, 8);
    if ((i >> 8 & 15) == 15) /* svc */
        return STEP_NEXT;
    return (i >> 8 & 15) == 14 ? STEP_DEAD : STEP_FORK;
}

/* Displacement of b.w and bl (25 bits). */
static uint32_t t32_displacement(uint32_t first, uint32_t second) {
    uint32_t s = first >> 10 & 1, i1 = !((second >> 13 & 1) ^ s), i2 = !((second >> 11 & 1) ^ s);
    return (uint32_t)sign_extend(
        s << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1, 25);
}

static enum step t32_wide_branch(struct sim *sim, uint32_t first, uint32_t second, uint32_t pc) {
    if (second & 0x4000)
        return STEP_CALL;
    if (second & 0x1000) {
        sim->target = pc + 4 + t32_displacement(first, second);
        return STEP_BRANCH;
    }
    if ((first >> 6 & 15) < 14) {
        sim->target = pc + 4 +
                      (uint32_t)sign_extend((first >> 10 & 1) << 20 | (second >> 11 & 1) << 19 |
                                                (second >> 13 & 1) << 18 | (first & 0x3f) << 12 |
                                                (second & 0x7ff) << 1,
                                            21);
        return STEP_FORK;
    }
    if (first >= 0xf7f0 && (second & 0x2000)) /* udf.w */
        return STEP_DEAD;
    if ((first & 0xffe0) == 0xf3e0) /* mrs */
        forget(sim, BIT(second >> 8 & 15));
    return STEP_NEXT;
}

/* Data processing with an immediate. */
static void t32_immediate(struct sim *sim, uint32_t first, uint32_t second) {
    unsigned to = second >> 8 & 15, from = first & 15;
    uint32_t imm = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xff);
    switch (first >> 4 & 0x3f & ~1u) {
    case 0x10: /* add, cmn */
        if (to != SPOOR_PC)
            set_sum(sim, to, from, t32_constant(imm));
        break;
    case 0x1a: /* sub, cmp */
        if (to != SPOOR_PC)
            set_sum(sim, to, from, -(spoor_word)t32_constant(imm));
        break;
    case 0x20: /* addw, adr */
    case 0x2a: /* subw */
        if (from == SPOOR_PC)
            forget(sim, BIT(to));
        else
            set_sum(sim, to, from, (first & 0xa0) == 0xa0 ? -(spoor_word)imm : imm);
        break;
    case 0x04: /* mov, orr */
        forget(sim, BIT(to));
        if (from == 15)
            set_known(sim, to, t32_constant(imm));
        break;
    case 0x24: /* movw */
        set_known(sim, to, from << 12 | imm);
        break;
    case 0x2c: /* movt */
        if (is_known(sim, to))
            set_known(sim, to, (sim->now.r[to] & 0xffff) | (from << 12 | imm) << 16);
        break;
    default:
        if (to != SPOOR_PC)
            forget(sim, BIT(to));
    }
}

/* Data processing with a register: sums and moves without a shift are followed. */
static void t32_register(struct sim *sim, uint32_t first, uint32_t second) {
    unsigned to = second >> 8 & 15, from = first & 15, by = second & 15, op = first >> 5 & 15;
    if (to == SPOOR_PC)
        return; /* cmp and the like */
    int plain = !(second & 0x70f0);
    if (plain && op == 2 && from == 15)
        set_sum(sim, to, by, 0);
    else if (plain && (op == 8 || op == 13) && is_known(sim, by))
        set_sum(sim, to, from, op == 8 ? sim->now.r[by] : -sim->now.r[by]);
    else
        forget(sim, BIT(to));
}

/* May a store be that of a prologue? Others need no slot. */
static int is_saved(unsigned base, unsigned reg, int back) {
    return back || (base == SPOOR_SP && reg >= 4);
}

/* ldr and str of a word with an immediate offset; others are loads of what is not known. */
static enum step t32_single(struct sim *sim, uint32_t first, uint32_t second) {
    unsigned to = second >> 12, base = first & 15;
    int is_load = (first & 0x10) != 0, is_word = (first & 0x60) == 0x40 && !(first & 0x100);
    int before = 1, back = 0;
    spoor_word add = second & 0xfff;
    if (!(first & 0x80)) {
        if (!(second & 0x800) || base == 15) { /* by register; literal below pc */
            if (is_load && to != 15)
                forget(sim, BIT(to));
            return is_load && to == 15 && is_word ? STEP_DEAD : STEP_NEXT;
        }
        add = second & 0x200 ? second & 0xff : -(spoor_word)(second & 0xff);
        before = (second & 0x400) != 0;
        back = (second & 0x100) != 0;
    }
    uint32_t at = (uint32_t)(sim->now.r[base] + (before ? add : 0));
    int follow = is_word && base != 15 && is_known(sim, base) && is_stack(sim, at);
    enum step step = STEP_NEXT;
    if (!is_load && follow && is_saved(base, to, back) && store(sim, to, at))
        step = STEP_DEAD;
    if (back)
        set_sum(sim, base, base, add);
    if (is_load && follow)
        load(sim, to, at);
    else if (is_load && to != 15)
        forget(sim, BIT(to));
    if (is_load && to == 15 && is_word)
        return follow ? t32_jump(sim, SPOOR_PC) : STEP_DEAD;
    return step;
}

/* ldrd, strd; tbb, tbh, ldrex and strex are among them. */
static enum step t32_double(struct sim *sim, uint32_t first, uint32_t second) {
    unsigned one = second >> 12, two = second >> 8 & 15, base = first & 15;
    uint32_t before = first & 0x100, back = first & 0x20;
    spoor_word add = (second & 0xff) * 4;
    if (!before && !back) {
        forget(sim, first & 0x10 ? BIT(one) | BIT(two) : BIT(second & 15) | BIT(two));
        return (first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000 ? STEP_DEAD : STEP_NEXT;
    }
    add = first & 0x80 ? add : -add;
    uint32_t at = (uint32_t)(sim->now.r[base] + (before ? add : 0));
    int follow = base != 15 && is_known(sim, base) && is_stack(sim, at);
    if (back)
        set_sum(sim, base, base, add);
    if (!(first & 0x10))
        return follow && is_saved(base, one, back != 0) &&
                       (store(sim, one, at) || store(sim, two, at + 4))
                   ? STEP_DEAD
                   : STEP_NEXT;
    forget(sim, BIT(one) | BIT(two));
    if (follow) {
        load(sim, one, at);
        load(sim, two, at + 4);
    }
    return STEP_NEXT;
}

/* Loads and stores of floating-point registers (A32 and T32 have the same bits): only their base.
 */
static void vfp_transfer(struct sim *sim, uint32_t i) {
    unsigned base = i >> 16 & 15;
    if (!(i & 0x200000))
        return;
    if ((i >> 8 & 14) == 10)
        set_sum(sim, base, base, i & 0x800000 ? (i & 0xff) * 4 : -(spoor_word)(i & 0xff) * 4);
    else
        forget(sim, BIT(base));
}

/* Coprocessors: moves to core registers. */
static void coprocessor(struct sim *sim, uint32_t i) {
    if ((i >> 25 & 7) == 6 && (i & 0x1e00000) != 0x400000)
        vfp_transfer(sim, i);
    else if ((i & 0xfe00000) == 0xc400000) {
        if (i & 0x100000)
            forget(sim, BIT(i >> 12 & 15) | BIT(i >> 16 & 15));
    } else if ((i & 0xf100010) == 0xe100010 && (i >> 12 & 15) != 15)
        forget(sim, BIT(i >> 12 & 15));
}

static enum step t32_wide(struct sim *sim, uint32_t first, uint32_t second, uint32_t pc) {
    uint32_t class = first >> 9 & 15;
    if ((first & 0xec00) == 0xec00) {
        coprocessor(sim, first << 16 | second);
        return STEP_NEXT;
    }
    if (first >> 11 == 0x1e) {
        if (second & 0x8000)
            return t32_wide_branch(sim, first, second, pc);
        t32_immediate(sim, first, second);
        return STEP_NEXT;
    }
    if (class == 4 && !(first & 0x40)) {
        unsigned mode = (first >> 4 & 1) | (first >> 4 & 2);
        return transfer_many(sim, first & 15, second,
                             mode | (first & 0x80 ? MANY_UP : MANY_BEFORE));
    }
    if (class == 4)
        return t32_double(sim, first, second);
    if (class == 5)
        t32_register(sim, first, second);
    else if ((first & 0xff10) == 0xf900) /* vld1 and the like */
        forget(sim, BIT(first & 15));
    else if (class == 12)
        return t32_single(sim, first, second);
    else /* extensions, products */
        forget(sim, BIT(second >> 8 & 15) | ((first & 0x180) == 0x180 ? BIT(second >> 12) : 0));
    return STEP_NEXT;
}

static enum step t32_plain(struct sim *sim, uint32_t pc, uint32_t first, uint32_t second) {
    if (t32_is_wide(first))
        return t32_wide(sim, first, second, pc);
    switch (first >> 12) {
    case 0:
    case 1:
    case 2:
    case 3:
        t32_shift_add(sim, first);
        return STEP_NEXT;
    case 4:
        return t32_high(sim, first, pc);
    case 11:
        return t32_misc(sim, first, pc);
    case 12:
        return transfer_many(sim, first >> 8 & 7, first & 0xff,
                             (first & 0x800 ? MANY_LOAD : 0) | MANY_UP |
                                 (first >> (first >> 8 & 7) & 1 && first & 0x800 ? 0 : MANY_BACK));
    case 13:
    case 14:
        return t32_branch(sim, first, pc);
    default:
        return t32_load_store(sim, first);
    }
}
#endif

#endif
