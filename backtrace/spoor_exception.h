/* Part of spoor_backtrace.c: exceptions of the M profile. Armv8-M Architecture Reference Manual,
 * B3.18 on. */
#ifndef SPOOR_EXCEPTION_H
#define SPOOR_EXCEPTION_H

#include "spoor_step.h"

#if HAVE_M
enum {
    EXC_TO_SECURE = 1, /* ES: it was taken to secure state */
    EXC_PSP = 4,
    EXC_THREAD = 8,
    EXC_BASIC = 16, /* no floating-point registers */
    EXC_DEFAULT_CALLEE = 32,
    EXC_SECURE = 64, /* S: what was interrupted was in secure state */
    XPSR_PADDED = 0x200,
    XPSR_THUMB = 0x1000000
};

/* Where the processor has stacked the registers; 0: not known. */
static spoor_word exception_stack(const struct spoor_walk *walk, uint32_t exc) {
    const struct spoor_regs *regs = &walk->regs;
    if (!(exc & EXC_TO_SECURE) != !(exc & EXC_SECURE))
        return exc & EXC_PSP ? regs->other_psp : regs->other_msp;
    return exc & EXC_PSP ? regs->psp : regs->r[SPOOR_SP];
}

/* r4 to r11 are there when non-secure code has interrupted secure code. */
static int pop_callee(struct spoor_walk *walk, spoor_word *sp) {
    spoor_word word;
    if (read_word(walk, *sp, &word) || ((uint32_t)word & ~1u) != 0xfefa125au)
        return -1;
    for (unsigned n = 0; n < 8; n++)
        if (read_word(walk, *sp + 8 + n * 4, &walk->regs.r[4 + n]))
            return -1;
    walk->regs.known |= 0xff0;
    *sp += 40;
    return 0;
}

/* pc is an EXC_RETURN: on with what it would return to. */
static enum spoor_result pop_exception(struct spoor_walk *walk) {
    uint32_t exc = (uint32_t)walk->regs.r[SPOOR_PC], size = 32;
    spoor_word sp = exception_stack(walk, exc), frame[8];
    if (walk->thread_mode || (exc & (EXC_PSP | EXC_THREAD)) == EXC_PSP)
        return SPOOR_BAD_EXCEPTION;
    if (!sp)
        return SPOOR_OTHER_STATE;
    find_stack(walk, sp);
    if ((exc & EXC_SECURE) && (!(exc & EXC_TO_SECURE) || !(exc & EXC_DEFAULT_CALLEE)) &&
        pop_callee(walk, &sp))
        return SPOOR_BAD_EXCEPTION;
    for (unsigned n = 0; n < 8; n++)
        if (read_word(walk, sp + n * 4, &frame[n]))
            return SPOOR_NO_STACK;
    int is_thread = (exc & EXC_THREAD) != 0;
    if (sp & 3 || is_thread != !(frame[7] & 0x1ff))
        return SPOOR_BAD_EXCEPTION;
    for (unsigned n = 0; n < 4; n++)
        walk->regs.r[n] = frame[n];
    walk->regs.r[12] = frame[4];
    walk->regs.r[SPOOR_LR] = frame[5];
    walk->regs.r[SPOOR_PC] = frame[6] | 1;
    if (!(exc & EXC_BASIC))
        size += exc & EXC_SECURE && walk->image->flags & SPOOR_SECURE_FP_CALLEE ? 136 : 72;
    size += frame[7] & XPSR_PADDED ? 4 : 0;
    walk->regs.r[SPOOR_SP] = sp + size;
    walk->regs.known |= 0x700f | BIT(SPOOR_PC);
    walk->stack.low = sp + size;
    walk->thread_mode = (uint8_t)is_thread;
    walk->exact = 1;
    walk->by = SPOOR_BY_EXCEPTION;
    walk->trust = SPOOR_PROVEN;
    return SPOOR_FRAME;
}
#endif

#endif
