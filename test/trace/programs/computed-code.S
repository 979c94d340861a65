/* See computed.c. Each slot has two bytes, so that the last ones lie where returns would be patched. Behind
 * each return there is room. */
    .text

/* int scaled(long n), n < 8: 8 - n. */
    .globl scaled
    .type scaled, @function
scaled:
    .cfi_startproc
    lea 1f(%rip),%rdx
    lea (%rdx,%rdi,2),%rdi
    xor %eax,%eax
    jmp *%rdi
1:  .rept 8
    inc %eax
    .endr
    ret
    .cfi_endproc
    .skip 8, 0x90
    .size scaled, . - scaled - 8

/* int added(long n): the same. */
    .globl added
    .type added, @function
added:
    .cfi_startproc
    lea 1f(%rip),%r9
    xor %eax,%eax
    mov %rdi,%r10
    add %r10,%r10
    add %r10,%r9
    jmp *%r9
1:  .rept 8
    inc %eax
    .endr
    ret
    .cfi_endproc
    .skip 8, 0x90
    .size added, . - added - 8

/* int framed(long n): the same, with a frame. */
    .globl framed
    .type framed, @function
framed:
    .cfi_startproc
    lea 1f(%rip),%r8
    push %rbx
    .cfi_adjust_cfa_offset 8
    lea (%rdi,%rdi),%rcx
    mov %r8,%rbx
    lea (%rcx,%rbx),%rbx
    xor %eax,%eax
    jmp *%rbx
1:  .rept 8
    inc %eax
    .endr
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .skip 8, 0x90
    .size framed, . - framed - 8

#ifndef __PIE__
/* int absolute(long n): the same, in a program at a fixed address. */
    .globl absolute
    .type absolute, @function
absolute:
    .cfi_startproc
    lea 1f(,%rdi,2),%rdi
    xor %eax,%eax
    jmp *%rdi
1:  .rept 8
    inc %eax
    .endr
    ret
    .cfi_endproc
    .skip 8, 0x90
    .size absolute, . - absolute - 8
#endif

    .section .note.GNU-stack,"",@progbits
