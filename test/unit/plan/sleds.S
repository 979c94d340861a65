/*
 * XRay sleds as Clang writes them, calls of a profiler, and the lists that name both. Labels as in
 * rules.S; labels that begin with .L are local to this file.
 */
    .macro FUNC name
    .p2align 4, 0xcc
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro END name
    .cfi_endproc
    .size \name, . - \name
    .endm
    .macro NOPS9
    .byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0
    .endm
    .macro NOP5
    .byte 0x0f, 0x1f, 0x44, 0, 0
    .endm
    .macro ENTRY_SLED
    .byte 0xeb, 9
    NOPS9
    .endm
    .macro EXIT_SLED
    ret
    .byte 0x2e
    NOPS9
    .endm

    .text
/* An entry and a return, both with room beside the sled. */
FUNC roomy
.Lroomy:
    ENTRY_SLED
    lea 1(%rdi), %eax
    lea 2(%rax), %ecx
    lea 3(%rax), %edx
    lea 4(%rcx, %rdx), %eax
    lea 5(%rcx, %rdx), %ecx
.Lroomy_exit:
    EXIT_SLED
END roomy

/* The entry has a landing instruction and a nop that aligns the sled. */
FUNC landed
    endbr64
    nop
.Llanded:
    ENTRY_SLED
    lea 1(%rdi), %eax
    lea 2(%rax), %ecx
    lea 4(%rcx, %rdx), %eax
.Llanded_exit:
    EXIT_SLED
END landed

/* The entry's window reaches to the exit: one window serves both. */
FUNC short
.Lshort:
    ENTRY_SLED
    lea 1(%rdi), %eax
    inc %ecx
.Lshort_exit:
    EXIT_SLED
END short

/* A tail jump behind its sled. */
FUNC jumping
.Ljumping:
    ENTRY_SLED
    lea 1(%rdi), %edi
    lea 2(%rdi), %edi
.Ljumping_tail:
    ENTRY_SLED
at_jumping_jump:
    jmp roomy
END jumping

/* A branch leads to its return, so code before the sled does not see all returns. */
FUNC branched
.Lbranched:
    ENTRY_SLED
    lea 1(%rdi), %eax
    test %edi, %edi
    je 1f
    lea 2(%rax), %ecx
    lea 4(%rcx, %rdx), %eax
1:
.Lbranched_exit:
    EXIT_SLED
END branched
    .skip 16, 0x90 /* a hole for it */

/* Consists of sleds only. */
FUNC bodiless
.Lbodiless:
    ENTRY_SLED
.Lbodiless_exit:
    EXIT_SLED
END bodiless
    .skip 16, 0x90

/* A sled of a custom event: the runtime replaces the jump over the call. */
FUNC eventful
.Leventful:
    ENTRY_SLED
    lea 1(%rdi), %eax
    lea 4(%rcx, %rdx), %eax
.Leventful_event:
    .byte 0xeb, 5
    push %rax
    .cfi_adjust_cfa_offset 8
    nopl 0(%rax)
    pop %rax
    .cfi_adjust_cfa_offset -8
    lea 5(%rcx, %rdx), %ecx
    lea 6(%rcx, %rdx), %ecx
.Leventful_exit:
    EXIT_SLED
END eventful

/* The list names a sled that is none. The program may write there nevertheless. */
FUNC lied_about
    lea 1(%rdi), %eax
.Llie:
    lea 4(%rcx, %rdx), %eax
    lea 5(%rcx, %rdx), %eax
    lea 6(%rcx, %rdx), %eax
    lea 7(%rcx, %rdx), %eax
    lea 8(%rcx, %rdx), %eax
    ret
END lied_about

/* A pun at this jump has one byte of its own; its other bytes would be the sled's. */
    .skip 300, 0xf4 /* nothing is near */
    .type before_sled, @function
before_sled:
    .cfi_startproc
    jmp *%rdi
END before_sled
    .type behind, @function
behind:
    .cfi_startproc
.Lbehind:
    ENTRY_SLED
    lea 1(%rdi), %eax
    lea 4(%rcx, %rdx), %eax
.Lbehind_exit:
    EXIT_SLED
END behind
    .skip 300, 0xf4

/* The nop in place of a profiler call, not listed. */
FUNC nop_at_entry
    NOP5
    lea 1(%rdi), %eax
    ret
END nop_at_entry

/* Listed: not a branch target, because no code jumps there. */
FUNC profiled
    push %rbp
    .cfi_adjust_cfa_offset 8
    mov %rsp, %rbp
.Lprofiled:
    NOP5
    pop %rbp
    .cfi_adjust_cfa_offset -8
    ret
END profiled

/* Listed, but neither call nor nop: its meaning is unknown. */
FUNC lied_profiled
    lea 1(%rdi), %eax
at_lied_profiled:
    inc %eax
    lea 2(%rdi), %ecx
    ret
END lied_profiled

    .macro SLED at, kind, of
1:  .quad \at - 1b, \of - (1b + 8)
    .byte \kind, 0, 2
    .skip 13
    .endm
    .section xray_instr_map, "aw", @progbits
    SLED .Lroomy, 0, .Lroomy
    SLED .Lroomy_exit, 1, .Lroomy
    SLED .Llanded, 0, .Llanded
    SLED .Llanded_exit, 1, .Llanded
    SLED .Lshort, 3, .Lshort
    SLED .Lshort_exit, 1, .Lshort
    SLED .Ljumping, 0, .Ljumping
    SLED .Ljumping_tail, 2, .Ljumping
    SLED .Lbranched, 0, .Lbranched
    SLED .Lbranched_exit, 1, .Lbranched
    SLED .Lbodiless, 0, .Lbodiless
    SLED .Lbodiless_exit, 1, .Lbodiless
    SLED .Leventful, 0, .Leventful
    SLED .Leventful_event, 4, .Leventful
    SLED .Leventful_exit, 1, .Leventful
    SLED .Llie, 0, .Llie
    SLED .Lbehind_exit, 1, .Lbehind
    /* An entry of older compilers: an address. */
    .quad .Lbehind, .Lbehind
    .byte 0, 0, 0
    .skip 13

    .section __mcount_loc, "aw", @progbits
    .quad .Lprofiled, at_lied_profiled

    .section .note.GNU-stack, "", @progbits
