/*
 * The functions of computed.c. Each slot has two bytes, so the last slots lie where patches of
 * returns would be. Behind each return is unused room.
 */
    .text

    .macro begin name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm

/* The targets of the jump: a slot for each count. */
    .macro slots
1:  .rept 8
    inc %eax
    .endr
    .endm

    .macro finish name
    ret
    .cfi_endproc
    .skip 8, 0x90
    .size \name, . - \name - 8
    .endm

/* int scaled(long n), n < 8: 8 - n. */
    begin scaled
    lea 1f(%rip),%rdx
    lea (%rdx,%rdi,2),%rdi
    xor %eax,%eax
    jmp *%rdi
    slots
    finish scaled

/* int added(long n): the same. */
    begin added
    lea 1f(%rip),%r9
    xor %eax,%eax
    mov %rdi,%r10
    add %r10,%r10
    add %r10,%r9
    jmp *%r9
    slots
    finish added

/* int framed(long n): the same, with a frame. */
    begin framed
    lea 1f(%rip),%r8
    push %rbx
    .cfi_adjust_cfa_offset 8
    lea (%rdi,%rdi),%rcx
    mov %r8,%rbx
    lea (%rcx,%rbx),%rbx
    xor %eax,%eax
    jmp *%rbx
    slots
    pop %rbx
    .cfi_adjust_cfa_offset -8
    finish framed

#ifndef __PIE__
/* int absolute(long n): the same, in a program at a fixed address. */
    begin absolute
    lea 1f(,%rdi,2),%rdi
    xor %eax,%eax
    jmp *%rdi
    slots
    finish absolute
#endif

    .section .note.GNU-stack,"",@progbits
