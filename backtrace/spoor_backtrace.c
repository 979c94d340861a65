/*
 * spoor_backtrace: see spoor_backtrace.h for the contract; the other headers here are parts of this
 * file.
 *
 * How a caller is found, in this order; each way is taken only as far as it can be proven:
 *
 *   table      .ARM.exidx says how to undo a function's frame. Exact behind calls, not elsewhere.
 *   return     Code between here and a return undoes the frame: it is followed, in a state that
 * knows the registers and the stack (spoor_sim.h). At conditional branches one way is tried, then
 * the other. Exact everywhere, in prologues and epilogues too; needs neither tables nor symbols nor
 * frame pointers. Does not work in functions that never return. prologue   The function's start
 * says what it has saved, and where. The start is known from symbols, or from the frame itself: if
 * the word at A on the stack is the return address of a call of function F, and F's prologue, taken
 * from here, saves its return address just at A, and nothing between F's start and here is another
 * function's prologue, then here is F. chain      A frame pointer leads to a saved frame pointer
 * and a return address.
 *
 * Every return address lies in the text, behind a call instruction. The stack gets shorter with
 * every step. A return address that is still in lr, as in leaf functions, may be left over from a
 * call that has returned: it counts only if the function, from its start to here, does not save lr.
 */
#include "spoor_backtrace.h"

#include "spoor_code.h"
#include "spoor_exception.h"
#include "spoor_exidx.h"
#include "spoor_step.h"

enum {
    PATH_STEPS = 1500, /* instructions to a return */
    ALL_STEPS = 12000, /* on all paths that are tried */
    FORKS = 24,        /* conditional branches on a path */
    TAILS = 8,         /* functions that jump to each other, one after the other */
    TAIL_STEPS = 40,   /* instructions of a function that ends in a jump to another */
    SCAN_WORDS = 2048  /* of the stack, for a return address */
};

/* Functions' starts */

static void sim_begin_virtual(struct sim *sim, const struct spoor_walk *walk) {
    sim_begin(sim, walk);
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        sim->now.r[n] = VIRTUAL_TAG | n;
    sim->now.r[SP_OF(walk->image)] = VIRTUAL_SP;
    sim->now.known = ~BIT(SPOOR_PC * !IS_A64(walk->image));
    sim->is_virtual = 1;
}

/* Where register n of the function's entry was saved; NULL: nowhere. */
static const struct slot *slot_of(const struct sim *sim, unsigned n) {
    for (unsigned i = 0; i < sim->slots; i++)
        if (sim->slot[i].value == (VIRTUAL_TAG | n) && (sim->slot_known >> i & 1))
            return &sim->slot[i];
    return NULL;
}

/* The function that the call before BACK calls; 0: that is not in the code. */
static spoor_word called(const struct spoor_walk *walk, spoor_word back) {
    spoor_word target;
    return call_before(walk, back, &target) == 0 ? target : 0;
}

/* Where the code from START on jumps to before it does anything else but compute; 0: nowhere. */
static spoor_word tail_called(const struct spoor_walk *walk, struct sim *sim, spoor_word start) {
    sim_begin_virtual(sim, walk);
    for (unsigned n = 0; n < TAIL_STEPS && is_in_text(walk->image, start); n++) {
        enum step step = sim_step(sim, start, 0);
        if (step == STEP_RETURN && is_known(sim, sim->reg)) /* as veneers jump */
            return sim->now.r[sim->reg];
        if (step == STEP_BRANCH)
            return sim->target | (IS_A64(walk->image) ? 0 : start & 1);
        if (step != STEP_NEXT && step != STEP_FORK)
            return 0;
        start += sim->size;
    }
    return 0;
}

/* Follows the prologue of the function at START, up to here at most. */
static int follow_prologue(const struct spoor_walk *walk, spoor_word start, struct sim *sim) {
    spoor_word here = without_thumb(walk->image, walk->regs.r[PC_OF(walk->image)]);
    unsigned lr = LR_OF(walk->image);
    sim_begin_virtual(sim, walk);
    for (spoor_word at = start; without_thumb(walk->image, at) < here; at += sim->size) {
        enum step step = sim_step(sim, at, 0);
        if (step == STEP_DEAD)
            return -1;
        if (step != STEP_NEXT && (step == STEP_CALL || slot_of(sim, lr)))
            return 0;
    }
    return 0;
}

/*
 * Leaves the frame of the function whose prologue SIM has followed, if its return address can be
 * found. AT: where that must be; 0: anywhere. Two ways lead to it, by the stack pointer and by a
 * frame pointer: when both are there they must agree (with alloca the stack is deeper), or the call
 * must be that of START.
 */
