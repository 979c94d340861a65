/* Part of spoor_backtrace.c: one instruction of any kind, and what code says about addresses. */
#ifndef SPOOR_CODE_H
#define SPOOR_CODE_H

#include "spoor_a32.h"
#include "spoor_a64.h"
#include "spoor_sim.h"
#include "spoor_t32.h"

#if HAVE_ARM
#if HAVE_A32
static int is_thumb(spoor_word pc) { return pc & 1; }
#endif

/*
 * An instruction that was followed although its condition may not hold: as if it did not, but what
 * it would have written is not known any more.
 */
static enum step sim_undo(struct sim *sim, const struct sim_registers *before, enum step step) {
    for (unsigned n = 0; n < 16; n++)
        if (step == STEP_RETURN)
            sim->now.r[n] = before->r[n];
        else if (sim->now.r[n] != before->r[n])
            forget(sim, BIT(n));
    if (step == STEP_RETURN) {
        sim->now.known = before->known;
        sim->now.loaded = before->loaded;
        return STEP_MAYBE_RETURN;
    }
    return step == STEP_BRANCH ? STEP_FORK : step == STEP_CALL ? STEP_CALL : STEP_NEXT;
}

static enum step t32_step(struct sim *sim, uint32_t pc, int take) {
    uint16_t first, second = 0;
    struct sim_registers before;
    if (read_u16(sim->walk, pc, &first) ||
        (t32_is_wide(first) && read_u16(sim->walk, pc + 2, &second)))
        return STEP_DEAD;
    sim->size = t32_is_wide(first) ? 4 : 2;
    if (!sim->it || take)
        return t32_plain(sim, pc, first, second);
    before = sim->now;
    sim->it--;
    return sim_undo(sim, &before, t32_plain(sim, pc, first, second));
}
#endif

#if HAVE_A32
static enum step a32_step(struct sim *sim, uint32_t pc, int take) {
    uint32_t i;
    struct sim_registers before = sim->now;
    if (read_u32(sim->walk, pc, &i))
        return STEP_DEAD;
    sim->size = 4;
    if (i >> 28 == 15)
        return a32_unconditional(sim, i);
    enum step step = a32_plain(sim, pc, i);
    return i >> 28 == 14 || take ? step : sim_undo(sim, &before, step);
}
#endif

/* Follows the instruction at PC (with the Thumb bit); TAKE: its condition holds. */
static enum step sim_step(struct sim *sim, spoor_word pc, int take) {
    (void)take;
#if HAVE_A64
    uint32_t i;
    if (IS_A64(sim->walk->image)) {
        sim->size = 4;
        return read_u32(sim->walk, pc, &i) ? STEP_DEAD : a64_step(sim, pc, i);
    }
#endif
#if HAVE_A32
    if (!is_thumb(pc))
        return a32_step(sim, (uint32_t)pc, take);
#endif
#if HAVE_ARM
    return t32_step(sim, (uint32_t)pc & ~1u, take);
#else
    return STEP_DEAD;
#endif
}

/* Code addresses */

static spoor_word without_thumb(const struct spoor_image *image, spoor_word pc) {
    return IS_A64(image) ? pc : pc & ~(spoor_word)1;
}

/* A return address of A64 without its authentication code: that is above all bits of the text. */
static spoor_word plain_address(const struct spoor_image *image, spoor_word value) {
    spoor_word bits = image->text_high;
    if (!IS_A64(image))
        return value;
    for (unsigned n = 1; n < 64; n *= 2)
        bits |= bits >> n;
    return bits >> (sizeof bits * 8 - 1) ? value | ~(BIT(sizeof bits * 6) - 1) : value & bits;
}

static int is_in_text(const struct spoor_image *image, spoor_word pc) {
    return is_in(without_thumb(image, pc), 2, image->text_low, image->text_high);
}

#if HAVE_ARM
static int t32_call(const struct spoor_walk *walk, spoor_word back, spoor_word *ret_target) {
    uint16_t first = 0, second = 0;
    uint32_t at = (uint32_t)back & ~1u;
    if (!read_u16(walk, at - 2, &second) && (second & 0xff80) == 0x4780) {
        *ret_target = second >> 3 & 15;
        return 1;
    }
    if (read_u16(walk, at - 4, &first) || first >> 11 != 0x1e || second >> 14 != 3)
        return -1;
    uint32_t to = at + t32_displacement(first, second);
    *ret_target = second & 0x1000 ? to | 1 : to & ~3u;
    return 0;
}
#endif
#if HAVE_A32
static int a32_call(const struct spoor_walk *walk, spoor_word back, spoor_word *ret_target) {
    uint32_t i, at = (uint32_t)back;
    if (at & 3 || read_u32(walk, at - 4, &i))
        return -1;
    *ret_target = i & 15;
    if ((i & 0xffffff0) == 0x12fff30)
        return 1;
    if ((i & 0xe000000) != 0xa000000 || (i >> 28 != 15 && !(i & 0x1000000)))
        return read_u32(walk, at - 8, &i) || i != 0xe1a0e00f ? -1 : 2; /* mov lr, pc */
    *ret_target = at + 4 + 4 * (uint32_t)sign_extend(i & 0xffffff, 24);
    if (i >> 28 == 15)
        *ret_target += 1 + (i >> 23 & 2);
    return 0;
}
#endif
#if HAVE_A64
static int a64_call(const struct spoor_walk *walk, spoor_word back, spoor_word *ret_target) {
    uint32_t i;
    if (back & 3 || read_u32(walk, back - 4, &i))
        return -1;
    *ret_target = i >> 5 & 31;
    if ((i & 0xfefff000) == 0xd63f0000)
        return 1;
    *ret_target = back - 4 + a64_signed(i, 26) * 4;
    return i >> 26 == 0x25 ? 0 : -1;
}
#endif

