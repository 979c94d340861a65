/*
 * One function, or a few, for each rule of the planner. Labels that begin with
 * at_ are places that the tests ask about; they exist in the copy with symbols
 * only, so that the planner does not see them in the stripped one.
 */
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

    .macro BARE name, body, last /* without unwind information */
    .p2align 4
    .type \name, @function
\name:
    mov $1, %eax
    \body
    \last
    .size \name, . - \name
    .endm

    .text
    .globl exported
FUNC exported
    ret
END exported

/* ---- what a function is ---- */
FUNC ordinary
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %rdi, %rbx
    lea 1(%rbx), %eax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
END ordinary

    .p2align 4
    .pushsection .data.rel.ro, "aw"
    .quad without_unwind_info
    .popsection
    .type without_unwind_info, @function
without_unwind_info:
    mov %edi, %eax
    mov %eax, %ecx
    ret
    .size without_unwind_info, . - without_unwind_info

/* Only functions of this kind refer to it: the program may have copied them all. */
BARE movable, "mov %eax, %ecx", ret
BARE movable_caller, "call movable", ret

/* The dynamic linker calls it, so it and its callees run here. */
    .globl _init
    .hidden _init
BARE _init, "call called_by_init", ret
BARE called_by_init, nop, "jmp tail_called_by_init"
BARE tail_called_by_init, "mov %eax, %ecx", ret

    .p2align 4
    .type restorer, @function
restorer:
    .cfi_startproc
    .cfi_signal_frame
    mov $15, %rax
    syscall
    .cfi_endproc
    .size restorer, . - restorer

/* Its second range begins at a depth of one push. */
FUNC split
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %edi, %ebx
    test %edi, %edi
    js split_rest
at_split_back:
    lea 5(%rbx), %eax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
END split

FUNC tail_call
    mov $3, %edi
    jmp ordinary
END tail_call

FUNC own_convention
    .cfi_def_cfa_offset 24
    mov %rax, %rcx
    add $16, %rsp
    .cfi_def_cfa_offset 8
    ret
END own_convention

FUNC undecodable
    mov %edi, %eax
    cmp $5, %eax
    je 1f
    ret
    .byte 0x06, 0x06
1:  ret
END undecodable

/* ---- names ---- */
FUNC setjmp
    mov %rbx, (%rdi)
    xor %eax, %eax
    ret
END setjmp
    .set setjmp_alias, setjmp

FUNC _start
    xor %ebp, %ebp
    mov %rsp, %rdi
    hlt
END _start

/* ---- switches ---- */
FUNC leaf_switch
    cmp $3, %edi
    ja 9f
    mov %edi, %edi
    lea leaf_table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    notrack jmp *%rax
at_arm0:
    inc %eax
at_arm1:
    inc %eax
at_arm2:
    inc %eax
at_arm3:
    ret
9:  xor %eax, %eax
    ret
END leaf_switch

FUNC unoptimised_switch
    mov %edi, %eax
    lea 0(,%rax,4), %rdx
    lea unoptimised_table(%rip), %rax
    mov (%rdx,%rax), %eax
    cltq
    lea unoptimised_table(%rip), %rdx
    add %rdx, %rax
    notrack jmp *%rax
at_old0:
    inc %eax
at_old1:
    inc %eax
    ret
END unoptimised_switch

/* Offsets count from a label, as in glibc's printf. */
FUNC label_switch
    lea label_table(%rip), %rdx
    lea at_label0(%rip), %rcx
    movslq (%rdx,%rdi,4), %rax
    add %rcx, %rax
    jmp *%rax
at_label0:
    inc %eax
at_label1:
    inc %eax
at_label2:
    ret
    ud2                           /* no padding: the return's window has to grow upwards */
END label_switch

FUNC calls_by_table
    lea functions(%rip), %rax
    jmp *(%rax,%rdi,8)
END calls_by_table

FUNC calls_by_pointer
    mov %rdi, %rax
    mov %rsi, %rdi
    jmp *%rax
END calls_by_pointer

/* ---- parts of functions that begin at entry depth ---- */
FUNC parent
    test %edi, %edi
    je parent_part
at_parent_back:
    lea 7(%rdi), %eax
    ret
END parent

FUNC table_parent
    lea table_parent_table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp *%rax
at_table_parent0:
    lea 7(%rdi), %eax
    ret
END table_parent

FUNC falls
    cmp %rdx, %rcx
    mov %rsi, %rax
    mov %rdi, %r8
END falls
FUNC fallen_into
    mov %rsi, %rax
    mov %rdi, %rcx
    ret
