/* Part of spoor_backtrace.c: the step from a frame to its caller, as all walkers end it. */
#ifndef SPOOR_STEP_H
#define SPOOR_STEP_H

#include "spoor_code.h"

static spoor_word stack_pointer(const struct spoor_walk *walk) {
    return walk->regs.r[SP_OF(walk->image)];
}

static int knows(const struct spoor_walk *walk, unsigned n) {
    return n >= PC_OF(walk->image) || ((walk->regs.known >> n) & 1);
}

/* The frame is left with FROM, whose pc and sp are the caller's. */
static int leave(struct spoor_walk *walk, const struct sim_registers *from, unsigned by,
                 enum spoor_trust trust) {
    const struct spoor_image *image = walk->image;
    spoor_word low = stack_pointer(walk), sp = from->r[SP_OF(image)];
    if (sp < low || (sp == low && !walk->exact) || sp > walk->stack.high || sp % WORD_OF(image))
        return -1;
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        walk->regs.r[n] = from->r[n];
    walk->regs.known = from->known & ~(BIT(LR_OF(image)) | (IS_A64(image) ? 0x3ffff : 0x100f));
    walk->stack.low = sp;
    walk->exact = 0;
    walk->by = (uint8_t)by;
    walk->trust = (uint8_t)trust;
    return 0;
}

static void sim_begin(struct sim *sim, const struct spoor_walk *walk) {
    sim->walk = walk;
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        sim->now.r[n] = walk->regs.r[n];
    sim->now.known = walk->regs.known & ~BIT(SPOOR_PC * !IS_A64(walk->image));
    sim->now.loaded = 0;
    sim->slots = sim->it = sim->is_virtual = sim->at_trap = 0;
    sim->slot_known = 0;
}

static void find_stack(struct spoor_walk *walk, spoor_word sp) {
    const struct spoor_image *image = walk->image;
    walk->stack = (struct spoor_stack){0, 0};
    for (unsigned i = 0; i < 2; i++)
        if (image->stacks[i].high && sp >= image->stacks[i].low && sp <= image->stacks[i].high)
            walk->stack = image->stacks[i];
    walk->stack.low = sp;
}

#endif
