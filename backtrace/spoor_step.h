/* Part of spoor_backtrace.c: the step from a frame to its caller, as all walkers end it. */
#ifndef SPOOR_STEP_H
#define SPOOR_STEP_H

#include "spoor_code.h"

/* Of struct spoor_walk's BY, above what frames have of it: what says so may be mistaken
   (SPOOR_CHECKED). */
enum { UNPROVEN = 256 };

static spoor_word stack_pointer(const struct spoor_walk *walk) {
    return walk->regs.r[SP_OF(walk->image)];
}

static spoor_word here_of(const struct spoor_walk *walk) {
    return walk->regs.r[PC_OF(walk->image)];
}

APART static void copy_registers(spoor_word *to, const spoor_word *from) {
    for (unsigned n = 0; n < SPOOR_REGS; n++) {
        to[n] = from[n];
        __asm__("" ::: "memory"); /* neither a call of memcpy nor vectors */
    }
}

/* The registers are those of the frame, as at its pc. */
static void sim_reset(struct sim *sim) {
    copy_registers(sim->r, sim->walk->regs.r);
#if IS_LARGE
    sim->is_virtual = 0;
#endif
}

static void sim_begin(struct sim *sim) {
    sim->slots = sim->it = 0;
    sim->then = 2;
    sim->r[NONE] = UNKNOWN;
    sim->r[ZERO] = 0;
    sim_reset(sim);
}

static void sim_begin_virtual(struct sim *sim) {
    sim_begin(sim);
    for (unsigned n = 0; n < SPOOR_REGS; n++) {
        sim->r[n] = VIRTUAL_TAG | n;
        __asm__("" ::: "memory"); /* no vectors */
    }
    sim->r[SP_OF(sim->walk->image)] = VIRTUAL_SP;
#if IS_LARGE
    sim->is_virtual = 1;
#endif
}

/* The frame is left, if it can be: SIM has the caller's registers, which returns to BACK. Whether
   it has been, as all walkers answer. */
static int leave(struct sim *sim, spoor_word back, unsigned by) {
    struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word low = stack_pointer(walk), sp = sim->r[SP_OF(image)];
    if (sp < low + !walk->exact || sp > walk->stack.high || sp % WORD_OF(image) ||
        !may_be_caller(walk, back))
        return 0;
    forget_call(sim);
    sim->r[PC_OF(image)] = back;
    copy_registers(walk->regs.r, sim->r);
    walk->stack.low = sp;
    walk->exact = 0;
    walk->by = by;
    walk->unsure = by - SPOOR_BY_RETURN;
    return 1;
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
