/* Functions that only a trap serves, at addresses so low that puns lead below zero. */
    .macro function name
    .globl \name
    .type \name, @function
    .fill 16, 1, 0xf4
\name:
    .cfi_startproc
    .endm
    .macro done name
    .cfi_endproc
    .size \name, . - \name
    .endm

    .text
    .globl _start
_start:
    call loops
    call skips_a_prefix
    call narrow_exit
    call calls_first
    call asks_the_kernel
    call breaks
    call counts
    call puns
    hlt

    function loops /* a branch leads to its second byte */
    nop
1:  dec %edi
    jnz 1b
    imul $3, %edi, %eax
    add $2, %eax
    ret
    done loops

    function skips_a_prefix /* a branch leads into its first instruction */
    .byte 0xf0
1:  addl $1, (%rdi)
    dec %esi
    jnz 1b
    mov %esi, %eax
    ret
    done skips_a_prefix

    function narrow_exit /* its first return is a branch target, and another target follows */
    mov %rdi, %rax
    test %rdi, %rdi
    .globl narrow_branch
narrow_branch:
    jz 2f
    js 3f
    add $1000, %rax
    ret
    .globl narrow_return
narrow_return:
2:  ret
3:  mov $0x90909090, %edx
    neg %rax
    not %rax
    ret
    done narrow_exit

    function calls_first /* a trap cannot move an indirect call */
    call *%rax
    ret
    done calls_first

    function asks_the_kernel
    syscall
1:  dec %edi
    jnz 1b
    ret
    done asks_the_kernel

    function breaks
    int3
1:  dec %edi
    jnz 1b
    ret
    done breaks

    function counts /* a jump by a counter is an exit that cannot be moved */
    mov %rdi, %rcx
    mov %rdi, %rax
    .globl counting
counting:
    jrcxz 9f
    ret
    done counts
9:  mov $7, %eax
    ret

    function puns /* leads to an address that may be mapped, if that is permitted */
    lea 5(%rdi), %rax
1:  mov $0x7f, %dl
    dec %rax
    cmp %rdi, %rax
    jg 1b
    ret
    done puns
    .section .note.GNU-stack, "", @progbits
