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
 * overwritten by a call, or is saved once; or, an address
 * on the stack, whether it is that of the function that is here, which has its return address
 * there, and the frame is left if so. With UNSURE that address may be another one's.
 */
enum { ASK_LEAF = 0, ASK_UNUSED = 1, ASK_SAVED = 2, UNSURE = 1 };

/* Where register n of the function's entry was saved, below the stack pointer there; 0: nowhere. */
static spoor_word saved_below(const struct sim *sim, unsigned n) {
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
    if (step == STEP_RETURN && is_known(sim, sim->reg)) /* as veneers jump */
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

/*
 * Leaves the frame of the function whose prologue SIM has followed, if its return address is at AT:
 * by the stack pointer or by a frame pointer. If that is unsure all of these must agree.
 */
static int leave_by_prologue(struct sim *sim, spoor_word at) {
    const struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word lr = saved_below(sim, LR_OF(image)), back, top;
    unsigned hits = 0, unsure = at & UNSURE;
    at -= unsure;
    top = at + lr;
    for (unsigned i = HAVE_A32 ? 0 : 1; i < 3; i++) { /* M has no frame pointer but r7 */
        unsigned n = i == 2 ? SP_OF(image) : IS_A64(image) ? 29 : i ? 7 : 11;
        spoor_word below = VIRTUAL_SP - sim->r[n];
        if (walk->regs.r[n] == UNKNOWN || below >= VIRTUAL_DEPTH)
            continue;
        if (walk->regs.r[n] + below == top)
            hits++;
        else if (unsure)
            return -1;
    }
    if (!lr || !hits)
        return -1;
    sim_reset(sim);
    load_saved(sim, top);
    back = sim->r[LR_OF(image)];
    return leave(sim, plain_address(image, back), SPOOR_BY_PROLOGUE);
}

#if IS_LARGE
/* Leaves the frame of the function that starts at AT and was called from BACK, which is in lr: if
   the code from there to here is one straight line that has neither saved nor changed lr. */
static int leave_at_start(struct sim *sim, spoor_word at, spoor_word back) {
    const struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word here = here_of(walk), kept = 0, top;
    if (here - at >= FUNCTION_BYTES || (!IS_A64(image) && (at ^ here) & 1))
        return -1;
    sim_begin_virtual(sim);
    for (; at < here; at += sim->size)
        if (sim_step(sim, at, 0) != STEP_NEXT)
            return -1;
    top = VIRTUAL_SP - sim->r[SP_OF(image)];
    if (at != here || saved_below(sim, LR_OF(image)) ||
        sim->r[LR_OF(image)] != (VIRTUAL_TAG | LR_OF(image)) || top >= VIRTUAL_DEPTH)
        return -1;
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
        if (!leave_at_start(sim, at, back))
            return 0;
        at = tail_called(sim, at);
    }
    return -1;
}
#endif

/* Answers what is asked of START; 0: yes. */
static int try_start(struct sim *sim, spoor_word start, spoor_word ask) {
    const struct spoor_walk *walk = sim->walk;
    spoor_word here = here_of(walk);
    if (here - start >= FUNCTION_BYTES ||
        (HAVE_A32 && !IS_A64(walk->image) && (start ^ here) & 1) ||
        !is_in_text(walk->image, start) || count_saves(walk, start, here) != (ask > ASK_UNUSED))
        return -1;
    enum step step = sim_run(sim, start, here);
    if (ask <= ASK_SAVED)
        return ask == ASK_UNUSED && step == STEP_CALL;
    return step == STEP_DEAD || leave_by_prologue(sim, ask);
}

/* The same, of the function that is called by the call before BACK, or of one that it ends in. */
static int try_call(struct sim *sim, spoor_word back, spoor_word ask) {
    spoor_word start = called(sim->walk, back);
    for (unsigned tails = 0; start && tails < TAILS; tails++) {
        if (!try_start(sim, start, ask))
            return 0;
        start = tail_called(sim, start);
    }
    return -1;
}

/* The same, where symbols or the table tell of a start. */
static int try_told(struct sim *sim, spoor_word ask) {
    const struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word here = here_of(walk), start = 0;
    if (image->start)
        start = image->start(image->arg, without_thumb(image, here) - !walk->exact);
    if (!start)
        start = table_start(walk);
    return start ? try_start(sim, without_thumb(image, start) | thumb_of(image, here), ask) : -1;
}

/*
 * By the function's start: from the stacked return address of its call, or as it is told (on M that
 * is asked for each word, small as the stack is: it takes less code). Functions that save nothing
 * cannot be told from the end of the one before them: where that may be one it has been called by
 * the call before lr, and no other return address than that counts.
 */
static int step_by_prologue(struct sim *sim) {
    const struct spoor_walk *walk = sim->walk;
    spoor_word at = walk->stack.low, end = walk->stack.high;
    spoor_word lr = plain_address(walk->image, walk->regs.r[LR_OF(walk->image)]);
    spoor_word call = call_before(walk, lr);
    int only_lr = call != NO_CALL && (!is_direct(call) || !try_call(sim, lr, ASK_LEAF));
    if (IS_LARGE && end - at > SCAN_BYTES)
        end = at + SCAN_BYTES;
    for (; at < end; at += WORD_OF(walk->image)) {
        spoor_word back = plain_address(walk->image, peek_word(walk, at));
        if (only_lr && back != lr)
            continue;
        if (!try_call(sim, back, at) ||
            ((!IS_LARGE || may_be_caller(walk, back)) && !try_told(sim, at | UNSURE)))
            return 0;
    }
    return -1;
}

#endif
