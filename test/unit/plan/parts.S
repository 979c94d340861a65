/*
 * Functions in parts, and code behind and beside the ranges of call-frame information. Labels that
 * begin with at_ are as in rules.S.
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

    .text
/* As glibc's clone3(): the range ends before the system call. */
    .p2align 4
    .type runs_on, @function
runs_on:
    .cfi_startproc
    mov $56, %eax
    test %rdi, %rdi
    je at_runs_on_error
    .cfi_endproc
    syscall
    test %rax, %rax
    js at_runs_on_error
    je at_runs_on_child
    ret
at_runs_on_child:
    .cfi_startproc
    .cfi_undefined rip
    xor %ebp, %ebp
    call *%rdx
    hlt
    .cfi_endproc
at_runs_on_error:
    .cfi_startproc
    neg %eax
    mov %eax, %ecx
    or $-1, %rax
    ret
    .cfi_endproc
    .size runs_on, . - runs_on

/* The code behind the range pops a word, so its depth is not known. */
    .p2align 4
    .type runs_on_popping, @function
runs_on_popping:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %rdi, %rbx
    lea 1(%rbx), %rax
    .cfi_endproc
    pop %rbx
    ret
    .size runs_on_popping, . - runs_on_popping

/* Each part has a range of its own. Only a table leads to the last two; nothing of the function
 * before the table's parts is in the table. */
    .p2align 4
    .type in_parts, @function
in_parts:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %esi, %ebx
    cmp $1, %edi
    jmp at_in_parts1
    .cfi_endproc
    .size in_parts, . - in_parts
    .macro PART
    .cfi_startproc
    .cfi_adjust_cfa_offset 8
    .endm
at_in_parts1:
    PART
    mov %edi, %eax
    lea in_parts_table(%rip), %rcx
    movslq (%rcx,%rax,4), %rax
    add %rcx, %rax
    jmp *%rax
    .cfi_endproc
at_in_parts2:
    PART
    lea 3(%rbx), %eax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
at_in_parts3:
    PART
    imul $5, %ebx, %eax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .section .rodata
    .p2align 2
in_parts_table:
    .long at_in_parts2 - in_parts_table, at_in_parts3 - in_parts_table
    .text

/* The table leads to code that nothing describes. */
FUNC beside
    lea beside_table(%rip), %rcx
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %edi, %eax
    movslq (%rcx,%rax,4), %rax
    add %rcx, %rax
at_beside:
    jmp *%rax
END beside
    nop
at_beside0:
    mov $3, %eax
    pop %rbx
    ret
at_beside1:
    mov $4, %eax
    pop %rbx
    ret
    .section .rodata
beside_table:
    .long at_beside0 - beside_table, at_beside1 - beside_table
    .text

/* A part that loops to its own start, at the depth of an entry. */
FUNC with_loop
    xor %eax, %eax
    mov %edi, %ecx
    test %ecx, %ecx
    jne with_loop.cold
    nop
    ret
END with_loop
FUNC with_loop.cold
    add %ecx, %eax
    dec %ecx
    nopl 0(%rax)
at_with_loop:
    jne with_loop.cold
    jmp at_with_loop_back
END with_loop.cold
FUNC with_loop_back
    nop
at_with_loop_back:
    lea 1(%rax), %rax
    nop
    ret
END with_loop_back

    .section .note.GNU-stack, "", @progbits
