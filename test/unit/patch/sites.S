/*
 * Functions that need stubs of every kind, for test_settle.c. Each takes numbers in rdi and rsi,
 * may read the carry flag, and returns a number.
 */
    .macro function name
    .globl \name
    .type \name, @function
    .balign 32
\name:
    .cfi_startproc
    .endm
    .macro endf name
    .cfi_endproc
    .size \name, . - \name
    .endm

    .text
/* An entry and a return. */
function site_plain
    lea 0x11(%rdi), %rax
    lea 0x22(%rax, %rsi), %rax
    xor %ecx, %ecx
    mov $7, %edx
    lea 1(%rax), %rax
    ret
endf site_plain

/* Flags are live at the entry. */
function site_flags
    adc $5, %rdi
    lea 0x7(%rdi, %rsi), %rax
    lea 1(%rax, %rax), %rax
    ret
endf site_flags

/* The entry is the head of a loop that uses the red zone. */
function site_loop
    mov %rsi, -8(%rsp)
    mov %rdi, -16(%rsp)
    dec %rsi
    jne site_loop
    mov -8(%rsp), %rax
    add -16(%rsp), %rax
    ret
endf site_loop

/* The same, with live flags at the entry. */
function site_loop_flags
    adc $1, %rdi
    mov %rdi, -16(%rsp)
    lea -1(%rsi), %rsi
    inc %rsi
    dec %rsi
    jne site_loop_flags
    mov -16(%rsp), %rax
    lea 1(%rax), %rax
    ret
endf site_loop_flags

/* Leaves by a tail call. */
function site_tail
    lea 3(%rdi), %rdi
    lea 5(%rsi), %rsi
    lea 2(%rdi, %rsi), %rdi
    jmp site_plain
endf site_tail

/* Leaves by a conditional tail call. */
function site_maybe
    lea 3(%rsi), %rsi
    test $1, %rdi
    jne site_plain
    lea 9(%rdi, %rsi), %rax
    lea 1(%rax, %rax), %rax
    ret
endf site_maybe

/* Leaves through a word in memory, and through a register. */
function site_leap
    lea 3(%rdi), %rdi
    lea 5(%rsi), %rsi
    lea 2(%rdi, %rsi), %rdi
    jmp *site_slot(%rip)
endf site_leap

function site_leap_register
    mov site_slot(%rip), %rax
    lea 5(%rsi), %rsi
    lea 2(%rdi, %rsi), %rdi
    jmp *%rax
endf site_leap_register

/* Begins with its return. */
function site_empty
    ret
endf site_empty

/* Begins with a tail call. */
function site_thunk
    jmp site_plain
endf site_thunk

/* Begins with a tail call on a condition. */
function site_if
    jc site_plain
    lea 9(%rdi, %rsi), %rax
    lea 1(%rax, %rax), %rax
    ret
endf site_if

/* Begins with a load relative to the pc. */
function site_load
    mov site_slot(%rip), %rdx
    lea 9(%rdi, %rsi), %rax
    ret
endf site_load

/* Branches by a counter inside its window. */
function site_count
    lea 3(%rsi), %rsi
    jrcxz 1f
    lea 9(%rdi, %rsi), %rax
    lea 1(%rax, %rax), %rax
1:  ret
endf site_count

/* Reads memory at rdi in the middle of its window. */
function site_fault
    lea 3(%rsi), %rsi
    mov (%rdi), %rax
    lea 9(%rax, %rsi), %rax
    ret
endf site_fault

/* Sets flags in the middle of its window. */
function site_popf
    pushf
    .cfi_adjust_cfa_offset 8
    popf
    .cfi_adjust_cfa_offset -8
    lea 3(%rdi), %rdi
    lea 9(%rdi, %rsi), %rax
    lea 1(%rax, %rax), %rax
    ret
endf site_popf

/* Too little room for a jump at its entry: hops into padding. */
function site_hop
    xor %eax, %eax