END fallen_into

FUNC falls_branching
    cmp %rdx, %rcx
    jb fallen_into
END falls_branching
FUNC fallen_into_too
    mov %rsi, %rax
    mov %rdi, %rcx
    ret
END fallen_into_too

/* Only behind its last instruction has the stack the depth that the next function expects. */
FUNC falls_popping
    push %rdi
    .cfi_adjust_cfa_offset 8
    mov %rsi, %rcx
    mov %rsi, %rdx
    .cfi_adjust_cfa_offset -8
    pop %rdi
END falls_popping
FUNC fallen_into_last
    mov %rsi, %rax
    mov %rdi, %rcx
    ret
END fallen_into_last

/* ---- exits ---- */
FUNC conditional_tail
    mov %edi, %eax
    cmp $9, %eax
    je ordinary
    mov $2, %eax
    ret
END conditional_tail

FUNC self_call
    mov %rsi, %rcx
    mov %rdi, %rsi
    dec %rcx
    je 1f
    mov %rcx, %rdi
    jmp self_call
1:  ret
END self_call

/* Leaves at another depth than at its entry, so this is no return. */
FUNC leaves_for_good
    mov $1, %eax
    push %rdx
    .cfi_adjust_cfa_offset 8
    pop %rbx
    mov %rsi, %rsp
    .cfi_def_cfa %rdi, 0
    jmp *%rdx
END leaves_for_good

/* ---- flags ---- */
FUNC takes_carry
    adc %rsi, %rdi
    mov %rdi, %rax
    ret
END takes_carry

FUNC gives_carry
    mov %rdi, %rax
    add %rsi, %rax
    ret
END gives_carry

FUNC carry_user
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %rdi, %rbx
    mov %rsi, %rdx
    call gives_carry
    mov %rbx, %rcx
    jc 1f
    xor %eax, %eax
1:  pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
END carry_user

/* ---- retpolines ---- */
FUNC thunk_switch
    lea thunk_table(%rip), %rdx
    movslq (%rdx,%rdi,4), %rax
    add %rdx, %rax
    jmp __x86_indirect_thunk_rax
at_thunk0:
    inc %eax
at_thunk1:
    inc %eax
    ret
END thunk_switch

FUNC thunk_tail_call
    mov %rdi, %rax
    mov %rsi, %rdi
    jmp __x86_indirect_thunk_rax
END thunk_tail_call

FUNC __x86_indirect_thunk_rax
    call 1f
2:  pause
    lfence
    jmp 2b
1:  mov %rax, (%rsp)
    ret
END __x86_indirect_thunk_rax

/* ---- windows ---- */
FUNC landing
    endbr64
    mov %edi, %eax
    add $1, %eax
    ret
END landing

FUNC calls_early
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call ordinary
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
END calls_early

FUNC system_call
    mov %edi, %eax
    syscall
    mov %eax, %edx
    mov %edx, %eax
    ret
END system_call

FUNC branch_to_second
    nop
at_second:
    dec %edi
    jne at_second
    xor %eax, %eax
    mov %eax, %edx
    ret
END branch_to_second

FUNC only_return
    ret
END only_return

FUNC tiny_before_neighbour
    inc %eax
    ret
    .cfi_endproc
    .size tiny_before_neighbour, . - tiny_before_neighbour
    .type neighbour, @function
neighbour:
    .cfi_startproc
    mov %edi, %eax
    mov %eax, %ecx
    mov %ecx, %edx
    ret
END neighbour

/* Nops before an entry belong to the function if the compiler left them for patching. */
FUNC before_patchable
    inc %eax
    ret
    .cfi_endproc
    .size before_patchable, . - before_patchable
at_patchable:
    nop
    nop
    nop
    nop
    nop
    .type patchable, @function
patchable:
    .cfi_startproc
    mov %edi, %eax
    mov %eax, %ecx
    mov %ecx, %edx
    ret
END patchable

/* The nops that a compiler leaves for patching: 5 before the entry, 2 at it. */
    .p2align 4
at_padded:
    .fill 5, 1, 0x90
    .type padded, @function
padded:
    .cfi_startproc
    nop
    nop
at_padded_body:
    mov %edi, %eax
    mov %eax, %ecx
    ret
END padded

/* Listed like those, but no nops precede it. */
    .p2align 4
    .fill 11, 1, 0x90
at_lying:
    .fill 5, 1, 0xcc
    .type lying, @function
lying:
    .cfi_startproc
    nop
    nop
    lea 1(%rdi), %eax
    lea 2(%rax), %ecx
    ret
END lying

