/* Functions whose result callers need, or not, and some that have none. */
    .macro FUNC name
    .p2align 4
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro END name
    .cfi_endproc
    .size \name, . - \name
    .endm

    .text
FUNC gives
    mov %edi, %eax
    ret
END gives
FUNC uses_gives
    call gives
    mov %eax, %esi
    ret
END uses_gives

/* As compilers do that know which registers a function leaves alone. */
FUNC leaves_alone
    mov %edi, %ecx
    ret
END leaves_alone
FUNC has_a_value_of_its_own
    mov $7, %eax
    call leaves_alone
    call leaves_alone_too
    mov %eax, %esi
    ret
END has_a_value_of_its_own
FUNC leaves_alone_too
    call leaves_alone
    ret
END leaves_alone_too

FUNC passes_on
    call gives
    add $8, %rsp
    ret
END passes_on
FUNC uses_passes_on
    call passes_on
    test %al, %al
    ret
END uses_passes_on

FUNC ignored
    mov %edi, %eax
    ret
END ignored
FUNC ignores
    call ignored
    push %rax
    xor %eax, %eax
    call ignored
    nopw 0x0(%rax,%rax,1)
    or $-1, %eax
    call ignored
    mov $1, %al
    call ignored
    call ignored
    ret
END ignores

FUNC used_later
    mov %edi, %eax
    ret
END used_later
FUNC uses_later
    call used_later
    test %edi, %edi
    je 1f
    mov $1, %eax
    ret
    .p2align 4
1:  movslq (%rsi,%rax,4), %rcx
    ret
END uses_later

FUNC gives_double
    movapd %xmm1, %xmm0
    ret
END gives_double
FUNC uses_double
    call gives_double
    addsd %xmm2, %xmm0
    ret
END uses_double

FUNC ignored_double
    movapd %xmm1, %xmm0
    ret
END ignored_double
FUNC ignores_double
    call ignored_double
    cvtsi2sd %eax, %xmm0
    call ignored_double
    xorps %xmm0, %xmm0
    ret
END ignores_double

FUNC looks_called
    mov %edi, %eax
    ret
END looks_called
FUNC has_such_a_number
    .byte 0x48, 0xb9, 0, 0, 0, 0xe8 /* movabs $…, %rcx, whose number looks like a call */
    .long looks_called - . - 4
    mov %eax, %esi
    ret
END has_such_a_number

FUNC gone
    test %edi, %edi
    je 1f
    mov %edi, %eax
1:  ret
END gone
FUNC uses_gone
    call gone
    mov $1, %al
    nop
    xor %eax, %eax
    ret
END uses_gone
FUNC all_write
    mov $1, %al
    ret
END all_write
FUNC uses_all_write
    call all_write
    xor %eax, %eax
    ret
END uses_all_write
FUNC pushed
    ret
END pushed
FUNC pushes
    call pushed
    push %rax
    pop %rcx
    xor %eax, %eax
    ret
END pushes
FUNC in_part
    ret
END in_part
FUNC reads_part
    call in_part
    mov $1, %al
    mov %eax, %ecx
    xor %eax, %eax
    ret
END reads_part
FUNC handed_on
    ret
END handed_on
FUNC hands_on
    call handed_on
    ret
END hands_on
FUNC reads_hands_on
    call hands_on
    mov %eax, %ecx
    ret
END reads_hands_on
FUNC tail_called
    ret
END tail_called
FUNC calls_tail
    jmp tail_called
END calls_tail
    .global visible
FUNC visible
    ret
END visible

/* What only the caller can need. */
FUNC makes
    push %rbx
    mov %edi, %ebx
    call gives
    mov %ebx, %eax
    pop %rbx
    ret
END makes
FUNC makes_two
    test %edi, %edi
    je 1f
    xor %eax, %eax
    jmp 2f
1:  mov $5, %eax
2:  add $8, %rsp
    ret
END makes_two
FUNC makes_one
    test %edi, %edi
    je 1f
    mov $5, %eax
    add $8, %rsp
1:  ret
END makes_one
FUNC makes_an_address
    mov %rsp, %rax
    ret
END makes_an_address
FUNC makes_double
    movaps %xmm3, %xmm0
    ret
END makes_double
FUNC needs_itself
    mov %edi, %eax
    mov %eax, (%rdx)
    ret
END needs_itself
FUNC needs_for_a_call
    mov $1, %al
    call gives
    ret
END needs_for_a_call
FUNC needs_for_a_jump
    mov $1, %al
    jmp gives
END needs_for_a_jump
FUNC overwrites
    mov %edi, %eax
    pop %rax
    ret
END overwrites
FUNC loads
    mov (%rdi), %eax
    ret
END loads
FUNC cleans_up
    xor %eax, %eax
    ret
END cleans_up
FUNC compares
    sub %esi, %eax
    je 1f
    incl (%rdi)
1:  ret
END compares

FUNC taken
    ret
END taken
FUNC takes
    lea taken(%rip), %rdi
    ret
END takes
FUNC in_data
    ret
END in_data
    .section .data.rel, "aw"
    .quad in_data
    .section .note.GNU-stack, "", @progbits
