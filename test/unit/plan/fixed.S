/* Constructs that only programs without relocations have: absolute addresses in code and data. */
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
    .globl _start
FUNC _start
    xor %ebp, %ebp
    mov $60, %eax
    hlt
END _start

FUNC ordinary
    mov %edi, %eax
    mov %eax, %ecx
    ret
END ordinary

FUNC another
    mov %edi, %ecx
    mov %eax, %ecx
    ret
END another

FUNC calls_at_once
    push %rax
    .cfi_adjust_cfa_offset 8
    call another
at_calls_at_once:
    pop %rcx
    .cfi_adjust_cfa_offset -8
    ret
END calls_at_once

FUNC switch_in_memory
    mov %edi, %edi
    jmp *switch_words(,%rdi,8)
at_word0:
    inc %eax
at_word1:
    inc %eax
at_word2:
    ret
END switch_in_memory

FUNC switch_in_register
    mov %edi, %edi
    mov more_words(,%rdi,8), %rax
    jmp *%rax
at_more0:
    inc %eax
at_more1:
    ret
END switch_in_register

FUNC table_of_functions
    mov %edi, %edi
    jmp *function_words(,%rdi,8)
END table_of_functions

/* Only an instruction has the address of this place in the middle. */
FUNC label_in_code
    mov $at_immediate, %eax
    mov %rax, (%rdi)
    inc %ecx
at_immediate:
    inc %ecx
    ret
    ud2                           /* no padding: the return's window has to grow upwards */
END label_in_code

FUNC label_in_data
    inc %ecx
    inc %edx
at_pointed:
    inc %ecx
    ret
    ud2
END label_in_data

/* Bytes between functions: text that reads like a jump into the next function, which is no start;
 * and a real jump. */
    .p2align 4
    jne at_text_target
    .ascii "llnn"
FUNC after_text
    mov %edi, %eax
at_text_target:
    add $3, %eax
    ret
END after_text
    .p2align 4
    jne at_code_target
    call after_text
    .ascii "llnn"
FUNC after_code
    mov %edi, %eax
at_code_target:
    add $3, %eax
    ret
END after_code

/* Returns without room: the number behind them would make a pun lead into the heap. All ways to the
 * first are known. A table leads to the second, too; a jump that cannot be moved leads to the
 * third. */
    .macro RETURN_AMID name, branch
FUNC \name
    mov %rdi, %rax
    test %rdi, %rdi
    \branch at_\name
    js 3f
    add $1000, %rax
at_\name:
    ret
3:  mov $0x100, %edx
    neg %rax
    jmp at_\name
END \name
    ud2
    .endm
RETURN_AMID all_ways, jz
RETURN_AMID way_by_table, jz
RETURN_AMID way_by_counter, jrcxz

    .section .text.part, "ax", @progbits
    .p2align 4
switch_part:
    .cfi_startproc
    mov $3, %eax
    mov %eax, %edx
    ret
    .cfi_endproc

    .section .rodata, "a", @progbits
    .p2align 3
switch_words:
    .quad at_word0, at_word1, at_word2, switch_part
    .quad 0
more_words:
    .quad at_more0, at_more1
    .quad 0
function_words:
    .quad ordinary, another
    .quad 0
pointer:
    .quad at_pointed, at_way_by_table

    .section .note.GNU-stack, "", @progbits
