/*
 * The functions of moving.c. They have the names of functions of Go's runtime, and take and return
 * the same: the lower and the upper end of a stack, in rax and rbx. (The symbol runtime.gogo.abi0
 * shows that this convention holds.)
 */
    .text

/* void on_stack(unsigned char *top, int n): deep(n) on the stack below TOP. */
    .globl on_stack
    .type on_stack, @function
on_stack:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    push %r12
    .cfi_adjust_cfa_offset 8
    push %rbp
    .cfi_adjust_cfa_offset 8
    mov %rsp,%rbp
    .cfi_def_cfa_register %rbp
    mov %rdi,%rsp
    mov %esi,%edi
    call deep
    mov %rbp,%rsp
    pop %rbp
    .cfi_def_cfa %rsp, 24
    pop %r12
    .cfi_adjust_cfa_offset -8
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size on_stack, . - on_stack

/* Calls itself n times; the last call moves the stack. Its frames hold return addresses only. */
    .type deep, @function
deep:
    .cfi_startproc
    sub $24,%rsp
    .cfi_adjust_cfa_offset 24
    test %edi,%edi
    jz 1f
    dec %edi
    call deep
    jmp 2f
1:  call runtime.copystack
2:  add $24,%rsp
    .cfi_adjust_cfa_offset -24
    ret
    .cfi_endproc
    .size deep, . - deep

/* Moves the stack that it runs on itself, from end to end. */
    .type runtime.copystack, @function
runtime.copystack:
    .cfi_startproc
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    call runtime.stackalloc
    mov stack_end(%rip),%rsi
    mov %rbx,%rdx
    sub %rsi,%rdx
    mov %rsi,%rcx
    sub %rsp,%rcx
    mov %rsp,%rsi
    lea (%rsp,%rdx),%rdi
    add %rdx,%rsp
    rep movsb
    mov stack_end(%rip),%rdx
    mov %rbx,stack_end(%rip)
    mov %rdx,%rbx
    lea -4096(%rdx),%rax
    call runtime.stackfree
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size runtime.copystack, . - runtime.copystack

    .type runtime.stackalloc, @function
runtime.stackalloc:
    .cfi_startproc
    mov next_stack(%rip),%rax
    lea 4096(%rax),%rbx
    mov %rbx,next_stack(%rip)
    nopl 64(%rax,%rax,1)
    ret
    .cfi_endproc
    .size runtime.stackalloc, . - runtime.stackalloc
    .p2align 4

    .type runtime.stackfree, @function
runtime.stackfree:
    .cfi_startproc
    incl freed_stacks(%rip)
    nopl 64(%rax,%rax,1)
    ret
    .cfi_endproc
    .size runtime.stackfree, . - runtime.stackfree
    .p2align 4

    .globl runtime.gogo.abi0
    .type runtime.gogo.abi0, @function
runtime.gogo.abi0:
    .cfi_startproc
    nopl 64(%rax,%rax,1)
    ret
    .cfi_endproc
    .size runtime.gogo.abi0, . - runtime.gogo.abi0

/* unsigned char *first_stack(void): makes a stack, as for a new goroutine. */
    .globl first_stack
    .type first_stack, @function
first_stack:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    call runtime.stackalloc
    mov %rbx,stack_end(%rip)
    mov %rbx,%rax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size first_stack, . - first_stack

    .bss
    .p2align 3
stack_end:
    .skip 8
    .section .note.GNU-stack, "", @progbits
