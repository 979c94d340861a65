# Every form of return and tail jump, and jumps within a function whose targets no analysis can
# know. Functions take a number in rdi. Those that jump go on as exit_target(n), which returns 3n+1.
# With NO_CFI there is no call-frame information, only code.

#ifdef NO_CFI
#define CFI(x)
#else
#define CFI(x) x
#endif

.macro FUNC name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    CFI(.cfi_startproc)
.endm
.macro END name
    CFI(.cfi_endproc)
    .size \name, . - \name
.endm

    .text
FUNC ret_plain
    lea 1(%rdi), %rax
    ret
END ret_plain

FUNC ret_rep
    lea 2(%rdi), %rax
    rep ret
END ret_rep

FUNC ret_bnd
    lea 3(%rdi), %rax
    bnd ret
END ret_bnd

# Takes its argument from the stack, and removes it.
FUNC ret_popping
    mov 8(%rsp), %rax
    lea 4(%rax), %rax
    ret $8
END ret_popping

FUNC ret_popping_bnd
    mov 8(%rsp), %rax
    lea 5(%rax), %rax
    bnd ret $8
END ret_popping_bnd

# Called from C: number in rdi, function in rsi.
FUNC call_popping
    push %rbx
    CFI(.cfi_adjust_cfa_offset 8)
    mov %rsp, %rbx
    push %rdi
    CFI(.cfi_adjust_cfa_offset 8)
    call *%rsi
    CFI(.cfi_adjust_cfa_offset -8)
    sub %rsp, %rbx          # 0 if the argument was removed
    add %rbx, %rax
    pop %rbx
    CFI(.cfi_adjust_cfa_offset -8)
    ret
END call_popping

FUNC tail_short
    .byte 0x0f, 0x1f, 0x40, 0
    lea (%rdi), %rdi
    jmp exit_target
END tail_short

FUNC exit_target
    lea (%rdi, %rdi, 2), %rax
    lea 1(%rax), %rax
    ret
END exit_target

    .skip 200, 0xcc
FUNC tail_long
    lea (%rdi), %rdi
    jmp exit_target
END tail_long

FUNC tail_bnd
    lea (%rdi), %rdi
    bnd jmp exit_target
END tail_bnd

FUNC tail_conditional
    lea 7(%rdi), %rax
    test %rdi, %rdi
    je exit_target
    ret
END tail_conditional

FUNC tail_register
    lea exit_target(%rip), %rax
    jmp *%rax
END tail_register

FUNC tail_notrack
    lea exit_target(%rip), %r11
    notrack jmp *%r11
END tail_notrack

FUNC tail_bnd_register
    lea exit_target(%rip), %rax
    bnd jmp *%rax
END tail_bnd_register

FUNC tail_slot
    lea (%rdi), %rdi
    jmp *exit_slot(%rip)
END tail_slot

FUNC tail_notrack_slot
    lea (%rdi), %rdi
    notrack jmp *exit_slot(%rip)
END tail_notrack_slot

# Through a pointer in memory whose address only registers know.
FUNC tail_member
    lea exit_slot - 24(%rip), %rax
    jmp *24(%rax)
END tail_member

# Behind a frame of its own.
FUNC tail_framed
    push %rbx
    CFI(.cfi_adjust_cfa_offset 8)
    mov %rdi, %rbx
    lea (%rbx), %rdi
    pop %rbx
    CFI(.cfi_adjust_cfa_offset -8)
    jmp exit_target
END tail_framed

# Continues inside itself, at a computed place: each step has 8 bytes.
FUNC computes
    push %rbx
    CFI(.cfi_adjust_cfa_offset 8)
    and $3, %edi
    lea 1f(%rip), %rax
    lea (%rax, %rdi, 8), %rax
    xor %ebx, %ebx
    notrack jmp *%rax
    .p2align 3
1:  add $1, %ebx
    .byte 0x0f, 0x1f, 0x44, 0, 0
    add $2, %ebx
    .byte 0x0f, 0x1f, 0x44, 0, 0
    add $4, %ebx
    .byte 0x0f, 0x1f, 0x44, 0, 0
    add $8, %ebx
    .byte 0x0f, 0x1f, 0x44, 0, 0
    mov %rbx, %rax
    pop %rbx
    CFI(.cfi_adjust_cfa_offset -8)
    ret
END computes

# Through a table of offsets from a label in the code, as in glibc.
FUNC by_label
    and $3, %edi
    lea offsets(%rip), %rdx
    movslq (%rdx, %rdi, 4), %rdx
    lea 1f(%rip), %rax
    add %rdx, %rax
    notrack jmp *%rax
1:  mov $10, %eax
    ret
2:  mov $20, %eax
    ret
3:  mov $30, %eax
    ret
4:  lea 30(%rdi), %rax
    ret
END by_label

    .section .rodata
    .p2align 2
offsets:
    .long 1b - 1b, 2b - 1b, 3b - 1b, 4b - 1b

    .section .data.rel.ro, "aw", @progbits
    .p2align 3
exit_slot:
    .quad exit_target

    .section .note.GNU-stack, "", @progbits