static int leave_by_prologue(struct spoor_walk *walk, spoor_word start, struct sim *sim,
                             spoor_word at) {
    const struct spoor_image *image = walk->image;
    const struct slot *lr = slot_of(sim, LR_OF(image)), *saved;
    unsigned pointers[3] = {IS_A64(image) ? 29 : 7, IS_A64(image) ? 29 : 11, SP_OF(image)};
    spoor_word top[3], target, back = 0;
    unsigned count = 0, pick = 0;
    for (unsigned i = 0; i < 3; i++) {
        unsigned n = pointers[i];
        spoor_word below = VIRTUAL_SP - sim->now.r[n];
        if (knows(walk, n) && is_known(sim, n) && below < VIRTUAL_DEPTH &&
            sim->now.r[n] != (VIRTUAL_TAG | n))
            top[count++] = walk->regs.r[n] + below;
    }
    if (!lr || !count)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        spoor_word from = top[i] + (lr->at - VIRTUAL_SP);
        if (read_word(walk, from, &back))
            continue;
        back = plain_address(image, back);
        int is_it = call_before(walk, back, &target) == 0 && target == start;
        int agree = top[0] == top[count - 1] || is_it || from == at;
        if (may_be_caller(walk, back) && agree && (!at || from == at))
            break;
        pick = i + 1;
    }
    if (pick == count)
        return -1;
    sim->now.loaded = 0;
    for (unsigned n = 0; n < PC_OF(image); n++) {
        sim->now.r[n] = walk->regs.r[n];
        saved = slot_of(sim, n);
        if (saved && !read_word(walk, top[pick] + (saved->at - VIRTUAL_SP), &sim->now.r[n]))
            sim->now.loaded |= BIT(n);
    }
    sim->now.known = walk->regs.known | sim->now.loaded;
    sim->now.r[SP_OF(image)] = top[pick];
    sim->now.known |= BIT(SP_OF(image));
    sim->now.r[PC_OF(image)] = back;
    return leave(walk, &sim->now, SPOOR_BY_PROLOGUE, SPOOR_PROVEN);
}

/* The start of the function that is here, as symbols tell; 0: not known. */
static spoor_word known_start(const struct spoor_walk *walk) {
    const struct spoor_image *image = walk->image;
    spoor_word here = walk->regs.r[PC_OF(image)] - !walk->exact, start;
    start = image->start ? image->start(image->arg, without_thumb(image, here)) : 0;
    return !start || IS_A64(image) ? start
                                   : (start & ~(spoor_word)1) | (walk->regs.r[SPOOR_PC] & 1);
}

/* By the function's start: from symbols, from the table, from the stacked return address of its
 * call. */
static int step_by_prologue(struct spoor_walk *walk, struct sim *sim) {
    const struct spoor_image *image = walk->image;
    spoor_word here = walk->regs.r[PC_OF(image)], start = known_start(walk), back;
    if (start && !follow_prologue(walk, start, sim) && !leave_by_prologue(walk, start, sim, 0))
        return 0;
    start = table_start(walk, here - !walk->exact);
    if (start && may_start(walk, start) && count_saves(walk, start, here) == 1 &&
        !follow_prologue(walk, start, sim) && !leave_by_prologue(walk, start, sim, 0))
        return 0;
    spoor_word at = walk->stack.low;
    for (unsigned n = 0; n < SCAN_WORDS && !read_word(walk, at, &back); n++) {
        start = called(walk, plain_address(image, back));
        for (unsigned tails = 0; start && tails < TAILS;
             tails++, start = tail_called(walk, sim, start))
            if (may_start(walk, start) && count_saves(walk, start, here) == 1 &&
                !follow_prologue(walk, start, sim) && !leave_by_prologue(walk, start, sim, at))
                return 0;
        at += WORD_OF(image);
    }
    return -1;
}

/* Returns */

struct fork {
    spoor_word at;
    uint8_t taken, last;
};

struct path {
    struct fork fork[FORKS];
    unsigned forks, met, budget;
};

/* Which way at the conditional branch at AT? 1: it is taken; less than 0: both have been gone. */
static int path_choose(struct path *path, spoor_word at) {
    unsigned met = path->met++, seen = 0;
    struct fork *fork = &path->fork[met];
    if (met < path->forks)
        return fork->taken;
    if (met == FORKS)
        return -1;
    *fork = (struct fork){at, 0, 0};
    for (unsigned i = 0; i < met; i++)
        if (path->fork[i].at == at) {
            fork->taken = !path->fork[i].taken;
            fork->last = 1;
            seen++;
        }
    path->forks++;
    return seen > 1 ? -1 : fork->taken;
}

