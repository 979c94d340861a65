/*
 * Functions without call-frame information. Traceable ones begin with an instruction of five bytes
 * and have room behind each return. So only the proof by their code decides.
 */
    .macro TIED name
    .pushsection .data.rel.ro, "aw"
    .quad \name
    .popsection
    .endm
    .macro LOOSE name
    .p2align 4
    .type \name, @function
\name:
    mov $1, %eax
    .endm
    .macro FUNC name
    TIED \name
    LOOSE \name
    .endm
    .macro RETURN
    ret
    .nops 4
    .endm
    .macro END name
    .size \name, . - \name
    .endm

    .text
    .globl exported
FUNC exported
    RETURN
END exported

/* ---- frames ---- */
FUNC framed
    push %rbp
    mov %rsp, %rbp
    sub $32, %rsp
    mov %edi, -4(%rbp)
    leave
    RETURN
END framed

FUNC realigned
    lea 8(%rsp), %r10
    and $-32, %rsp
    push -8(%r10)
    push %rbp
    mov %rsp, %rbp
    push %r10
    sub $40, %rsp
    call exported
    mov -8(%rbp), %r10
    leave
    lea -8(%r10), %rsp
    RETURN
END realigned

FUNC varies
    push %rbp
    mov %rsp, %rbp
    push %rbx
    sub %rdi, %rsp
    lea -8(%rbp), %rsp
    pop %rbx
    pop %rbp
    RETURN
END varies

/* No register keeps the old stack pointer, and two writes need not cancel each other. */
FUNC varies_for_good
    sub %rdi, %rsp
    add %rdi, %rsp
    RETURN
END varies_for_good

/* The saved stack pointer is overwritten. */
FUNC loses_its_frame
    lea 8(%rsp), %r10
    and $-32, %rsp
    push %r10
    mov %rdi, (%rsp)
    pop %r10
    lea -8(%r10), %rsp
    RETURN
END loses_its_frame

FUNC loses_its_frame_in_part
    lea 8(%rsp), %r10
    and $-32, %rsp
    push %r10
    movl $0, 4(%rsp)
    pop %r10
    lea -8(%r10), %rsp
    RETURN
END loses_its_frame_in_part

FUNC loses_its_frame_to_another
    lea 8(%rsp), %r10
    and $-32, %rsp
    push %r10
    pop %rdx
    push %rdi
    pop %r10
    lea -8(%r10), %rsp
    RETURN
END loses_its_frame_to_another

FUNC loses_its_frame_to_a_callee
    lea 8(%rsp), %r10
    and $-32, %rsp
    push %r10
    pop %rdx
    call exported
    mov -8(%rsp), %r10
    lea -8(%r10), %rsp
    RETURN
END loses_its_frame_to_a_callee

FUNC asks_where_it_is
    call 1f
1:  pop %rdx
    RETURN
END asks_where_it_is

/* Both ways push and pop equally often. */
FUNC both_ways
    push %rbx
    test %edi, %edi
    js 1f
    add $8, %rsp
    jmp 2f
1:  pop %rbx
2:  RETURN
END both_ways

FUNC one_way_deeper
    test %edi, %edi
    js 1f
    push %rbx
1:  lea (%rdi,%rdi), %rdx
    RETURN
END one_way_deeper

/* ---- ends ---- */
FUNC returns_elsewhere
    push %rdi
    RETURN
END returns_elsewhere

FUNC tail_call
    push %rbx
    mov %edi, %ebx
    pop %rbx
    jmp framed
    .nops 4
END tail_call

FUNC tail_call_with_a_frame
    push %rbx
    mov %edi, %ebx
    jmp framed
    .nops 4
END tail_call_with_a_frame

FUNC jumps_by_pointer
    mov %rdi, %rax
    jmp *%rax
    .nops 4
END jumps_by_pointer

FUNC jumps_by_pointer_with_a_frame
    push %rbx
    mov %rdi, %rax
    jmp *%rax
    .nops 4
END jumps_by_pointer_with_a_frame

/* As longjmp. */
FUNC leaves_its_stack
    mov 48(%rdi), %rsp
    jmp *56(%rdi)
    .nops 4
END leaves_its_stack

/* Calls that do not return: before the end, and before code at another depth. */
FUNC gives_up_last
    push %rbx
    test %edi, %edi
    js 1f
    pop %rbx
    RETURN
1:  call exported
END gives_up_last

