/*
 * Part of spoor_backtrace.c: follows T32 (Thumb-1 included). Arm Architecture Reference Manual, A5
 * to A7.
 *
 * Where nothing is lost by it a register counts as written that an instruction only reads: what a
 * function uses of the registers that it keeps for its caller, it restores in the end.
 */
#ifndef SPOOR_T32_H
#define SPOOR_T32_H

#include "spoor_sim.h"

#if HAVE_ARM

static uint32_t sign_extend(uint32_t value, unsigned bits) {
    return (uint32_t)((int32_t)(value << (32 - bits)) >> (32 - bits));
}

static int t32_is_wide(uint32_t first) { return first >= 0xe800; }

/* What most instructions do: to = from + add. */
struct effect {
    unsigned to, from;
    spoor_word add;
};

/* Whether registers are added to the stack pointer. T32 adds as many constants as it takes; Thumb-1
   makes them of pieces. */
#define HAVE_CONSTANTS (IS_LARGE || !HAVE_T32)

/* 0x4400 to 0x47ff: what has high registers. */
static enum step t16_high(struct sim *sim, uint32_t i, struct effect *ret) {
    unsigned to = (i & 7) | (i >> 4 & 8), from = i >> 3 & 15, op = i >> 8 & 3;
    sim->reg = from;
    if (op == 3 && i & 0x80)
        return STEP_CALL; /* blx */
    if (op == 3 || to == SPOOR_PC)
        return op ? STEP_RETURN : STEP_DEAD; /* bx, mov; add is for switches */
    ret->to = op == 1 ? NONE : to;
    if (op)
        ret->from = from;
    if (HAVE_CONSTANTS && !op && is_known(sim, from)) {
        ret->add = sim->r[from];
        ret->from = to;
    }
    return STEP_NEXT;
}

/* 0xb000 to 0xbfff. */
static enum step t16_misc(struct sim *sim, uint32_t i, struct effect *ret) {
    unsigned op = i >> 8 & 15, is_load = op >> 3;
    spoor_word imm = (i & 0x7f) << 2;
    if ((op & 6) == 4) { /* push, pop */
        ret->to = NONE;
        return move_many(sim, SPOOR_SP, (i & 0xff) | (i & 0x100) << (6 + is_load), is_load);
    }
    if (HAVE_WIDE && (op & 5) == 1) { /* cbz, cbnz */
        sim->target += (i >> 2 & 0x3e) | (i >> 3 & 0x40);
        return STEP_FORK;
    }
    if (op == 0) { /* add, sub */
        ret->to = ret->from = SPOOR_SP;
        ret->add = i & 0x80 ? -imm : imm;
    } else if (op == 15) {
        ret->to = NONE;
        sim->target -= 2;
        sim->it = i & 0x1f;
        return HAVE_T32 && i & 15 ? STEP_FORK : STEP_NEXT;
    }
    return op == 14 ? STEP_DEAD : STEP_NEXT; /* bkpt; extensions */
}

static enum step t16_step(struct sim *sim, uint32_t i, struct effect *ret) {
    unsigned high = i >> 8 & 7, op = i >> 11;
    spoor_word imm = i & 0xff;
    ret->to = i & 7;
    switch (op) {
#if HAVE_CONSTANTS
    case 0: /* lsls, and movs as lsls #0 */
#endif
    case 3:
        ret->from = i >> 3 & 7;
        imm = i >> 6 & 7;
        ret->add = i & 0x200 ? -imm : imm;
        if (op == 0)
            ret->add = (sim->r[ret->from] << (i >> 6)) - sim->r[ret->from];
        else if (!(i & 0x400))
            ret->from = NONE;
        break;
    case 4: /* movs */
        *ret = (struct effect){high, ZERO, imm};
        break;
    case 5: /* cmp */
        ret->to = NONE;
        break;
    case 6:
    case 7:
        *ret = (struct effect){high, high, op & 1 ? -imm : imm};
        break;
    case 8:
        if (i & 0x400)
            return t16_high(sim, i, ret);
        break;
    case 9: /* ldr of a constant */
        *ret = (struct effect){high, ZERO, peek(sim->walk, sim->r[SPOOR_PC] + imm * 4, 4)};
        break;
    case 20: /* adr, add relative to sp */
    case 21:
        *ret = (struct effect){high, op & 1 ? SPOOR_SP : SPOOR_PC, imm * 4};
        break;
    case 22:
    case 23:
        return t16_misc(sim, i, ret);
    case 18: /* str, ldr relative to sp: spilled, not saved */
    case 19:
    case 24: /* stmia */
        ret->to = high;
        break;
    case 25:
        ret->to = NONE;
        return move_many(sim, high, i & 0xff, MOVE_LOAD);
    case 26: /* b with a condition; udf, svc */
    case 27:
        ret->to = NONE;
        sim->target += 2 * sign_extend(i, 8);
        return i >> 9 != 0x6f ? STEP_FORK : i & 0x100 ? STEP_NEXT : STEP_DEAD;
    case 28:
        sim->target += 2 * sign_extend(i, 11);
        return STEP_BRANCH;
    }
    return STEP_NEXT;
}

