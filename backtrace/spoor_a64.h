/* Part of spoor_backtrace.c: follows A64. Arm Architecture Reference Manual for A profile, C4. */
#ifndef SPOOR_A64_H
#define SPOOR_A64_H

#include "spoor_sim.h"

#if HAVE_A64

static spoor_word a64_signed(uint32_t value, unsigned bits) {
    spoor_word sign = BIT(bits - 1);
    return ((value & (BIT(bits) - 1)) ^ sign) - sign;
}

/* 31 is no register where it means zero. */
static void a64_forget(struct sim *sim, unsigned n) {
    if (n != 31)
        forget(sim, n);
}

/* One load or store: its base, what is added to it, and whether that is kept. */
struct a64_access {
    unsigned base, one, two;
    spoor_word add;
    int is_load, before, back, is_x;
};

/* ldp, stp and ldr, str of 64-bit registers: ONE, and TWO behind it (31: none). */
static enum step a64_access(struct sim *sim, const struct a64_access *access) {
    spoor_word at = sim->r[access->base] + (access->before ? access->add : 0);
    unsigned one = access->one, two = access->two;
    if (access->back)
        set_sum(sim, access->base, access->base, access->add);
    if (!access->is_x)
        return STEP_NEXT;
    if (!access->is_load && !access->back && one < 19 && two < 19)
        return STEP_NEXT;
    if (one != 31)
        move_word(sim, one, at, MOVE_FOLLOW | (unsigned)access->is_load);
    if (two != 31)
        move_word(sim, two, at + 8, MOVE_FOLLOW | (unsigned)access->is_load);
    return STEP_NEXT;
}

static enum step a64_load_store(struct sim *sim, uint32_t i) {
    unsigned size = i >> 30, is_vector = i >> 26 & 1;
    struct a64_access access = {.base = i >> 5 & 31, .one = i & 31, .two = 31};
    access.is_load = (i & 0x400000) != 0;
    if ((i & 0x3a000000) == 0x28000000) { /* pairs */
        unsigned scale = is_vector ? 2 + size : 2 + (size >> 1), mode = i >> 23 & 3;
        access.two = i >> 10 & 31;
        access.add = a64_signed(i >> 15 & 127, 7) << scale;
        access.before = mode != 1;
        access.back = mode == 1 || mode == 3;
        access.is_x = size == 2 && !is_vector;
        if (!access.is_x && access.is_load && !is_vector)
            forget(sim, access.one), forget(sim, access.two);
        return a64_access(sim, &access);
    }
    if ((i & 0x3b000000) == 0x18000000) { /* literal */
        if (!is_vector)
            a64_forget(sim, access.one);
        return STEP_NEXT;
    }
    if ((i & 0x38000000) != 0x38000000) { /* exclusive; vector structures */
        a64_forget(sim, is_vector ? access.base : access.one);
        a64_forget(sim, is_vector ? 31 : i >> 16 & 31);
        return STEP_NEXT;
    }
    access.is_load = (i & 0xc00000) != 0;
    access.is_x = size == 3 && !is_vector && !(i & 0x800000);
    if (i & 0x1000000) {
        access.add = (spoor_word)(i >> 10 & 0xfff) << (is_vector ? size | (i >> 21 & 4) : size);
        access.before = 1;
    } else if (!(i & 0x200000)) {
        access.add = a64_signed(i >> 12 & 511, 9);
        access.before = (i & 0xc00) != 0x400;
        access.back = (i & 0x400) != 0;
    } else { /* by register; atomics; pointer authentication */
        access.is_x = 0;
    }
    if (!access.is_x && !is_vector && (access.is_load || (i & 0x200000)))
        a64_forget(sim, access.one);
    return a64_access(sim, &access);
}