FUNC gives_up_amid
    push %rbx
    test %edi, %edi
    js 1f
    pop %rbx
    jmp 2f
1:  push %rax
    call exported
2:  lea (%rdi,%rdi), %rdx
    RETURN
END gives_up_amid

FUNC switches
    push %rbx
    mov %edi, %edi
    lea table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
at_arm0:
    inc %ecx
at_arm1:
    pop %rbx
    RETURN
END switches

FUNC split
    push %rbx
    test %edi, %edi
    js split.cold
at_back:
    pop %rbx
    RETURN
END split

/* ---- facts from symbols ---- */
    .p2align 4
    .type without_size, @function
without_size:
    TIED without_size
    mov $1, %eax
    test %edi, %edi
    js 1f
    lea (%rdi,%rdi), %rdx
    RETURN
1:  mov $2, %ecx
    ret
    .byte 0x06, 0x07, 0x06, 0x07

FUNC falls
    push %rbx
    pop %rbx
END falls
    .type fallen_into, @function
fallen_into:
    TIED fallen_into
    mov $2, %eax
    RETURN
END fallen_into

FUNC falls_with_a_frame
    push %rbx
END falls_with_a_frame
    .type fallen_into_with_a_frame, @function
fallen_into_with_a_frame:
    TIED fallen_into_with_a_frame
    mov $2, %eax
    pop %rbx
    RETURN
END fallen_into_with_a_frame

FUNC entered_amid
    push %rbx
at_amid:
    pop %rbx
    RETURN
END entered_amid
/* code of no function */
    push %rax
    jmp at_amid

FUNC outer
    lea (%rdi,%rdi), %rdx
    .type inner, @function
inner:
    mov $2, %ecx
    RETURN
END inner
END outer

/* Two functions share one end, at one depth; three share one, at two depths. */
FUNC lends_its_end
    push %rbx
    mov %edi, %ebx
at_shared_end:
    pop %rbx
    RETURN
END lends_its_end
FUNC takes_the_end
    push %rbx
    mov $3, %ebx
    jmp at_shared_end
    .nops 4
END takes_the_end
FUNC owns_the_end
    push %rbx
    mov %edi, %ebx
at_end:
    pop %rbx
    RETURN
END owns_the_end
FUNC borrows_the_end
    push %rbx
    mov $3, %ebx
    jmp at_end
    .nops 4
END borrows_the_end
FUNC borrows_another_end
    jmp at_end
    .nops 4
END borrows_another_end

/* Only an address in described code refers to them, and they refer to nothing. */
LOOSE might_be_copied
    call might_be_copied_too
    RETURN
END might_be_copied
LOOSE might_be_copied_too
    RETURN
END might_be_copied_too
LOOSE is_called
    RETURN
END is_called
LOOSE uses_data
    mov table(%rip), %edx
    RETURN
END uses_data
LOOSE calls_one_that_uses_data
    call uses_data
    RETURN
END calls_one_that_uses_data

    .p2align 4
    .type described, @function
described:
    .cfi_startproc
    lea might_be_copied(%rip), %rax
    jmp is_called
    .cfi_endproc
    .size described, . - described

FUNC data
    .byte 0x06, 0x07, 0x06, 0x07
END data

/* Consists of nops only. */
    TIED nops_alone
    .p2align 4
    .type nops_alone, @function
nops_alone:
    nop
END nops_alone
    .type behind_nops, @function
    TIED behind_nops
behind_nops:
    mov $1, %eax
    RETURN
END behind_nops

/* Jumps through a word: a stub whose linker reads the data behind it, and one without such data. */
    TIED stub_with_data
    .p2align 4
    .type stub_with_data, @function
stub_with_data:
    jmp *word(%rip)
    .long 5
END stub_with_data

    TIED stub_alone
    .p2align 4
    .type stub_alone, @function
stub_alone:
    jmp *word(%rip)
    .nops 2
END stub_alone

    .p2align 4
    .type described_in_part, @function
described_in_part:
    mov $1, %eax
    .cfi_startproc
    mov $2, %eax
    ret
    .cfi_endproc
    .size described_in_part, . - described_in_part

    .section .text.unlikely, "ax", @progbits
    .type split.cold, @function
split.cold:
    inc %ecx
    js at_back
    pop %rbx
    RETURN
    .size split.cold, . - split.cold

    .data
word:
    .quad exported

    .section .rodata
    .p2align 2
table:
    .long at_arm0 - table, at_arm1 - table
    .section .note.GNU-stack, "", @progbits
