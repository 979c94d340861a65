/*
 * Functions at fixed addresses, one shape each. explain.py states what `spoor explain` draws of
 * them.
 */
    .macro function name
    .globl \name
    .type \name, @function
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
    hlt
    .fill 15, 1, 0xcc

    function roomy
    mov %rdi, %rax
    add $1, %rax
    imul %rsi, %rax
    ret
    done roomy
    .fill 19, 1, 0xcc

    function narrow /* a call is too near for a jump, but a hole is near, too */
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %edi, %ebx
    call roomy
    add %rbx, %rax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    done narrow

    function looping /* a branch leads to its second byte, and a pun would lead below address 0 */
    nop
1:  dec %edi
    jnz 1b
    test %esi, %esi
    jz roomy
    xor %eax, %eax
    ret
    done looping

    function first_call /* the call must be moved */
    call roomy
    ret
    done first_call

    function falling /* its last instruction is no exit */
    mov %rax, %rsp
    done falling
    function next
    add %rax, %rax
    ret
    done next
    .section .note.GNU-stack, "", @progbits