1:  lea 1(%rax, %rdi), %rax
    dec %rsi
    jne 1b
    lea 3(%rax), %rax
    ret
endf site_hop

/* The ways to its return are patched to return: a branch, a jump, and running into it. */
function site_ways
    lea 3(%rdi), %rax
    cmp $2, %rsi
    jb 1f
    je 2f
    lea 5(%rax, %rsi), %rax
1:  ret
2:  lea 9(%rax, %rax), %rax
    lea 1(%rax), %rax
    jmp 1b
endf site_ways

/* Runs on into the next function. */
function site_falls
    lea 3(%rdi), %rdi
    lea 5(%rsi), %rsi
    lea 2(%rdi, %rsi), %rdi
endf site_falls
function site_fallen
    lea 0x11(%rdi), %rax
    lea 0x22(%rax, %rsi), %rax
    ret
endf site_fallen

/* Begins with a call through a word, with no hole near. */
function site_through
    call *site_slot(%rip)
    lea 3(%rax), %rax
    lea 1(%rax, %rsi), %rax
    ret
endf site_through

/* With XRay's sleds: the events are recorded beside them. */
function site_sled
.Lsled_entry:
    .byte 0xeb, 9
    nopw 512(%rax, %rax)
    lea 3(%rdi), %rax
    lea 5(%rax, %rsi), %rax
    lea 7(%rax), %rax
    lea 9(%rax), %rax
.Lsled_exit:
    ret
    .byte 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0
endf site_sled

/* The sled's head is patched, because a branch also leads to it. */
function site_sled_head
    lea 3(%rdi), %rax
    lea 5(%rax, %rsi), %rax
    test $1, %rdi
    jne .Lhead_exit
    lea 7(%rax), %rax
.Lhead_exit:
    ret
    .byte 0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0
endf site_sled_head

    .macro sled at, of, kind
1:  .quad \at - 1b, \of - (1b + 8)
    .byte \kind, 0, 2
    .skip 13
    .endm
    .section xray_instr_map, "a", @progbits
    sled .Lsled_entry, .Lsled_entry, 0
    sled .Lsled_exit, .Lsled_entry, 1
    sled .Lhead_exit, .Lhead_exit, 1

    .text
/* Begins with a direct call. */
function site_call
    call site_plain
    lea 3(%rax), %rax
    lea 1(%rax, %rsi), %rax
    ret
endf site_call

/* Nops left for patching: at its entry ... */
function site_pad
    nop
    nop
    nop
    nop
    nop
    lea 3(%rdi), %rax
    lea 1(%rax, %rsi), %rax
    ret
endf site_pad

/* ... and most of them before it, with a landing pad. */
    .balign 32
    .fill 5, 1, 0x90
    .globl site_pad_before
    .type site_pad_before, @function
site_pad_before:
    .cfi_startproc
    endbr64
    nop
    nop
    lea 3(%rdi), %rax
    lea 1(%rax, %rsi), %rax
    ret
endf site_pad_before

    .section __patchable_function_entries, "awo", @progbits, .text
    .balign 8
    .quad site_pad
    .quad site_pad_before - 5
    .text

/* Too little room at the entry, and no movable code near. */
    .fill 300, 1, 0xf4
function site_pun
    lea 5(%rdi), %rax
1:  mov $0x90, %dl
    dec %rax
    cmp %rdi, %rax
    jg 1b
    ret
endf site_pun
    .fill 300, 1, 0xf4

/* The same at the return for zero. */
function site_pun_return
    mov %rdi, %rax
    test %rsi, %rsi
    jz 2f
    js 3f
    add $1000, %rax
    ret
2:  rep ret
3:  mov $0x9000, %edx
    neg %rax
    ret
endf site_pun_return
    .fill 300, 1, 0xf4

    .section .data.rel.ro, "aw", @progbits
    .balign 8
site_slot:
    .quad site_plain

    .section .note.GNU-stack, "", @progbits
