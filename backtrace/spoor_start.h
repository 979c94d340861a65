/* Part of spoor_backtrace.c: from the start of the function that is here. */
#ifndef SPOOR_START_H
#define SPOOR_START_H

#include "spoor_exidx.h"
#include "spoor_step.h"

enum {
    FUNCTION_BYTES = 16384, /* from a function's start to here at most */
    TAILS = 8,              /* functions that jump to each other, one after the other */
    TAIL_BYTES = 120,       /* of a function that ends in a jump to another */
    SCAN_BYTES = 16384      /* of the stack, for a return address */
};

/*
 * What is asked of a start: whether between it and here lr is not saved, or neither saved nor
 * overwritten by a call, or is saved once. Or it is an address on the stack: whether the function
 * that is here has its return address there. If so the frame is left. With UNSURE that address may
 * be another one's.
 */
enum { ASK_LEAF = 0, ASK_UNUSED = 1, ASK_SAVED = 2, UNSURE = HAVE_TOLD };

/* Where register n of the function's entry was saved, below the stack pointer there; 0: nowhere. */
APART static spoor_word saved_below(const struct sim *sim, unsigned n) {
    for (unsigned i = 0; i < sim->slots; i++)
        if (sim->slot[i].value == (VIRTUAL_TAG | n))
            return VIRTUAL_SP - sim->slot[i].at;
    return 0;
}

/*
 * Follows the code from START to END, or to where it calls, or cannot be followed; or to where it
 * returns or jumps: of a prologue (END is here) only if that has been saved what is to be.
 */
static enum step sim_run(struct sim *sim, spoor_word start, spoor_word end) {
    const struct spoor_image *image = sim->walk->image;
    int is_prologue = end == here_of(sim->walk);
    enum step step = STEP_NEXT;
    sim_begin_virtual(sim);
    for (; start < end; start += sim->size) {
        step = sim_step(sim, start, 0);
        if (step == STEP_CALL || step == STEP_DEAD)
            break;
        if (step != STEP_NEXT &&
            (is_prologue ? saved_below(sim, LR_OF(image)) != 0 : step != STEP_FORK))
            break;
    }
    return step;
}

/* Where the code from START on jumps to before it does anything else but compute; 0: nowhere. */
static spoor_word tail_called(struct sim *sim, spoor_word start) {
    enum step step = sim_run(sim, start, start + TAIL_BYTES);
    if (step == STEP_RETURN) /* as veneers jump; from what is not known nothing can be read */
        return sim->r[sim->reg];
    if (step == STEP_BRANCH)
        return sim->target | thumb_of(sim->walk->image, start);
    return 0;
}

/* What SIM's prologue has saved; the stack pointer was TOP before it. */
static void load_saved(struct sim *sim, spoor_word top) {
    for (unsigned i = sim->slots; i--;) {
        spoor_word n = sim->slot[i].value - VIRTUAL_TAG;
        if (n < SPOOR_REGS)
            sim->r[n] = peek_word(sim->walk, top + (sim->slot[i].at - VIRTUAL_SP));
    }
    set(sim, SP_OF(sim->walk->image), top);
}

#if HAVE_M
#define HAVE_TABLES_OF_CODE (IS_LARGE || !HAVE_T32) /* Thumb-1's switches */

/* Is the word at AT one of several that lead to near START, and near there itself? */
static int is_of_switch(const struct spoor_walk *walk, uint32_t at, uint32_t start) {
    return HAVE_TABLES_OF_CODE && at - start < FUNCTION_BYTES &&
           ((uint32_t)peek(walk, at - 4, 4) - start < FUNCTION_BYTES ||
            (uint32_t)peek(walk, at + 4, 4) - start < FUNCTION_BYTES);
}

/* Where T32 at AT calls or jumps to, or the pointer that it loads (the lower half: the address from
   START on that has it), or that is there. Of what is no instruction: anything. */
