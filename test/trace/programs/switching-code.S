# Ways to change the stack that no library knows of.

.macro function name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
.endm

.macro finish name
    .cfi_endproc
    .size \name, . - \name
.endm

.macro save register
    push \register
    .cfi_adjust_cfa_offset 8
.endm

.macro restore register
    pop \register
    .cfi_adjust_cfa_offset -8
.endm

    .text
# switch_by_return(long **here, long *there): keeps the stack pointer in *HERE, goes on where THERE was
# kept, and returns there.
function switch_by_return
    save %rbp
    save %rbx
    save %r12
    save %r13
    save %r14
    save %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    restore %r15
    restore %r14
    restore %r13
    restore %r12
    restore %rbx
    restore %rbp
    ret
finish switch_by_return

# The same, but takes the return address off the stack and jumps.
function switch_by_jump
    save %rbp
    save %rbx
    save %r12
    save %r13
    save %r14
    save %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    restore %r15
    restore %r14
    restore %r13
    restore %r12
    restore %rbx
    restore %rbp
    restore %rcx
    jmp *%rcx
finish switch_by_jump

# Where a new stack begins: calls rbx, with r12.
    .globl start_stack
start_stack:
    mov %r12, %rdi
    call *%rbx
    ud2

# call_on(long *stack, long (*function)(long), long n): calls it there, and comes back.
function call_on
    save %rbp
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    mov %rdi, %rsp
    mov %rdx, %rdi
    call *%rsi
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
finish call_on
    .section .note.GNU-stack, "", @progbits