/* Prepares another path; 0, or else when all have been tried. */
static int path_next(struct path *path) {
    while (path->forks && path->fork[path->forks - 1].last)
        path->forks--;
    if (!path->forks)
        return -1;
    struct fork *fork = &path->fork[path->forks - 1];
    fork->taken = !fork->taken;
    fork->last = 1;
    return 0;
}

/* A jump to another function at the end, when lr has been restored. */
static int is_tail(struct sim *sim) {
    unsigned lr = LR_OF(sim->walk->image);
    spoor_word target;
    if (!(sim->now.loaded >> lr & 1) ||
        call_before(sim->walk, plain_address(sim->walk->image, sim->now.r[lr]), &target) < 0)
        return 0;
    sim->reg = (uint8_t)lr;
    return 1;
}

/* A jump to an address that the code itself has brought, as veneers do it. */
static int is_jump(const struct sim *sim) {
    spoor_word to = sim->now.r[sim->reg];
    return is_known(sim, sim->reg) && !(sim->now.loaded >> sim->reg & 1) &&
           is_in_text(sim->walk->image, to) && !may_be_caller(sim->walk, to);
}

/* Follows the code from here to a return, on the path as far as that has been chosen. 0: r[reg] is
   the return address. */
static int path_follow(struct sim *sim, struct path *path) {
    const struct spoor_image *image = sim->walk->image;
    spoor_word pc = sim->walk->regs.r[PC_OF(image)];
    spoor_word thumb = IS_A64(image) ? 0 : pc & 1;
    path->met = 0;
    for (unsigned n = 0; n < PATH_STEPS && path->budget; n++, path->budget--) {
        sim->size = 0;
        enum step step = sim_step(sim, pc, 0);
        spoor_word next = pc + sim->size;
        if (step == STEP_DEAD && n == 0 && sim->size) { /* that is what has stopped it */
            step = STEP_NEXT;
            sim->at_trap = 1;
        }
        if (step == STEP_FORK || step == STEP_MAYBE_RETURN) {
            int take = path_choose(path, pc);
            if (take < 0)
                return -1;
            if (step == STEP_FORK)
                next = take ? sim->target | thumb : next;
            else if (take)
                step = sim_step(sim, pc, 1);
        }
        if (step == STEP_CALL) {
            forget_call(sim);
        } else if (step == STEP_BRANCH) {
            if (is_tail(sim))
                return 0;
            next = sim->target | thumb;
        }
        if (step == STEP_RETURN) {
            if (!is_jump(sim))
                return is_known(sim, sim->reg) || is_tail(sim) ? 0 : -1;
            next = sim->now.r[sim->reg];
            thumb = IS_A64(image) ? 0 : next & 1;
        }
        if (step == STEP_DEAD || next == pc)
            return -1;
        pc = next;
    }
    return -1;
}

/*
 * Is lr the return address of the function that is here, as the path says? It is if that has stayed
 * in the function; what follows a trap may be another one (code ends there that must not be
 * reached). Then it is if nothing between the function's start and here saves lr.
 */
static int is_leaf(const struct spoor_walk *walk, struct sim *sim, spoor_word back) {
    spoor_word here = walk->regs.r[PC_OF(walk->image)], start = known_start(walk), reg;
    if (start && count_saves(walk, start, here) == 0)
        return 1;
    if (call_before(walk, back, &reg) == 1 && may_start(walk, walk->regs.r[reg]) &&
        count_saves(walk, walk->regs.r[reg], here) == 0)
        return 1;
    start = called(walk, back);
    for (unsigned n = 0; start && n < TAILS; n++, start = tail_called(walk, sim, start))
        if (may_start(walk, start) && count_saves(walk, start, here) == 0)
            return 1;
    start = table_start(walk, here);
    return start && may_start(walk, start) && count_saves(walk, start, here) == 0;
}

/* Is VALUE on the stack between the frame's stack pointer and what that would be in the caller? */
static int frame_holds(const struct spoor_walk *walk, spoor_word value, spoor_word high) {
    spoor_word held;
    for (spoor_word at = high; at > walk->stack.low;) {
        at -= WORD_OF(walk->image);
        if (read_word(walk, at, &held))
            return 0;
        if (held == value)
            return 1;
    }
    return 0;
}