APART static uint32_t t32_names(const struct spoor_walk *walk, uint32_t at, uint32_t start) {
    uint32_t i = peek_code(walk, at);
    if (i >> 27 != 0x1e)
        return at & 3 || is_of_switch(walk, at, start) ? 0 : i >> 16 | i << 16;
    if (!(~i & 0x9000)) /* bl, b.w: inside of functions there is b, or switches made of them */
        return HAVE_TABLES_OF_CODE && at - start < FUNCTION_BYTES && !(i & 0x4000)
                   ? 0
                   : at + 4 + t32_displacement(i) + 1;
    if (HAVE_WIDE && (i >> 20 & 0x3f) == 0x24) /* movw */
        return start + (uint16_t)(((i & 0xff) | (i >> 4 & 0xf700) | (i >> 15 & 0x800)) - start);
    return 0;
}
#endif

/*
 * Does anything from START on lead to between that and here, as only the start of another function
 * is led to? A function that never returns and saves nothing looks like the end of the one before
 * it. (Elsewhere than on M count_saves() asks for that.) That is asked last, as all of the text
 * behind START is looked at; what the image says to be text before that need not be there.
 */
static int is_entered(const struct spoor_walk *walk, spoor_word start, spoor_word here) {
#if HAVE_M
    for (spoor_word at = start - 1; IS_M(walk->image) && at < walk->image->text_high; at += 2) {
        uint32_t value = t32_names(walk, (uint32_t)at, (uint32_t)start);
        if (value & 1 && value - (uint32_t)start - 1 < (uint32_t)(here - start - 1))
            return 1;
    }
#endif
    (void)walk, (void)start, (void)here;
    return 0;
}

enum { MISS = 16 * HAVE_TOLD }; /* of interest if starts are told, where all must agree */

/* Whether by register n and the prologue that SIM has followed the frame ends at TOP: 1, or MISS;
   0: it does not tell. */
APART static unsigned frames_at(const struct sim *sim, unsigned n, spoor_word top) {
    spoor_word at = sim->walk->regs.r[n], below = VIRTUAL_SP - sim->r[n];
    if ((HAVE_TOLD && at == UNKNOWN) || below >= VIRTUAL_DEPTH)
        return 0;
    return at + below == top ? 1 : MISS;
}

/* Where the function starts that is here, as symbols or the table tell; 0: they do not. */
static spoor_word told_start(const struct spoor_walk *walk) {
#if HAVE_TOLD
    const struct spoor_image *image = walk->image;
    spoor_word here = here_of(walk), start = 0;
    if (image->start)
        start = image->start(image->arg, without_thumb(image, here) - !walk->exact);
    if (!start)
        start = table_start(walk);
    return start ? without_thumb(image, start) | thumb_of(image, here) : 0;
#else
    (void)walk;
    return 0;
#endif
}

/*
 * Leaves the frame of the function whose prologue SIM has followed, if its return address is at AT:
 * by the stack pointer or by a frame pointer. If that is unsure all of these must agree. The code
 * here may still be another function: one that never returns, saves nothing, and is reached only in
 * ways that is_entered() does not look at. Only a told start proves that it is not.
 */
static int leave_by_prologue(struct sim *sim, spoor_word start, spoor_word at) {
    const struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word lr = saved_below(sim, LR_OF(image)), top = (at & ~(spoor_word)UNSURE) + lr;
    unsigned hits = frames_at(sim, SP_OF(image), top);
    if (HAVE_A32 && !IS_A64(image))
        hits += frames_at(sim, 11, top);
    hits += frames_at(sim, IS_A64(image) ? 29 : 7, top);
    spoor_word told = told_start(walk);
    if (!lr || !(hits & 15) || (at & UNSURE && hits > MISS) || told > start ||
        is_entered(walk, start, here_of(walk)))
        return 0;
    sim_reset(sim);
    load_saved(sim, top);
    return leave(sim, plain_address(image, sim->r[LR_OF(image)]),
                 told == start ? SPOOR_BY_PROLOGUE : SPOOR_BY_PROLOGUE | UNPROVEN);
}

#if IS_LARGE
/* Leaves the frame of the function that starts at AT and was called from BACK, which is in lr: if
   the code from there to here is one straight line that has neither saved nor changed lr. */