/* Displacement of b.w and bl (25 bits). */
static uint32_t t32_displacement(uint32_t i) {
    uint32_t s = sign_extend(i >> 26, 1);
    i ^= ~s & 0x2800;
    return s << 24 | (i & 0x2000) << 10 | (i & 0x800) << 11 | (i >> 4 & 0x3ff000) |
           (i & 0x7ff) << 1;
}

#if HAVE_FP
/* What vpush and vpop, of A32 and of T32, add to sp; other instructions of coprocessors: 0. What
   comes from floating-point registers is of no interest. */
static spoor_word coprocessor(uint32_t i) {
    spoor_word size = (i & 0xff) * 4;
    if ((i & 0x22f0000) != 0x2d0000)
        return 0;
    return i & 0x800000 ? size : -size;
}
#endif

#if HAVE_WIDE
static enum step t32_branch(struct sim *sim, uint32_t first, uint32_t second, struct effect *ret) {
    if (second & 0x4000)
        return STEP_CALL;
    if (second & 0x1000) {
        sim->target += t32_displacement(first << 16 | second);
        return STEP_BRANCH;
    }
    if ((first & 0x380) != 0x380) {
#if IS_LARGE
        sim->target += sign_extend(first >> 10, 1) << 20 | (second & 0x800) << 8 |
                       (second & 0x2000) << 5 | (first & 0x3f) << 12 | (second & 0x7ff) << 1;
#else /* inside of a function of less than 128 KB */
        sim->target += sign_extend(t32_displacement(first << 16 | second), 18);
#endif
        return STEP_FORK;
    }
    ret->to = second >> 8 & 15;                     /* mrs */
    return second & 0x2000 ? STEP_DEAD : STEP_NEXT; /* udf.w */
}

/* Data processing with an immediate. */
static void t32_immediate(struct sim *sim, uint32_t first, uint32_t second, struct effect *ret) {
    unsigned to = second >> 8 & 15, from = first & 15;
    uint32_t imm = (first << 1 & 0x800) | (second >> 4 & 0x700) | (second & 0xff);
    uint32_t op = first >> 4 & 0x3e, wide = from << 12 | imm;
    if (op == 0x24) { /* movw */
        from = ZERO;
        imm = wide;
    } else if (op == 0x2c) { /* movt */
        from = to;
        imm = (wide << 16) - ((uint32_t)sim->r[to] & 0xffff0000u);
    } else if (op < 0x10 || op >= 0x30 || op & 5) { /* neither add nor sub */
        from = NONE;
    } else {
        if (op < 0x20 && imm >= 0x100) { /* seven bits behind a one, rotated; bytes repeated */
            from = imm < 0x400 ? NONE : from;
            imm = (0x80 | (imm & 0x7f)) << (32 - (imm >> 7)) % 32;
        }
        imm = op & 8 ? -imm : imm;
    }
    *ret = (struct effect){to, from, imm};
}
#endif

#if HAVE_T32
#if HAVE_A32
/* ldrd, strd: for M compilers use neither to save registers. */
static void t32_double(struct sim *sim, uint32_t first, uint32_t second) {
    unsigned base = first & 15, one = second >> 12, two = second >> 8 & 15;
    unsigned how = first >> 4 & MOVE_LOAD;
    uint32_t back = first & 0x20;
    spoor_word add = (second & 0xff) * 4, at = sim->r[base];
    add = first & 0x80 ? add : -add;
    if (back)
        set_sum(sim, base, base, add);
    if (base == SPOOR_SP && (back || one >= 4))
        how |= MOVE_FOLLOW;
    at += first & 0x100 ? add : 0;
    move_word(sim, one, at, how);
    move_word(sim, two, at + 4, how);
}
#endif

