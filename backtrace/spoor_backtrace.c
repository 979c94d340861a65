/*
 * spoor_backtrace: see spoor_backtrace.h for the contract; the other headers here are parts of this
 * file.
 *
 * How a caller is found, in this order; each way is taken only as far as it can be proven:
 *
 *   table      .ARM.exidx says how to undo a function's frame. Exact behind calls, not elsewhere.
 *   return     Code between here and a return undoes the frame: it is followed, in a state that
 *              knows the registers and the stack (spoor_sim.h). At conditional branches one way is
 *              tried, then the other. Exact everywhere, in prologues and epilogues too; needs
 *              neither tables nor symbols nor frame pointers. Does not work in functions that never
 *              return.
 *   prologue   The function's start says what it has saved, and where. The start is known from
 *              symbols, or from the frame itself: if the word at A on the stack is the return
 *              address of a call of function F, and F's prologue, taken from here, saves its return
 *              address just at A, and nothing between F's start and here is another function's
 *              prologue, and nothing in the text leads to one that starts there, then here is F.
 *   chain      A frame pointer leads to a saved frame pointer and a return address.
 *
 * Every return address lies in the text, behind a call instruction. The stack gets shorter with
 * every step. A return address that is still in a register may be left over from a call that has
 * returned: it counts only where the code between shows that it is not (spoor_return.h).
 *
 * On Cortex-M all of it must stay below 4 KB (test/backtrace/size.py): what a processor cannot
 * execute is not compiled for it (HAVE_... of spoor_sim.h), and the walkers share what they do.
 */
#if defined(__clang__) && defined(__OPTIMIZE_SIZE__) /* for which its -Os does less than GCC's */
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif
#include "spoor_backtrace.h"

#include "spoor_code.h"
#include "spoor_exception.h"
#include "spoor_exidx.h"
#include "spoor_return.h"
#include "spoor_start.h"
#include "spoor_step.h"

#if HAVE_CHAIN
/*
 * The frame record: A64 and Clang's A32 and T32 {fp, lr} at fp; GCC's A32 {fp, lr} at fp - 4. lr is
 * in the text and fp in the stack, so the two cannot be mistaken for each other. It counts if the
 * prologue or the user says that it is one: else the register may belong to a frame further out.
 */
static int step_by_chain(struct sim *sim) {
    struct spoor_walk *walk = sim->walk;
    const struct spoor_image *image = walk->image;
    spoor_word word = WORD_OF(image), saved, back;
    int thumb = !IS_A64(image) && (!HAVE_A32 || here_of(walk) & 1);
    unsigned fp = IS_A64(image) ? 29 : thumb ? 7 : 11;
    spoor_word at = walk->regs.r[fp];
    if (!HAVE_A32 || IS_A64(image) || thumb || call_before(walk, peek_word(walk, at)) == NO_CALL)
        at += word;
    saved = peek_word(walk, at - word);
    back = plain_address(image, peek_word(walk, at));
    if (at % word || (saved && (saved < at || saved >= walk->stack.high)))
        return 0;
    if (try_call(sim, back, at)) {
        walk->by = SPOOR_BY_CHAIN | (walk->by & UNPROVEN);
        return 1;
    }
    if (!(image->flags & (thumb ? SPOOR_R7_CHAIN : SPOOR_FP_CHAIN)))
        return 0;
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        forget(sim, n);
    sim->r[SP_OF(image)] = at + word; /* or more */
    sim->r[fp] = saved ? saved : UNKNOWN;
    if (!leave(sim, back, SPOOR_BY_CHAIN))
        return 0;
    walk->regs.r[SP_OF(image)] = UNKNOWN;
    walk->by |= UNPROVEN;
    return 1;
}

#else
static int step_by_chain(struct sim *sim) {
    (void)sim;
    return 0;
}
#endif

/* The walk */

