/* Part of spoor_backtrace.c: the program that it is part of. Its registers, and what can be found
 * of it. */
#ifndef SPOOR_HERE_H
#define SPOOR_HERE_H

#include "spoor_sim.h"

/* Offsets are those of struct spoor_regs. */
#if defined(__aarch64__)
__asm__(".text\n"
        ".p2align 2\n"
        ".globl spoor_regs_here\n"
        ".type spoor_regs_here, %function\n"
        "spoor_regs_here:\n"
        "    hint #34\n" /* bti c */
        "    stp x19, x20, [x0, #152]\n"
        "    stp x21, x22, [x0, #168]\n"
        "    stp x23, x24, [x0, #184]\n"
        "    stp x25, x26, [x0, #200]\n"
        "    stp x27, x28, [x0, #216]\n"
        "    stp x29, x30, [x0, #232]\n"
        "    mov x1, sp\n"
        "    stp x1, x30, [x0, #248]\n"
        "    mov x1, #0xbff80000\n" /* x19 to x29, sp */
        "    stp x1, xzr, [x0, #264]\n"
        "    stp xzr, xzr, [x0, #280]\n"
        "    ret\n"
        ".size spoor_regs_here, . - spoor_regs_here\n");
#else
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define READ_PSP "    mrs r2, psp\n"
#else
#define READ_PSP "    movs r2, #0\n"
#endif
#if __ARM_ARCH_ISA_THUMB >= 2 || !defined(__thumb__)
#define STORE_R4_TO_R12 "    stmia r0!, {r4-r12}\n"
#else
#define STORE_R4_TO_R12                                                                            \
    "    stmia r0!, {r4-r7}\n    mov r1, r8\n    mov r2, r9\n    mov r3, r10\n"                    \
    "    stmia r0!, {r1-r3}\n    mov r1, r11\n    mov r2, r12\n    stmia r0!, {r1-r2}\n"
#endif
#if __ARM_ARCH_ISA_THUMB >= 2
#define KNOWN_IN_R1 "    movw r1, #0xaff0\n"
#else
#define KNOWN_IN_R1 "    movs r1, #0xaf\n    lsls r1, r1, #8\n    adds r1, #0xf0\n"
#endif
#if defined(__thumb__)
#define HERE_MODE ".thumb_func\n"
#else
#define HERE_MODE ".arm\n"
#endif
/* The same for A32, T32 and Thumb-1. */
__asm__(".text\n"
        ".syntax unified\n"
        ".p2align 2\n"
        ".globl spoor_regs_here\n"
        ".type spoor_regs_here, %function\n" HERE_MODE "spoor_regs_here:\n"
        "    adds r0, #16\n" STORE_R4_TO_R12 "    mov r1, sp\n"
        "    mov r2, lr\n"
        "    mov r3, lr\n"
        "    stmia r0!, {r1-r3}\n" KNOWN_IN_R1 /* r4 to r11, sp, pc */
            READ_PSP "    movs r3, #0\n"
        "    stmia r0!, {r1-r3}\n"
        "    str r3, [r0]\n"
        "    bx lr\n"
        ".size spoor_regs_here, . - spoor_regs_here\n");
#endif

/* As linker scripts and C libraries call them; whichever there is. */
#define WEAK_SYMBOL(name) extern char name[] __attribute__((weak))
WEAK_SYMBOL(__executable_start);
WEAK_SYMBOL(__text_start);
WEAK_SYMBOL(__etext);
WEAK_SYMBOL(_etext);
WEAK_SYMBOL(__exidx_start);
WEAK_SYMBOL(__exidx_end);
WEAK_SYMBOL(__StackTop);
WEAK_SYMBOL(__stack);
extern void *__libc_stack_end __attribute__((weak));

void spoor_image_find(struct spoor_image *ret_image) {
    const char *low = __text_start;
    spoor_word stack = 0, *words = (spoor_word *)(void *)ret_image;
    for (unsigned i = 0; i < sizeof *ret_image / sizeof *words; i++) {
        words[i] = 0;
        __asm__("" ::: "memory"); /* no call of memset */
    }
#if HAVE_M
    /* VTOR: the table begins with the main stack's top. */
    volatile const uint32_t *vtor = (volatile const uint32_t *)0xe000ed08u;
    const char *vectors = (const char *)(uintptr_t)*vtor;
    __asm__("" : "+r"(vectors));
    stack = *(volatile const uint32_t *)(const void *)vectors;
    ret_image->isa = SPOOR_ISA_M;
#else
    const char *vectors = __executable_start;
    if (&__libc_stack_end)
        stack = (spoor_word)(uintptr_t)__libc_stack_end;
    else
        stack = (spoor_word)(uintptr_t)(__StackTop ? __StackTop : __stack);
    ret_image->isa = HAVE_A64 ? SPOOR_ISA_A64 : SPOOR_ISA_ARM;
#endif
    ret_image->text_low = (spoor_word)(uintptr_t)(low ? low : vectors);
    ret_image->text_high = (spoor_word)(uintptr_t)(__etext ? __etext : _etext);
#if HAVE_TABLE
    ret_image->exidx_low = (spoor_word)(uintptr_t)__exidx_start;
    ret_image->exidx_high = (spoor_word)(uintptr_t)__exidx_end;
#endif
    ret_image->stacks[0].high = stack;
    ret_image->walkers = SPOOR_BY_ALL;
}

__attribute__((noinline)) size_t spoor_backtrace(spoor_word *ret_sites, size_t most) {
    struct spoor_regs regs;
    struct spoor_image image;
    struct spoor_walk walk;
    spoor_image_find(&image);
    spoor_regs_here(&regs);
    spoor_walk_begin(&walk, &image, &regs, SPOOR_AT_CALL);
    walk.by = 0; /* from this function on, without it */
    return walk_on(&walk, ret_sites, most);
}

#endif