/* Sums and constants are followed. */
static void a64_immediate(struct sim *sim, uint32_t i) {
    unsigned to = i & 31, from = i >> 5 & 31, at = i >> 17 & 0x30;
    spoor_word imm = i >> 10 & 0xfff, wide = (spoor_word)(i >> 5 & 0xffff) << at;
    switch (i >> 23 & 0x1ff) {
    case 0x122: /* add, sub of 64 bits */
    case 0x1a2:
        imm <<= i & 0x400000 ? 12 : 0;
        set_sum(sim, to, from, i >> 30 & 1 ? -imm : imm);
        break;
    case 0x1a5: /* movz */
    case 0xa5:
        set(sim, to, wide);
        break;
    case 0x125: /* movn */
        set(sim, to, ~wide);
        break;
    case 0x1e5: /* movk */
        if (is_known(sim, to))
            set(sim, to, (sim->r[to] & ~((spoor_word)0xffff << at)) | wide);
        break;
    default: /* logical ones may write sp */
        if (to != 31 || ((i >> 23 & 0x3f) == 0x24 && (i >> 29 & 3) != 3))
            forget(sim, to);
    }
}

/* sub sp, sp, x9: extended register, as big frames need; mov as orr with zero. */
static void a64_register(struct sim *sim, uint32_t i) {
    unsigned to = i & 31, from = i >> 5 & 31, by = i >> 16 & 31;
    uint32_t op = i & 0xffe0fc00;
    if (i >> 16 == 0xdac1) /* pacia and the like: the address stays the same */
        return;
    if ((op == 0x8b206000 || op == 0xcb206000) && is_known(sim, by))
        set_sum(sim, to, from, i >> 30 & 1 ? -sim->r[by] : sim->r[by]);
    else if ((i & 0xffe0ffe0) == 0xaa0003e0 && by != 31 && to != 31)
        set_sum(sim, to, by, 0);
    else if ((i & 0x1f200000) == 0x0b200000 && to == 31)
        sim->r[31] = i >> 29 & 1 ? sim->r[31] : UNKNOWN;
    else
        a64_forget(sim, to);
}

static enum step a64_branch(struct sim *sim, uint32_t i, spoor_word pc) {
    if ((i & 0x7c000000) == 0x14000000) {
        sim->target = pc + a64_signed(i, 26) * 4;
        return i >> 31 ? STEP_CALL : STEP_BRANCH;
    }
    if ((i & 0x7e000000) == 0x34000000 || (i & 0xfe000000) == 0x54000000) {
        sim->target = pc + a64_signed(i >> 5 & 0x7ffff, 19) * 4;
        return STEP_FORK;
    }
    if ((i & 0x7e000000) == 0x36000000) {
        sim->target = pc + a64_signed(i >> 5 & 0x3fff, 14) * 4;
        return STEP_FORK;
    }
    if ((i & 0xfe000000) == 0xd6000000) {
        unsigned kind = i >> 21 & 7;
        sim->reg = kind == 2 && (i & 0x800) ? 30 : i >> 5 & 31; /* retaa */
        return kind == 1 ? STEP_CALL : kind == 0 || kind == 2 ? STEP_RETURN : STEP_DEAD;
    }
    if ((i & 0xff000000) == 0xd4000000) /* svc, brk, hlt */
        return (i & 0xe0001f) == 1 ? STEP_NEXT : STEP_DEAD;
    if ((i & 0xfff00000) == 0xd5300000) /* mrs */
        a64_forget(sim, i & 31);
    return STEP_NEXT;
}

static enum step a64_step(struct sim *sim, spoor_word pc, uint32_t i) {
    switch (i >> 25 & 15) {
    case 0:
        return i >> 16 ? STEP_NEXT : STEP_DEAD; /* udf; SVE */
    case 8:
    case 9:
        a64_immediate(sim, i);
        return STEP_NEXT;
    case 10:
    case 11:
        return a64_branch(sim, i, pc);
    case 5:
    case 13:
        a64_register(sim, i);
        return STEP_NEXT;
    case 4:
    case 6:
    case 12:
    case 14:
        return a64_load_store(sim, i);
    default:
        if ((i & 0x5f20fc00) == 0x1e200000) /* moves from vector registers */
            a64_forget(sim, i & 31);
        return STEP_NEXT;
    }
}
#endif

#endif