/* At the end of a path: is it the caller that has been found? */
static int leave_by_return(struct spoor_walk *walk, struct sim *sim) {
    const struct spoor_image *image = walk->image;
    spoor_word raw = sim->now.r[sim->reg], back = plain_address(image, raw);
    struct sim other;
    if (!is_known(sim, SP_OF(image)) || !may_be_caller(walk, back))
        return -1;
    if (sim->now.loaded >> sim->reg & 1) {
        if (!frame_holds(walk, raw, sim->now.r[SP_OF(image)]))
            return -1;
    } else if (raw != walk->regs.r[LR_OF(image)] || !walk->exact ||
               (sim->at_trap && !is_leaf(walk, &other, back))) {
        return -1;
    }
    sim->now.r[PC_OF(image)] = back;
    return leave(walk, &sim->now, SPOOR_BY_RETURN, SPOOR_PROVEN);
}

/* At a function's first instruction, just called: also of those that never return. */
static int step_from_start(struct spoor_walk *walk, struct sim *sim) {
    const struct spoor_image *image = walk->image;
    spoor_word back = plain_address(image, walk->regs.r[LR_OF(image)]);
    if (!walk->exact || !knows(walk, LR_OF(image)) ||
        called(walk, back) != walk->regs.r[PC_OF(image)])
        return -1;
    sim_begin(sim, walk);
    sim->now.r[PC_OF(image)] = back;
    return leave(walk, &sim->now, SPOOR_BY_RETURN, SPOOR_PROVEN);
}

static int step_by_return(struct spoor_walk *walk, struct sim *sim) {
    struct path path;
    if (!step_from_start(walk, sim))
        return 0;
    path.forks = 0;
    path.budget = ALL_STEPS;
    do {
        sim_begin(sim, walk);
        if (!path_follow(sim, &path) && !leave_by_return(walk, sim))
            return 0;
    } while (path.budget && !path_next(&path));
    return -1;
}

/* Frame pointers */

/* Does the prologue of the function that BACK says was called keep its frame record at register FP,
   lr ABOVE bytes above what that points to? */
static int is_record(const struct spoor_walk *walk, struct sim *sim, spoor_word back, unsigned fp,
                     spoor_word above) {
    spoor_word start = called(walk, back), here = walk->regs.r[PC_OF(walk->image)];
    if (!start || !may_start(walk, start) || count_saves(walk, start, here) != 1 ||
        follow_prologue(walk, start, sim))
        return 0;
    const struct slot *saved = slot_of(sim, fp), *lr = slot_of(sim, LR_OF(walk->image));
    return saved && lr && is_known(sim, fp) && lr->at == sim->now.r[fp] + above &&
           lr->at == saved->at + WORD_OF(walk->image);
}

/*
 * The frame record: A64 and Clang's A32 and T32 {fp, lr} at fp; GCC's A32 {fp, lr} at fp - 4, lr in
 * the text and fp in the stack, so that the two cannot be mistaken for each other. It counts if the
 * prologue or the user says that it is one: else the register may belong to a frame further out.
 */
static int step_by_chain(struct spoor_walk *walk, struct sim *sim) {
    const struct spoor_image *image = walk->image;
    spoor_word word = WORD_OF(image), thumb = IS_A64(image) ? 0 : walk->regs.r[SPOOR_PC] & 1;
    unsigned fp = IS_A64(image) ? 29 : thumb ? 7 : 11;
    spoor_word at = walk->regs.r[fp], above = word, saved, back;
    if (!knows(walk, fp) || read_word(walk, at, &back))
        return -1;
    if (!IS_A64(image) && !thumb && call_before(walk, back, &saved) >= 0)
        above = 0;
    at -= word - above;
    if (at % word || read_word(walk, at, &saved) || read_word(walk, at + word, &back))
        return -1;
    back = plain_address(image, back);
    if (!may_be_caller(walk, back) || (saved && (saved <= at || saved >= walk->stack.high)))
        return -1;
    int proven = is_record(walk, sim, back, fp, above);
    if (!proven && !(image->flags & (thumb ? SPOOR_R7_CHAIN : SPOOR_FP_CHAIN)))
        return -1;
    sim_begin(sim, walk);
    sim->now.known = saved ? BIT(fp) : 0;
    sim->now.r[fp] = saved;
    sim->now.r[SP_OF(image)] = at + 2 * word; /* or more */
    sim->now.r[PC_OF(image)] = back;
    return leave(walk, &sim->now, SPOOR_BY_CHAIN, proven ? SPOOR_PROVEN : SPOOR_CHECKED);
}

/* The walk */

/* Where something called what is no code: the call must be one of a register that still has that.
 */
