/* See hold.h. */
#include "hold.h"

    .data
    .balign 4
    .globl hold_flag
hold_flag:
    .long 0

    .text
    .globl hold_registers, hold_loop, hold_loop_end
hold_registers:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    push %rsi
    mov HELD_COMPONENTS(%rdi), %eax
    mov HELD_COMPONENTS + 4(%rdi), %edx
    mov HELD_EXTENDED(%rdi), %rcx
    xrstor64 (%rcx)
    pushq HELD_FLAGS(%rdi)
    mov 0(%rdi), %rax
    mov 16(%rdi), %rdx
    mov 24(%rdi), %rbx
    mov 40(%rdi), %rbp
    mov 48(%rdi), %rsi
    mov 64(%rdi), %r8
    mov 72(%rdi), %r9
    mov 80(%rdi), %r10
    mov 88(%rdi), %r11
    mov 96(%rdi), %r12
    mov 104(%rdi), %r13
    mov 112(%rdi), %r14
    mov 120(%rdi), %r15
    mov 56(%rdi), %rdi
    popfq
hold_loop: /* changes rcx only */
    pause
    mov hold_flag(%rip), %ecx
    jrcxz hold_loop
hold_loop_end:
    pushfq
    push %rdi
    mov 16(%rsp), %rdi
    mov %rax, 0(%rdi)
    mov %rdx, 16(%rdi)
    mov %rbx, 24(%rdi)
    mov %rbp, 40(%rdi)
    mov %rsi, 48(%rdi)
    popq 56(%rdi)
    mov %r8, 64(%rdi)
    mov %r9, 72(%rdi)
    mov %r10, 80(%rdi)
    mov %r11, 88(%rdi)
    mov %r12, 96(%rdi)
    mov %r13, 104(%rdi)
    mov %r14, 112(%rdi)
    mov %r15, 120(%rdi)
    popq HELD_FLAGS(%rdi)
    cld
    mov HELD_COMPONENTS(%rdi), %eax
    mov HELD_COMPONENTS + 4(%rdi), %edx
    mov HELD_EXTENDED(%rdi), %rcx
    xsave64 (%rcx)
    pop %rsi
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret

    .globl hold_trap
hold_trap:
    int3

    .section .note.GNU-stack, "", @progbits
