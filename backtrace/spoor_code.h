/* Part of spoor_backtrace.c: one instruction of any kind, and what code says about addresses. */
#ifndef SPOOR_CODE_H
#define SPOOR_CODE_H

#include "spoor_a32.h"
#include "spoor_a64.h"
#include "spoor_sim.h"
#include "spoor_t32.h"

#if HAVE_A32
static int is_thumb(spoor_word pc) { return pc & 1; }

/* As an assignment, for which compilers call memcpy. */
static void sim_copy(struct sim *to, const struct sim *from) {
    spoor_word *words = (spoor_word *)(void *)to;
    const spoor_word *others = (const spoor_word *)(const void *)from;
    for (unsigned i = 0; i < sizeof *to / sizeof *words; i++) {
        __asm__("" ::: "memory");
        words[i] = others[i];
    }
    __asm__("" ::: "memory");
}

/*
 * An instruction that was followed although its condition may not hold: as if it did not, but what
 * it would have written is not known any more.
 */
static enum step sim_undo(struct sim *sim, const struct sim *before, enum step step) {
    if (step == STEP_RETURN) {
        unsigned reg = sim->reg;
        sim_copy(sim, before);
        sim->reg = reg;
        sim->size = 4;
        return STEP_MAYBE_RETURN;
    }
    for (unsigned n = 0; n < 16; n++)
        if (sim->r[n] != before->r[n])
            forget(sim, n);
    return step == STEP_BRANCH ? STEP_FORK : step == STEP_CALL ? STEP_CALL : STEP_NEXT;
}

static enum step a32_step(struct sim *sim, uint32_t pc, int take) {
    struct sim before;
    spoor_word i = peek(sim->walk, pc, 4);
    if (i == UNKNOWN)
        return STEP_DEAD;
    sim->size = 4;
    set(sim, SPOOR_PC, pc + 8);
    if (i >> 28 == 15)
        return a32_unconditional(sim, (uint32_t)i);
    sim_copy(&before, sim);
    enum step step = a32_plain(sim, pc, (uint32_t)i);
    return i >> 28 == 14 || take ? step : sim_undo(sim, &before, step);
}
#endif

/* Follows the instruction at PC (with the Thumb bit); TAKE: its condition holds. */
static enum step sim_step(struct sim *sim, spoor_word pc, int take) {
    (void)take;
#if HAVE_A64
    if (IS_A64(sim->walk->image)) {
        spoor_word i = peek(sim->walk, pc, 4);
        sim->size = 4;
        return i == UNKNOWN ? STEP_DEAD : a64_step(sim, pc, (uint32_t)i);
    }
#endif
#if HAVE_A32
    if (!is_thumb(pc))
        return a32_step(sim, (uint32_t)pc, take);
#endif
#if HAVE_ARM
    enum step step = t32_step(sim, (uint32_t)pc & ~1u);
#if HAVE_A64 /* words are wider: branches backwards add what is negative in 32 bits */
    sim->target = (uint32_t)sim->target;
#endif
    return step;
#else
    return STEP_DEAD;
#endif
}

/* Code addresses */

static spoor_word without_thumb(const struct spoor_image *image, spoor_word pc) {
    return IS_A64(image) ? pc : pc & ~(spoor_word)1;
}

/* The Thumb bit of code that goes on at PC. */
static spoor_word thumb_of(const struct spoor_image *image, spoor_word pc) {
    return IS_A64(image) ? 0 : HAVE_A32 ? pc & 1 : 1;
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
    return without_thumb(image, pc) - image->text_low < image->text_high - image->text_low;
}

/* What a call before a return address calls: the address (with the Thumb bit), or what a register
   holds, or what cannot be told; 0 if there is no call. No function is at so low an even address.
 */
enum { NO_CALL, CALLS_SOMETHING = 2, CALLS_REGISTER = 4, CALLS_FUNCTION = 0x90 };

#if HAVE_ARM
static spoor_word t32_call(const struct spoor_walk *walk, spoor_word back) {
    uint32_t at = (uint32_t)back & ~1u, i = peek_code(walk, at - 4);
    if ((i & 0xff80) == 0x4780) /* blx */
        return CALLS_REGISTER + (i >> 1 & 0x3c);
    if (i >> 27 != 0x1e || ~i & 0xc000)
        return NO_CALL;
    at += t32_displacement(i);
    return !HAVE_A32 || i & 0x1000 ? at | 1 : at & ~3u;
}
#endif
#if HAVE_A32
static spoor_word a32_call(const struct spoor_walk *walk, spoor_word back) {
    uint32_t at = (uint32_t)back;
    spoor_word i = peek(walk, at - 4, 4);
    if (at & 3 || i == UNKNOWN)
        return NO_CALL;
    if ((i & 0xffffff0) == 0x12fff30)
        return CALLS_REGISTER + 4 * (i & 15);
    if ((i & 0xe000000) != 0xa000000 || (i >> 28 != 15 && !(i & 0x1000000))) /* mov lr, pc */
        return peek(walk, at - 8, 4) == 0xe1a0e00f ? CALLS_SOMETHING : NO_CALL;
    at += 4 + 4 * sign_extend((uint32_t)i, 24);
    return i >> 28 == 15 ? at + 1 + (i >> 23 & 2) : at;
}
#endif
#if HAVE_A64
static spoor_word a64_call(const struct spoor_walk *walk, spoor_word back) {
    spoor_word i = peek(walk, back - 4, 4);
    if (back & 3 || i == UNKNOWN)
        return NO_CALL;
    if ((i & 0xfefff000) == 0xd63f0000)
        return CALLS_REGISTER + 4 * (i >> 5 & 31);
    return i >> 26 == 0x25 ? back - 4 + a64_signed((uint32_t)i, 26) * 4 : NO_CALL;
}
#endif

