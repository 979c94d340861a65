/* What functions that are not optimised do first with what they were passed. */
    .macro FUNC name
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro END name
    .cfi_endproc
    .size \name, . - \name
    .endm
    .macro FRAME bytes
    sub $\bytes, %rsp
    .cfi_def_cfa_offset \bytes + 8
    .endm

    .text
FUNC stores
    FRAME 0x48
    mov %edi, 0x8(%rsp)
    mov %rsi, 0x10(%rsp)
    movsd %xmm0, 0x18(%rsp)
    mov %dl, 0x20(%rsp)
    mov %rcx, 0x10(%rsp)
    movb $7, 0x28(%rsp)
    call other
    mov %r8, 0x30(%rsp)
    ret
END stores

FUNC copies
    push %rbp
    .cfi_def_cfa_offset 16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $0x40, %rsp
    mov %esi, %eax
    mov %edi, %esi
    mov %eax, -0x8(%rbp)
    mov -0x8(%rbp), %ecx
    mov %ecx, -0x10(%rbp)
    mov %rsi, -0x18(%rbp)
    movq %xmm1, %rdx
    mov %rdx, -0x20(%rbp)
    mov 0x18(%rbp), %rax
    mov %rax, -0x28(%rbp)
    and $1, %r8b
    mov %r8b, -0x29(%rbp)
    inc %r9
    mov %r9, -0x38(%rbp)
    mov %ah, -0x39(%rbp)
    leave
    ret
END copies

/* A pointer that is kept for a while only. */
FUNC pointers
    FRAME 0x18
    mov %rsi, 0x8(%rsp)
    .globl pointers_kept
pointers_kept:
    mov 0x8(%rsp), %rdi
    .globl pointers_moved
pointers_moved:
    mov %rdx, 0x8(%rsp)
    jmp pointers_end
    .globl pointers_end
pointers_end:
    ret
END pointers

/* The prologue touches each page. */
FUNC probes
    lea -0x2000(%rsp), %r11
    .cfi_def_cfa %r11, 0x2008
1:  sub $0x1000, %rsp
    movq $0, (%rsp)
    cmp %r11, %rsp
    jne 1b
    .cfi_def_cfa_register %rsp
    sub $0x100, %rsp
    .cfi_def_cfa_offset 0x2108
    mov %rdi, 0x8(%rsp)
    ret
END probes

/* Stores to places that only the registers tell. */
FUNC wild
    FRAME 0x18
    mov %rdi, (%rsp,%rdi,8)
    mov %rsi, 0x8(%rsp)
    ret
END wild

other:
    ret
    .section .note.GNU-stack, "", @progbits