/* ldr of a constant, ldr and str that move sp; others are loads of what is not known. */
static enum step t32_single(struct sim *sim, uint32_t first, uint32_t second) {
    unsigned base = first & 15, one = second >> 12,
             mode = second >> 8; /* 4: before, 2: up, 1: back */
    unsigned how = 0;
    spoor_word add = second & 0xff, at = sim->r[base];
    if (base == SPOOR_PC || (HAVE_A32 && first & 0x80)) {
        add = second & 0xfff;
        at += first & 0x80 ? add : -add;
        if (base == SPOOR_PC || (HAVE_A32 && base == SPOOR_SP && one >= 4))
            how = MOVE_FOLLOW;
    } else if (!(first & 0x80) && mode & 1) {
        add = mode & 2 ? add : -add;
        set_sum(sim, base, base, add);
        at += mode & 4 ? add : 0;
        if (base == SPOOR_SP)
            how = MOVE_FOLLOW;
    }
    if ((first & 0x160) != 0x40) /* no word */
        how = 0;
    move_word(sim, one, at, how | (first >> 4 & MOVE_LOAD));
    return one == SPOOR_PC && first & 0x40 ? STEP_RETURN : STEP_NEXT;
}

/* ldrd, strd, exclusives; tbb, tbh. */
static enum step t32_two(struct sim *sim, uint32_t first, uint32_t second, struct effect *ret) {
#if HAVE_A32
    if (first & 0x120) {
        t32_double(sim, first, second);
        return STEP_NEXT;
    }
#endif
    forget(sim, second >> 12);
    forget(sim, second >> 8 & 15);
    if (first & 0x20)
        ret->to = first & 15;
    return second >> 12 == SPOOR_PC ? STEP_DEAD : STEP_NEXT;
}

static enum step t32_many(struct sim *sim, uint32_t first, uint32_t second) {
    unsigned base = first & 15, is_load = first >> 4 & MOVE_LOAD;
    spoor_word old = sim->r[base];
    enum step step = is_load ? STEP_DEAD : STEP_NEXT;
    if ((first >> 7 & 1) == is_load) { /* push, ldmia; others save nothing */
        step = move_many(sim, base, second, is_load);
        if (!(first & 0x20))
            sim->r[base] = old;
    }
    return step;
}

static enum step t32_wide(struct sim *sim, uint32_t first, uint32_t second, struct effect *ret) {
    unsigned to = second >> 8 & 15, class = first >> 9 & 15;
    if (class == 4)
        return first & 0x40 ? t32_two(sim, first, second, ret) : t32_many(sim, first, second);
    if (class == 12)
        return t32_single(sim, first, second);
#if HAVE_FP
    if ((class & 6) == 6) {
        *ret = (struct effect){SPOOR_SP, SPOOR_SP, coprocessor(first << 16 | second)};
        return STEP_NEXT;
    }
#endif
#if HAVE_CONSTANTS /* add, sub */
    unsigned by = second & 15;
    if ((first & 0xff4f) == 0xeb0d && !(second & 0x70f0) && is_known(sim, by)) {
        ret->from = SPOOR_SP;
        ret->add = first & 0x80 ? -sim->r[by] : sim->r[by];
    }
#endif
    ret->to = to;
    if (class != 5) /* products */
        forget(sim, second >> 12);
    return STEP_NEXT;
}
#elif HAVE_WIDE
/* Divisions, exclusives. */
static enum step t32_wide(struct sim *sim, uint32_t first, uint32_t second, struct effect *ret) {
    (void)first;
    ret->to = second >> 8 & 15;
    forget(sim, second >> 12);
    forget(sim, second & 15);
    return STEP_NEXT;
}
#endif

static enum step t32_decode(struct sim *sim, uint32_t i, struct effect *ret) {
    uint32_t first = i >> 16, second = (uint16_t)i;
    if (!t32_is_wide(first))
        return t16_step(sim, first, ret);
#if HAVE_WIDE
    if (first >> 11 != 0x1e)
        return t32_wide(sim, first, second, ret);
    if (second & 0x8000)
        return t32_branch(sim, first, second, ret);
    t32_immediate(sim, first, second, ret);
    return STEP_NEXT;
#else /* of Armv6-M: bl, barriers, and mrs */
    ret->to = second >> 8 & 15;
    return second & 0x4000 ? STEP_CALL : second & 0x2000 ? STEP_DEAD : STEP_NEXT;
#endif
}

static enum step t32_step(struct sim *sim, uint32_t pc) {
    uint32_t i = peek_code(sim->walk, pc);
    struct effect effect = {NONE, NONE, 0};
    enum step step;
    unsigned it = sim->it;
    sim->it = it << 1 & 0x1f;
    sim->size = t32_is_wide(i >> 16) ? 4 : 2;
    pc += 4;
    sim->target = pc;
    sim->reg = SPOOR_PC;
    sim->r[SPOOR_PC] = pc & ~3u;
    if (HAVE_T32 && it & 15 && it >> 4 != sim->then)
        return STEP_NEXT;
    step = t32_decode(sim, i, &effect);
    if (step == STEP_NEXT)
        set_sum(sim, effect.to, effect.from, effect.add);
    return step;
}
#endif

#endif
