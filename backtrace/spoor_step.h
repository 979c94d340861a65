/* Part of spoor_backtrace.c: the step from a frame to its caller, as all walkers end it. */
#ifndef SPOOR_STEP_H
#define SPOOR_STEP_H

#include "spoor_code.h"

static spoor_word stack_pointer(const struct spoor_walk *walk) {
    return walk->regs.r[SP_OF(walk->image)];
}

static spoor_word here_of(const struct spoor_walk *walk) {
    return walk->regs.r[PC_OF(walk->image)];
}

/* The registers are those of the frame, as at its pc. */
static void sim_reset(struct sim *sim) {
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        sim->r[n] = sim->walk->regs.r[n];
#if IS_LARGE
    sim->is_virtual = 0;
#endif
}

static void sim_begin(struct sim *sim) {
    sim->slots = sim->it = sim->at_trap = 0;
    sim->then = 2;
    sim->r[NONE] = UNKNOWN;
    sim->r[ZERO] = 0;
    sim_reset(sim);
}

static void sim_begin_virtual(struct sim *sim) {
    sim_begin(sim);
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        sim->r[n] = VIRTUAL_TAG | n;
    sim->r[SP_OF(sim->walk->image)] = VIRTUAL_SP;
#if IS_LARGE
    sim->is_virtual = 1;
#endif
}

/* The frame is left: SIM has the caller's registers, which returns to BACK. */
static int leave(struct sim *sim, spoor_word back, unsigned by) {
    struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word low = stack_pointer(walk), sp = sim->r[SP_OF(image)];
    if (sp < low + !walk->exact || sp > walk->stack.high || sp % WORD_OF(image) ||
        !may_be_caller(walk, back))
        return -1;
    forget_call(sim);
    sim->r[PC_OF(image)] = back;
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        walk->regs.r[n] = sim->r[n];
    walk->stack.low = sp;
    walk->exact = 0;
    walk->by = by;
    return 0;
}

static void find_stack(struct spoor_walk *walk, spoor_word sp) {
    const struct spoor_stack *stack = walk->image->stacks;
    walk->stack.high = 0;
    for (unsigned i = 0; i < 2; i++)
        if (sp >= stack[i].low && sp <= stack[i].high)
            walk->stack.high = stack[i].high;
    walk->stack.low = sp;
}

#endif
