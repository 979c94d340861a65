/*
 * void run_code(struct cpu *cpu, const void *code)
 *
 * Calls CODE with every general register, the flags and the red zone as CPU says, and writes back
 * what they are when it returns. See run_code.h for the offsets, and for run_code_with_vectors().
 */
    .text
    .globl run_code
    .type run_code, @function
run_code:
    push %rbx
    push %rbp
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rdi, cpu(%rip)
    mov %rsi, code(%rip)
    lea -8(%rsp), %rax
    mov %rax, 136(%rdi)           /* the stack pointer at the start of CODE */
    lea 144(%rdi), %rsi
    lea -136(%rsp), %rdi
    mov $128, %ecx
    rep movsb                     /* the red zone below it */
    mov cpu(%rip), %rdi
    push 128(%rdi)
    popf
    mov 0(%rdi), %rax
    mov 8(%rdi), %rcx
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
    call *code(%rip)
    mov %rax, rax(%rip)
    mov cpu(%rip), %rax
    mov %rcx, 8(%rax)
    mov %rdx, 16(%rax)
    mov %rbx, 24(%rax)
    mov %rbp, 40(%rax)
    mov %rsi, 48(%rax)
    mov %rdi, 56(%rax)
    mov %r8, 64(%rax)
    mov %r9, 72(%rax)
    mov %r10, 80(%rax)
    mov %r11, 88(%rax)
    mov %r12, 96(%rax)
    mov %r13, 104(%rax)
    mov %r14, 112(%rax)
    mov %r15, 120(%rax)
    pushf
    pop 128(%rax)
    cld
    lea 144(%rax), %rdi
    lea -136(%rsp), %rsi
    mov $128, %ecx
    rep movsb
    mov rax(%rip), %rcx
    mov %rcx, 0(%rax)
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size run_code, . - run_code

    .globl run_code_with_vectors
    .type run_code_with_vectors, @function
run_code_with_vectors:
    push %rbx
    mov %rdx, %rbx
    fxsave64 own(%rip)
    fxrstor64 (%rbx)
    call run_code
    fxsave64 (%rbx)
    fxrstor64 own(%rip)
    pop %rbx
    ret
    .size run_code_with_vectors, . - run_code_with_vectors

    .local cpu, code, rax, own
    .comm own, 512, 16
    .comm cpu, 8, 8
    .comm code, 8, 8
    .comm rax, 8, 8
    .section .note.GNU-stack, "", @progbits
