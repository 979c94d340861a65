# Ways to change the stack that no library knows.

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
# switch_by_return(long **here, long *there): stores the stack pointer in *HERE, switches to the one
# kept in THERE, and returns on that stack.
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

# The same, but pops the return address and jumps to it.
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

# The first function of a new stack: calls rbx, with r12.
    .globl start_stack
start_stack:
    mov %r12, %rdi
    call *%rbx
    ud2

# call_on(long *stack, long (*function)(long), long n): calls FUNCTION on STACK, and returns.
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

# survives(long (*function)(long), long (*then)(long), long n): calls FUNCTION with N. When that has
# returned, or escaped, it calls THEN with the result, on a deeper stack.
function survives
    save %rbp
    save %rbx
    save %r12
    save %r13
    save %r14
    save %r15
    save %rsi
    lea -8(%rsp), %rax
    mov %rax, escape_place(%rip)
    mov %rdi, %rax
    mov %rdx, %rdi
    call *%rax
    mov (%rsp), %rcx
    sub $16384, %rsp
    .cfi_adjust_cfa_offset 16384
    mov %rax, %rdi
    call *%rcx
    add $16384, %rsp
    .cfi_adjust_cfa_offset -16384
    restore %rcx
    restore %r15
    restore %r14
    restore %r13
    restore %r12
    restore %rbx
    restore %rbp
    ret
finish survives

# escape(long n): leaves all calls made since survives(), which continues with N.
function escape
    mov %rdi, %rax
    mov escape_place(%rip), %rsp
    restore %rcx
    jmp *%rcx
finish escape

    .local escape_place
    .comm escape_place, 8, 8
    .section .note.GNU-stack, "", @progbits
