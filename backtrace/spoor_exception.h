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
    EXC_SECURE = 64 /* S: what was interrupted was in secure state */
};

/* Eight words from SP on, each to the register that a digit of TO tells, the lowest first. */
static void pop_registers(struct spoor_walk *walk, spoor_word sp, uint32_t to) {
    for (unsigned n = 0; n < 8; n++) {
        walk->regs.r[to & 15] = peek(walk, sp, 4);
        to >>= 4;
        sp += 4;
    }
}

/* pc is an EXC_RETURN: on with what it would return to. */
static enum spoor_result pop_exception(struct spoor_walk *walk) {
    struct spoor_regs *regs = &walk->regs;
    uint32_t exc = (uint32_t)regs->r[SPOOR_PC], size = 32, xpsr;
    spoor_word sp = exc & EXC_PSP ? regs->psp : regs->r[SPOOR_SP];
    unsigned is_thread = exc >> 3 & 1;
    if (walk->thread_mode || (exc & (EXC_PSP | EXC_THREAD)) == EXC_PSP)
        return SPOOR_BAD_EXCEPTION;
#if HAVE_SECURE
    if ((exc ^ exc >> 6) & EXC_TO_SECURE) { /* the other state was interrupted */
        sp = exc & EXC_PSP ? regs->other_psp : regs->other_msp;
        if (!sp)
            return SPOOR_OTHER_STATE;
    }
#endif
    find_stack(walk, sp);
#if HAVE_SECURE
    /* r4 to r11 are there, too, when non-secure code has interrupted secure code. */
    if (exc & EXC_SECURE && ~exc & (EXC_TO_SECURE | EXC_DEFAULT_CALLEE)) {
        if (((uint32_t)peek(walk, sp, 4) & ~1u) != 0xfefa125au)
            return SPOOR_BAD_EXCEPTION;
        pop_registers(walk, sp + 8, 0xba987654);
        sp += 40;
    }
#endif
    if (!is_in(sp, 32, sp, walk->stack.high))
        return SPOOR_NO_STACK;
    pop_registers(walk, sp, 0xdfec3210); /* xPSR comes to sp for now */
    xpsr = (uint32_t)regs->r[SPOOR_SP];
    if ((IS_LARGE && sp & 3) || !is_thread == !(xpsr << 23))
        return SPOOR_BAD_EXCEPTION;
    if (HAVE_FP && !(exc & EXC_BASIC)) {
        size = 104;
        if (HAVE_SECURE && exc & EXC_SECURE && walk->image->flags & SPOOR_SECURE_FP_CALLEE)
            size = 168;
    }
    sp += size + (xpsr >> 7 & 4); /* padding */
    regs->r[SPOOR_SP] = sp;
    regs->r[SPOOR_PC] |= 1;
    walk->stack.low = sp;
    walk->thread_mode = is_thread;
    walk->exact = 1;
    walk->unsure = 0;
    walk->by = SPOOR_BY_EXCEPTION;
    return SPOOR_FRAME;
}
#endif

#endif