/* Bytes behind a call are not padding: unwinders look up the caller's frame there. */
FUNC never_returns
    push %rax
    .cfi_adjust_cfa_offset 8
    mov $1, %edi
    jne 1f
    pop %rax
    .cfi_adjust_cfa_offset -8
at_lonely_return:
    ret
    .cfi_adjust_cfa_offset 8
1:  call ordinary
at_behind_call:
    nopw 0(%rax,%rax)
END never_returns

FUNC loop_exit
    mov %edi, %ecx
    mov $1, %eax
1:  inc %eax
    loop 1b
    ret
END loop_exit

FUNC loop_first
    mov %rdi, %rcx
    jrcxz 1f
    mov $4, %eax
    ret
1:  mov $5, %eax
    ret
END loop_first

FUNC loops_to_entry
    add $1, %rax
    add %rax, %rsi
    dec %rdi
    jne loops_to_entry
    ret
END loops_to_entry

/* ---- open control flow: targets that cannot be known ---- */
FUNC open_flow
    push %rbp
    .cfi_adjust_cfa_offset 8
    mov %rsp, %rbp
    sub $16, %rsp
    .cfi_adjust_cfa_offset 16
    jmp *(%rdi)
    mov %rbp, %rsp
    .cfi_adjust_cfa_offset -16
    pop %rbp
    .cfi_adjust_cfa_offset -8
    ret
END open_flow

FUNC open_flow_long
    mov $0x12345678, %eax
    push %rbp
    .cfi_adjust_cfa_offset 8
    jmp *(%rdi)
    pop %rbp
    .cfi_adjust_cfa_offset -8
    ret
END open_flow_long

/* ---- restartable sequences ---- */
FUNC restartable
    mov $1, %eax
at_sequence:
    mov %rdi, %rax
    mov %rax, (%rsi)
at_sequence_end:
    mov %eax, %ecx
    ret
    .byte 0x0f, 0xb9, 0x3d        /* ud1, as glibc's and tcmalloc's signatures are wrapped */
    .long 0x53053053
at_abort:
    xor %eax, %eax
    ret
END restartable

/* ---- where control arrives other than by calls and returns ---- */
FUNC calls_setjmp
    sub $24, %rsp
    .cfi_adjust_cfa_offset 24
    mov %rsp, %rdi
    call _setjmp@PLT
at_second_return:
    mov %eax, %edx
    lea 1(%rdx), %eax
    add $24, %rsp
    .cfi_adjust_cfa_offset -24
    ret
END calls_setjmp

FUNC jumps_far
    mov 8(%rdi), %rdx
    mov %esi, %eax
    mov 16(%rdi), %rbx
    mov (%rdi), %rsp
    mov 24(%rdi), %rbp
at_far_jump:
    jmp *%rdx
END jumps_far

/* ---- .cold and friends ---- */
    .section .text.part, "ax", @progbits
    .p2align 4
split_rest:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    neg %ebx
    mov %ebx, %eax
    jmp at_split_back
    .cfi_endproc

parent_part:
    .cfi_startproc
    inc %edi
    mov %edi, %esi
    jmp at_parent_back
    .cfi_endproc

table_parent_part:
    .cfi_startproc
    mov $11, %eax
    mov %eax, %edx
    ret
    .cfi_endproc

    .section .rodata, "a", @progbits
    .p2align 2
leaf_table:
    .long at_arm0 - leaf_table, at_arm1 - leaf_table, at_arm2 - leaf_table, at_arm3 - leaf_table
    .long 0x7fffffff
unoptimised_table:
    .long at_old0 - unoptimised_table, at_old1 - unoptimised_table
    .long 0x7fffffff
label_table:
    .long 0, at_label1 - at_label0, at_label2 - at_label0
    .long 0x7fffffff
thunk_table:
    .long at_thunk0 - thunk_table, at_thunk1 - thunk_table
    .long 0x7fffffff
table_parent_table:
    .long at_table_parent0 - table_parent_table, table_parent_part - table_parent_table
    .long 0x7fffffff

    .section .data.rel.ro, "aw", @progbits
    .p2align 3
functions:
    .quad ordinary, conditional_tail
    .quad 0, split, parent, table_parent   /* addresses taken, as of used functions */

    .section __patchable_function_entries, "awo", @progbits, .text
    .p2align 3
    .quad at_patchable, at_padded, at_lying

    .section __rseq_cs, "aw", @progbits
    .p2align 5
    .long 0, 0
    .quad at_sequence, at_sequence_end - at_sequence, at_abort

    .section .note.GNU-stack, "", @progbits