static enum spoor_result leave_wild(struct spoor_walk *walk) {
    const struct spoor_image *image = walk->image;
    unsigned pc = PC_OF(image);
    spoor_word back = walk->regs.r[LR_OF(image)], reg;
    back = plain_address(image, back);
    if (!walk->exact || !knows(walk, LR_OF(image)) || call_before(walk, back, &reg) != 1 ||
        without_thumb(image, walk->regs.r[reg]) != without_thumb(image, walk->regs.r[pc]))
        return SPOOR_NO_CODE;
    walk->regs.r[pc] = back;
    walk->exact = 0;
    walk->by = SPOOR_BY_RETURN;
    walk->trust = SPOOR_PROVEN;
    return SPOOR_FRAME;
}

static enum spoor_result step_out(struct spoor_walk *walk) {
    const struct spoor_image *image = walk->image;
    struct sim sim;
    unsigned ways = walk->exact ? SPOOR_BY_RETURN | SPOOR_BY_PROLOGUE : image->walkers;
    if (!is_in_text(image, walk->regs.r[PC_OF(image)] - 2u * !walk->exact))
        return leave_wild(walk);
    if (!walk->stack.high)
        return SPOOR_NO_STACK;
    if ((ways & SPOOR_BY_TABLE && !step_by_table(walk, &sim)) ||
        (ways & SPOOR_BY_RETURN && !step_by_return(walk, &sim)) ||
        (ways & SPOOR_BY_PROLOGUE && !step_by_prologue(walk, &sim)) ||
        (ways & SPOOR_BY_CHAIN && !step_by_chain(walk, &sim)))
        return SPOOR_FRAME;
    return SPOOR_NO_WAY;
}

void spoor_walk_begin(struct spoor_walk *walk, const struct spoor_image *image,
                      const struct spoor_regs *regs, enum spoor_begin how) {
    walk->image = image;
    walk->regs = *regs;
    walk->exact = how == SPOOR_INTERRUPTED;
    walk->by = SPOOR_BY_BEGIN;
    walk->trust = SPOOR_PROVEN;
    walk->ended = walk->thread_mode = 0;
    find_stack(walk, stack_pointer(walk));
}

/* What follows from the new pc alone. */
static enum spoor_result arrive(struct spoor_walk *walk) {
    const struct spoor_image *image = walk->image;
    spoor_word pc = walk->regs.r[PC_OF(image)];
    if (is_outermost(image, pc))
        return SPOOR_END;
    if (is_fnc_return(image, pc))
        return SPOOR_OTHER_STATE;
#if HAVE_M
    if (is_exc_return(image, pc))
        return pop_exception(walk);
    if (IS_M(image))
        walk->regs.r[SPOOR_PC] |= 1;
#endif
    return SPOOR_FRAME;
}

enum spoor_result spoor_walk_next(struct spoor_walk *walk, struct spoor_frame *ret_frame) {
    const struct spoor_image *image = walk->image;
    enum spoor_result result = (enum spoor_result)walk->ended;
    if (result == SPOOR_FRAME && !(walk->by & SPOOR_BY_BEGIN))
        result = step_out(walk);
    if (result == SPOOR_FRAME)
        result = arrive(walk);
    walk->ended = (uint8_t)result;
    if (result != SPOOR_FRAME)
        return result;
    spoor_word pc = walk->regs.r[PC_OF(image)], site = without_thumb(image, pc);
    int short_call = !IS_A64(image) && pc & 1;
    ret_frame->pc = pc;
    ret_frame->site = walk->exact ? site : site - (short_call ? 2 : 4);
    ret_frame->sp = knows(walk, SP_OF(image)) ? stack_pointer(walk) : 0;
    ret_frame->by = walk->by;
    ret_frame->trust = walk->trust;
    ret_frame->interrupted = walk->exact;
    walk->by &= (uint8_t)~SPOOR_BY_BEGIN;
    return SPOOR_FRAME;
}

size_t spoor_backtrace_from(const struct spoor_image *image, const struct spoor_regs *regs,
                            enum spoor_begin how, struct spoor_sites ret_sites,
                            enum spoor_result *ret_end) {
    struct spoor_walk walk;
    struct spoor_frame frame;
    enum spoor_result result = SPOOR_FRAME;
    size_t count = 0;
    spoor_walk_begin(&walk, image, regs, how);
    while (count < ret_sites.most && (result = spoor_walk_next(&walk, &frame)) == SPOOR_FRAME)
        ret_sites.site[count++] = frame.site;
    if (ret_end)
        *ret_end = result;
    return count;
}

const char *spoor_result_name(enum spoor_result result) {
    static const char *const names[] = {"frame",   "end",           "no way",     "no stack",
                                        "no code", "bad exception", "other state"};
    return names[result <= SPOOR_OTHER_STATE ? result : SPOOR_NO_WAY];
}

#if defined(__arm__) || defined(__aarch64__)
#include "spoor_here.h"
#endif
