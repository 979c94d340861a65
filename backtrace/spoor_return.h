/* Part of spoor_backtrace.c: follows the code from here to a return. */
#ifndef SPOOR_RETURN_H
#define SPOOR_RETURN_H

#include "spoor_start.h"
#include "spoor_step.h"

enum {
    PATH_STEPS = 1536, /* instructions to a return */
    ALL_STEPS = 12000, /* on all paths that are tried */
    FORKS = 32         /* conditional branches on a path between which is chosen anew */
};

/*
 * A path is told by the ways that it takes at the conditional branches that it meets: bit n of TAKE
 * at the nth, and again from the first on behind the last. Each branch goes the way that the
 * Thue-Morse sequence has at its place, until paths that begin as this one have been tried; in
 * that sequence nothing is repeated three times, so that no loop is gone round much more often.
 */
#define FIRST_WAYS 0x96696996u

struct path {
    uint32_t take, last; /* last, bit n: the other way has been tried */
    unsigned met, budget;
};

/* Prepares another path, if not all have been tried. */
static int path_next(struct path *path) {
    unsigned forks = path->met < FORKS ? path->met : FORKS;
    while (forks--) {
        uint32_t bit = 1u << forks;
        path->take ^= bit;
        path->last ^= bit;
        if (path->last & bit)
            return 1;
    }
    return 0;
}

/* Where VALUE is on the stack between the frame's stack pointer and what that has become; 0: it is
   not there. */
static spoor_word frame_holds(const struct sim *sim, spoor_word value) {
    const struct spoor_image *image = sim->walk->image;
    spoor_word at = sim->r[SP_OF(image)];
    while (at > sim->walk->stack.low && at <= sim->walk->stack.high)
        if (peek_word(sim->walk, at -= WORD_OF(image)) == value)
            return at;
    return 0;
}

/* Has lr been restored from the frame? Then that returns, or jumps to another function. */
static int is_restored(struct sim *sim) {
    const struct spoor_walk *walk = sim->walk;
    unsigned lr = LR_OF(walk->image);
    spoor_word raw = sim->r[lr];
    sim->reg = lr;
    return !(walk->exact && raw == walk->regs.r[lr]) && frame_holds(sim, raw) &&
           call_before(walk, plain_address(walk->image, raw)) != NO_CALL;
}

/* Follows the code from here to a return, on the path as far as that has been chosen. 1: r[reg] is
   the return address. */
static int path_follow(struct sim *sim, struct path *path) {
    const struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word pc = here_of(walk), next;
    uint32_t ways = path->take;
    sim_begin(sim);
    path->met = 0;
    for (unsigned n = 0; n < PATH_STEPS && path->budget; n++, path->budget--, pc = next) {
        enum step step = sim_step(sim, pc, 0);
        next = pc + sim->size;
        if (step == STEP_FORK || (HAVE_A32 && step == STEP_MAYBE_RETURN)) {
            sim->then = ways & 1;
            ways = ways >> 1 | ways << (FORKS - 1);
            path->met++;
            if (HAVE_A32 && sim->then && step == STEP_MAYBE_RETURN)
                step = sim_step(sim, pc, 1);
        }
        if ((unsigned)step - STEP_DEAD < 2) { /* or STEP_CALL */
            if (step == STEP_CALL)
                forget_call(sim);
            else if (n) /* a trap, but not the one that has stopped it */
                return 0;
            sim->walk->unsure |= step;
        }
        if (step == STEP_BRANCH && is_restored(sim))
            return 1;
        if (step == STEP_BRANCH || (step == STEP_FORK && sim->then))
            next = sim->target | thumb_of(image, pc);
        if (step == STEP_RETURN) {
            next = sim->r[sim->reg];
            if (next == UNKNOWN)
                return is_restored(sim);
            if (!is_in_text(image, next) || call_before(walk, next) != NO_CALL ||
                frame_holds(sim, next))
                return 1; /* else the code itself has brought it: a veneer */
        }
        if (next == pc)
            return 0;
    }
    return 0;
}

/* Does something show that the function that is here was called from BACK? ASK_...: how lr is. */
static int is_called(struct sim *sim, spoor_word back, spoor_word ask) {
    return (ask == ASK_UNUSED && try_told(sim, ask)) || try_call(sim, back, ask);
}

/*
 * At the end of a path: is it the caller that has been found? It is if the frame has held its
 * address, or if that is in lr. It is, too, if the address is in another register, and the code
 * there shows that it has called the function here: so functions of Thumb-1 end that have saved
 * arguments.
 *
 * What follows a trap may be another function (code ends there that must not be reached): then lr
 * may be left over, if nothing shows that it is neither saved nor overwritten between the
 * function's start and here. What follows a call that never comes back may be anything: constants,
 * stubs in another instruction set. Read as code they may lead to an address that the frame happens
 * to hold. So behind either of the two, an address that the frame has held needs a proof. Either
 * the code there has called the function here, or this function starts where it is told and has
 * saved just that address. The frame itself may stand behind such a call: its own return shows that
 * the function comes back that was called (walk->unsure).
 *
 * To ask for all that takes the state: the path is followed again.
 */
static int leave_by_return(struct sim *sim, struct path *path) {
    const struct spoor_walk *walk = sim->walk;
    spoor_word raw = sim->r[sim->reg], back = plain_address(walk->image, raw);
    spoor_word at = frame_holds(sim, raw);
    unsigned by = SPOOR_BY_RETURN;
    int in_lr = raw == walk->regs.r[LR_OF(walk->image)];
    if (!at && !walk->exact)
        return 0;
    if (at ? walk->unsure : !in_lr || walk->unsure & STEP_DEAD) {
        if (!is_called(sim, back, !at && in_lr ? ASK_UNUSED : ASK_SAVED)) {
            if (!at)
                return 0;
            if (HAVE_TOLD && try_told(sim, at | UNSURE))
                return 1;
            by |= UNPROVEN;
        }
        path_follow(sim, path);
    }
    return leave(sim, back, by);
}

/* What has just been called: functions, at their first instruction, those too that never return;
   and what is no code. */
static int step_from_call(struct sim *sim) {
    const struct spoor_walk *walk = sim->walk;
    spoor_word back = plain_address(walk->image, walk->regs.r[LR_OF(walk->image)]);
    if (!walk->exact || (called(walk, back) ^ here_of(walk)) & ~(spoor_word)1)
        return 0;
    sim_reset(sim);
    return leave(sim, back, SPOOR_BY_PROLOGUE);
}

static int step_by_return(struct sim *sim) {
    struct path path;
    path.take = FIRST_WAYS;
    path.last = 0;
    path.budget = ALL_STEPS;
    do {
        if (path_follow(sim, &path) && leave_by_return(sim, &path))
            return 1;
    } while (path.budget && path_next(&path));
    return 0;
}

#endif