static int leave_at_start(struct sim *sim, spoor_word at, spoor_word back) {
    const struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word here = here_of(walk), kept = 0, top;
    if (here - at >= FUNCTION_BYTES || (!IS_A64(image) && (at ^ here) & 1))
        return 0;
    sim_begin_virtual(sim);
    for (; at < here; at += sim->size)
        if (sim_step(sim, at, 0) != STEP_NEXT)
            return 0;
    top = VIRTUAL_SP - sim->r[SP_OF(image)];
    if (at != here || saved_below(sim, LR_OF(image)) ||
        sim->r[LR_OF(image)] != (VIRTUAL_TAG | LR_OF(image)) || top >= VIRTUAL_DEPTH)
        return 0;
    top += stack_pointer(walk);
    for (unsigned n = 0; n < SPOOR_REGS; n++, forget(sim, n - 1))
        kept |= (spoor_word)(sim->r[n] == (VIRTUAL_TAG | n)) << n;
    load_saved(sim, top);
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        if (kept >> n & 1)
            sim->r[n] = walk->regs.r[n];
    return leave(sim, back, SPOOR_BY_PROLOGUE);
}

/*
 * By the start of the function that the call before lr calls, or of one that this ends in. Where
 * the code leads to no return functions cannot be left otherwise before lr is saved; nor need they
 * save what they change.
 */
static int step_at_start(struct sim *sim) {
    const struct spoor_walk *walk = sim->walk;
    spoor_word back = plain_address(walk->image, walk->regs.r[LR_OF(walk->image)]);
    spoor_word at = walk->exact ? call_before(walk, back) : NO_CALL;
    for (unsigned tails = 0; is_direct(at) && tails < TAILS; tails++) {
        if (leave_at_start(sim, at, back))
            return 1;
        at = tail_called(sim, at);
    }
    return 0;
}
#endif

/* Answers what is asked of START. */
static int try_start(struct sim *sim, spoor_word start, spoor_word ask) {
    const struct spoor_walk *walk = sim->walk;
    spoor_word here = here_of(walk);
    if (here - start >= FUNCTION_BYTES ||
        (HAVE_A32 && !IS_A64(walk->image) && (start ^ here) & 1) ||
        !is_in_text(walk->image, start) || count_saves(walk, start, here) != (ask > ASK_UNUSED))
        return 0;
    enum step step = sim_run(sim, start, here);
    if (ask <= ASK_SAVED) /* a call overwrites it: of interest if it is to be unused */
        return ask != ASK_UNUSED || step != STEP_CALL;
    return step != STEP_DEAD && leave_by_prologue(sim, start, ask);
}

/* The same, of the function that is called by the call before BACK, or of one that it ends in. */
static int try_call(struct sim *sim, spoor_word back, spoor_word ask) {
    spoor_word start = called(sim->walk, back);
    for (unsigned tails = TAILS; start && tails--; start = tail_called(sim, start))
        if (try_start(sim, start, ask))
            return 1;
    return 0;
}

/* The same, where symbols or the table tell of a start. */
static int try_told(struct sim *sim, spoor_word ask) {
    spoor_word start = told_start(sim->walk);
    return start && try_start(sim, start, ask);
}

/*
 * By the function's start: from the stacked return address of its call, or as it is told. (On M the
 * start is asked for each word: the stack is small, and this takes less code.) Functions that save
 * nothing cannot be told from the end of the one before them: where that may be one it has been
 * called by the call before lr, and no other return address than that counts.
 */
static int step_by_prologue(struct sim *sim) {
    const struct spoor_walk *walk = sim->walk;
    spoor_word at = walk->stack.low, end = walk->stack.high;
    spoor_word lr = plain_address(walk->image, walk->regs.r[LR_OF(walk->image)]);
    spoor_word call = call_before(walk, lr);
    int only_lr = call != NO_CALL && (!is_direct(call) || try_call(sim, lr, ASK_LEAF));
    if (IS_LARGE && end - at > SCAN_BYTES)
        end = at + SCAN_BYTES;
    for (; at < end; at += WORD_OF(walk->image)) {
        spoor_word back = plain_address(walk->image, peek_word(walk, at));
        if (only_lr && back != lr)
            continue;
        if (try_call(sim, back, at) ||
            ((!IS_LARGE || may_be_caller(walk, back)) && try_told(sim, at | UNSURE)))
            return 1;
    }
    return 0;
}

#endif