/*
 * What kind of call is it that returns to BACK? 0: of the address *ret_target (with the Thumb bit);
 * 1: of what register *ret_target holds; 2: an indirect one; less: there is none.
 */
static int call_before(const struct spoor_walk *walk, spoor_word back, spoor_word *ret_target) {
    const struct spoor_image *image = walk->image;
    *ret_target = 0;
    if (!is_in_text(image, back - 2) || /* a call that never returns may end the text */
        (IS_M(image) && !(back & 1)))
        return -1;
#if HAVE_A64
    if (IS_A64(image))
        return a64_call(walk, back, ret_target);
#endif
#if HAVE_A32
    if (!is_thumb(back))
        return a32_call(walk, back, ret_target);
#endif
#if HAVE_ARM
    return t32_call(walk, back, ret_target);
#else
    return -1;
#endif
}

static int is_exc_return(const struct spoor_image *image, spoor_word pc) {
    return IS_M(image) && (uint32_t)pc >= 0xffffff80u && (uint32_t)pc != 0xffffffffu;
}

/* FNC_RETURN: non-secure code returns by it to the secure code that called it. */
static int is_fnc_return(const struct spoor_image *image, spoor_word pc) {
    return IS_M(image) && ((uint32_t)pc | 1) == 0xfeffffffu;
}

/* What reset and C libraries leave where the outermost function would have a caller. */
static int is_outermost(const struct spoor_image *image, spoor_word pc) {
    return pc == 0 || (!IS_A64(image) && (uint32_t)pc == 0xffffffffu);
}

static int may_be_caller(const struct spoor_walk *walk, spoor_word pc) {
    spoor_word target;
    return call_before(walk, pc, &target) >= 0 || is_exc_return(walk->image, pc) ||
           is_fnc_return(walk->image, pc) || is_outermost(walk->image, pc);
}

/* Does the instruction at AT save lr on the stack? Of T32: looks at any halfword, so that constants
   in the code cannot hide it. */
static int saves_lr(const struct spoor_walk *walk, spoor_word at, int thumb) {
    uint32_t i = 0;
    uint16_t first = 0, second = 0;
    if (IS_A64(walk->image)) {
        if (read_u32(walk, at, &i) || (i >> 5 & 31) != 31)
            return 0;
        if ((i & 0xfe400000) == 0xa8000000)
            return (i & 31) == 30 || (i >> 10 & 31) == 30;
        return (i & 31) == 30 && ((i & 0xffc00000) == 0xf9000000 || (i & 0xffe00000) == 0xf8000000);
    }
    if (!thumb)
        return !read_u32(walk, at, &i) &&
               ((i & 0xfff4000) == 0x92d4000 || (i & 0xe5ff000) == 0x40de000);
    if (read_u16(walk, at, &first))
        return 0;
    read_u16(walk, at + 2, &second);
    return (first & 0xff00) == 0xb500 || (first == 0xe92d && (second & 0x4000)) ||
           (first == 0xf84d && (second & 0xff00) == 0xed00) ||
           (first == 0xf8cd && second >> 12 == 14) ||
           ((first & 0xfe5f) == 0xe84d && (first & 0x120) && (second >> 8 & 15) == 14);
}

/* How many instructions from START on, up to here, save lr; 2 if more. */
static unsigned count_saves(const struct spoor_walk *walk, spoor_word start, spoor_word here) {
    int thumb = !IS_A64(walk->image) && (here & 1);
    unsigned count = 0;
    here = without_thumb(walk->image, here);
    for (spoor_word at = without_thumb(walk->image, start); at < here && count < 2;
         at += thumb ? 2 : 4)
        count += (unsigned)saves_lr(walk, at, thumb);
    return count;
}

/* From a function's start to here at most, where nothing but a call or a table tells of the start.
 */
enum { FUNCTION_BYTES = 16384 };

/* May the function at START be the one that is here? */
static int may_start(const struct spoor_walk *walk, spoor_word start) {
    spoor_word here = walk->regs.r[PC_OF(walk->image)];
    if (!IS_A64(walk->image) && ((start ^ here) & 1))
        return 0;
    return start <= here && here - start < FUNCTION_BYTES && is_in_text(walk->image, start);
}

#endif