static enum spoor_result step_out(struct spoor_walk *walk) {
    const struct spoor_image *image = walk->image;
    struct sim sim;
    unsigned ways = walk->exact ? SPOOR_BY_RETURN | SPOOR_BY_PROLOGUE : image->walkers;
    sim.walk = walk;
    if (step_from_call(&sim))
        return SPOOR_FRAME;
    if (!is_in_text(image, here_of(walk) - 2u * !walk->exact))
        return SPOOR_NO_CODE;
    if (!walk->stack.high)
        return SPOOR_NO_STACK;
    if ((ways & SPOOR_BY_TABLE && step_by_table(&sim)) ||
        (ways & SPOOR_BY_RETURN && step_by_return(&sim)) ||
        (ways & SPOOR_BY_PROLOGUE && step_by_prologue(&sim)) ||
#if IS_LARGE
        (ways & SPOOR_BY_PROLOGUE && step_at_start(&sim)) ||
#endif
        (ways & SPOOR_BY_CHAIN && step_by_chain(&sim)))
        return SPOOR_FRAME;
    return SPOOR_NO_WAY;
}

void spoor_walk_begin(struct spoor_walk *walk, const struct spoor_image *image,
                      const struct spoor_regs *regs, enum spoor_begin how) {
    walk->image = image;
    spoor_word known = regs->known | BIT(PC_OF(image));
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        walk->regs.r[n] = known >> n & 1 ? regs->r[n] : UNKNOWN;
    walk->regs.psp = regs->psp;
#if HAVE_SECURE
    walk->regs.other_msp = regs->other_msp;
    walk->regs.other_psp = regs->other_psp;
#endif
    walk->exact = how == SPOOR_INTERRUPTED;
    walk->by = SPOOR_BY_BEGIN;
    walk->ended = walk->thread_mode = 0;
    walk->unsure = how;
    find_stack(walk, stack_pointer(walk));
}

/* What follows from the new pc alone. */
static enum spoor_result arrive(struct spoor_walk *walk) {
    const struct spoor_image *image = walk->image;
    spoor_word pc = walk->regs.r[PC_OF(image)];
    if (!walk->exact && is_outermost(image, pc))
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
    walk->ended = result;
    if (result != SPOOR_FRAME)
        return result;
#if !defined(__arm__) || defined(SPOOR_ALL)
    walk->regs.known = 0;
    for (unsigned n = 0; n < SPOOR_REGS; n++)
        walk->regs.known |= (spoor_word)(walk->regs.r[n] != UNKNOWN) << n;
#endif
    spoor_word pc = walk->regs.r[PC_OF(image)], site = without_thumb(image, pc);
    int short_call = !IS_A64(image) && pc & 1;
    ret_frame->pc = pc;
    ret_frame->site = walk->exact ? site : site - (short_call ? 2 : 4);
    ret_frame->sp = HAVE_CHAIN && stack_pointer(walk) == UNKNOWN ? 0 : stack_pointer(walk);
    ret_frame->by = (uint8_t)walk->by;
    ret_frame->trust = walk->by & UNPROVEN ? SPOOR_CHECKED : SPOOR_PROVEN;
    ret_frame->interrupted = (uint8_t)walk->exact;
    walk->by = 0;
    return SPOOR_FRAME;
}

APART static size_t walk_on(struct spoor_walk *walk, spoor_word *ret_sites, size_t most) {
    struct spoor_frame frame;
    size_t count = 0;
    for (; count < most && spoor_walk_next(walk, &frame) == SPOOR_FRAME; count++)
        ret_sites[count] = frame.site;
    return count;
}

size_t spoor_backtrace_from(const struct spoor_image *image, const struct spoor_regs *regs,
                            enum spoor_begin how, struct spoor_sites ret_sites,
                            enum spoor_result *ret_end) {
    struct spoor_walk walk;
    spoor_walk_begin(&walk, image, regs, how);
    size_t count = walk_on(&walk, ret_sites.site, ret_sites.most);
    if (ret_end)
        *ret_end = (enum spoor_result)walk.ended;
    return count;
}

#if (defined(__arm__) || defined(__aarch64__)) && !defined(SPOOR_ALL)
#include "spoor_here.h"
#endif
#if defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#pragma clang attribute pop
#endif