static spoor_word call_before(const struct spoor_walk *walk, spoor_word back) {
    const struct spoor_image *image = walk->image;
    if (!is_in_text(image, back - 2) || /* a call that never returns may end the text */
        (IS_M(image) && !(back & 1)))
        return NO_CALL;
#if HAVE_A64
    if (IS_A64(image))
        return a64_call(walk, back);
#endif
#if HAVE_A32
    if (!is_thumb(back))
        return a32_call(walk, back);
#endif
#if HAVE_ARM
    return t32_call(walk, back);
#else
    return NO_CALL;
#endif
}

/* The function that the call before BACK calls, as the code tells, or a register that may still
   have its address; 0: neither does. */
static int is_direct(spoor_word call) { return call & 1 || (IS_LARGE && call >= CALLS_FUNCTION); }

static spoor_word called(const struct spoor_walk *walk, spoor_word back) {
    spoor_word target = call_before(walk, back);
    if (target & 1 || target - CALLS_REGISTER >= CALLS_FUNCTION - CALLS_REGISTER)
        return target == CALLS_SOMETHING ? 0 : target;
    return walk->regs.r[(target - CALLS_REGISTER) / 4];
}

static int is_exc_return(const struct spoor_image *image, spoor_word pc) {
    return IS_M(image) && (uint32_t)pc >= 0xffffff80u;
}

/* FNC_RETURN: non-secure code returns by it to the secure code that called it. */
static int is_fnc_return(const struct spoor_image *image, spoor_word pc) {
    return HAVE_SECURE && IS_M(image) && ((uint32_t)pc | 1) == 0xfeffffffu;
}

/* What reset and C libraries leave where the outermost function would have a caller. */
static int is_outermost(const struct spoor_image *image, spoor_word pc) {
    return pc == 0 || (!IS_A64(image) && (uint32_t)pc == 0xffffffffu);
}

static int goes_back(const struct spoor_image *image, spoor_word pc) {
    return IS_LARGE && image->goes_back && image->goes_back(image->arg, pc);
}

static int may_be_caller(const struct spoor_walk *walk, spoor_word pc) {
    return call_before(walk, pc) != NO_CALL || is_exc_return(walk->image, pc) ||
           is_fnc_return(walk->image, pc) || is_outermost(walk->image, pc) ||
           goes_back(walk->image, pc);
}

#if HAVE_ARM
/* Looks at any halfword, so that constants in the code cannot hide it. */
static int t32_saves_lr(const struct spoor_walk *walk, spoor_word at) {
    uint32_t i = peek_code(walk, at);
    return i >> 24 == 0xb5 || (HAVE_T32 && i >> 16 == 0xe92d && i & 0x4000) || /* push, str; strd */
           (HAVE_A32 && (i & 0xff7ff000) == 0xf84de000) ||
           (HAVE_A32 && (i & 0xfe5f0f00) == 0xe84d0e00 && i & 0x1200000);
}
#endif

#if HAVE_A64
static int a64_saves_lr(uint32_t i) {
    if ((i >> 5 & 31) != 31)
        return 0;
    if ((i & 0xfe400000) == 0xa8000000)
        return (i & 31) == 30 || (i >> 10 & 31) == 30;
    return (i & 31) == 30 && ((i & 0xffc00000) == 0xf9000000 || (i & 0xffe00000) == 0xf8000000);
}
#endif

/* Does the instruction at AT save lr on the stack? */
static int saves_lr(const struct spoor_walk *walk, spoor_word at, int thumb) {
#if HAVE_A64
    if (IS_A64(walk->image))
        return a64_saves_lr((uint32_t)peek(walk, at, 4));
#endif
#if HAVE_A32
    spoor_word i = peek(walk, at, 4);
    if (!thumb)
        return (i & 0xfff4000) == 0x92d4000 || (i & 0xe5ff000) == 0x40de000;
#endif
    (void)thumb;
#if HAVE_ARM
    return t32_saves_lr(walk, at);
#else
    return 0;
#endif
}

/* How many instructions from START on, up to here, save lr; 2 as well if one of them calls a
   function that begins between the two (on M is_entered() finds that). */
static unsigned count_saves(const struct spoor_walk *walk, spoor_word start, spoor_word here) {
    int thumb = HAVE_ARM && !IS_A64(walk->image) && (!HAVE_A32 || here & 1);
    unsigned count = 0;
    here = without_thumb(walk->image, here);
    start = without_thumb(walk->image, start);
    for (spoor_word at = start; at < here; at += thumb ? 2 : 4) {
        count += saves_lr(walk, at, thumb) != 0;
        if (IS_LARGE && without_thumb(walk->image, called(walk, at + (unsigned)thumb)) - start - 1 <
                            here - start)
            return 2;
    }
    return count;
}

#endif
