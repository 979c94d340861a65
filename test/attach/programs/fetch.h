/*
 * A function that faults inside the bytes that a patch covers. Each program includes this file
 * once.
 */
#pragma once

#include <stdint.h>
#include <ucontext.h>

/* Returns the word at AT. If AT is NULL a signal comes: on x86-64 at the second instruction, on
 * Arm, where patches are no larger, at the first. */
long fetch(const volatile long *at);
__asm__(".text\n"
        ".balign 16\n"
#ifdef __thumb__
        ".syntax unified\n"
        ".thumb\n"
        ".thumb_func\n"
#elif defined __arm__
        ".arm\n"
#endif
        ".globl fetch\n"
        ".type fetch, %function\n"
        "fetch:\n"
        "    .cfi_startproc\n"
#if defined __aarch64__
        "    ldr x0, [x0]\n"
        "    ret\n"
#elif defined __arm__
        "    ldr r0, [r0]\n"
        "    bx lr\n"
#else
        "    push %rbx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    mov (%rdi), %rax\n"
        "    pop %rbx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    ret\n"
#endif
        "    .cfi_endproc\n"
        "    .size fetch, . - fetch\n"
#ifdef __x86_64__
        "    .balign 16, 0xcc\n"
#endif
);

/* The address of fetch()'s code. */
static inline uintptr_t fetch_at(void) {
#ifdef __arm__
    return (uintptr_t)fetch & ~(uintptr_t)1; /* without the bit of T32 functions */
#else
    return (uintptr_t)fetch;
#endif
}

/* pc_of() and argument_of(): of the interrupted thread; AT may be changed. */
#if defined __aarch64__
static unsigned long long *argument_of(ucontext_t *c) { return &c->uc_mcontext.regs[0]; }
static inline uintptr_t pc_of(const ucontext_t *c) { return c->uc_mcontext.pc; }
#elif defined __arm__
static unsigned long *argument_of(ucontext_t *c) { return &c->uc_mcontext.arm_r0; }
static inline uintptr_t pc_of(const ucontext_t *c) { return c->uc_mcontext.arm_pc; }
#else
static greg_t *argument_of(ucontext_t *c) { return &c->uc_mcontext.gregs[REG_RDI]; }
static inline uintptr_t pc_of(const ucontext_t *c) {
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
}
#endif
