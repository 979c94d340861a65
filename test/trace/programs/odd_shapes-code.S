# Functions of shapes that compilers seldom or never write. Called from odd_shapes.c.

#ifdef NO_CFI
#define START_FRAME
#define END_FRAME
#else
#define START_FRAME .cfi_startproc
#define END_FRAME .cfi_endproc
#endif

.macro function name
    .globl \name
    .type \name, @function
\name:
    START_FRAME
.endm

.macro finish name
    END_FRAME
    .size \name, . - \name
.endm

    .text
    .p2align 4
# Functions that run on into the next function, which takes over their call: too short for two
# windows, with two windows, and with a conditional jump at the end, both ways of which leave.
function fall_first
    lea 100(%rdi), %rdi
    nop
finish fall_first
function fall_second
    lea 1(%rdi,%rdi), %rax
    ret
finish fall_second

    .p2align 4
function fall_far
    lea 7(%rdi,%rdi,2), %rdi
    xor %edx, %edx
1:  inc %rdx
    cmp $9, %rdx
    jb 1b
    add %rdx, %rdi
finish fall_far
    .p2align 4
function fall_second_far
    lea 3(%rdi), %rax
    ret
finish fall_second_far

    .p2align 4
function fall_checked
    cmp %rsi, %rdi
    ja fall_second
finish fall_checked
function fall_after_check
    mov %rsi, %rax
    sub %rdi, %rax
    ret
finish fall_after_check

    .p2align 4
# The entry is the head of the loop: one call, however often control passes it.
function loop_head
    sub $1, %rdi
    jg loop_head
    lea 40(%rdi), %rax
    ret
finish loop_head

    .p2align 4
# The same with an unconditional jump back.
function loop_head_jump
    sub $1, %rdi
    jle 1f
    jmp loop_head_jump
1:  lea 50(%rdi), %rax
    ret
finish loop_head_jump

    .p2align 4
# The sum is kept in the red zone while the loop passes the entry.
function loop_red_zone
    test %esi, %esi
    jz 1f
    movq $0, -8(%rsp)
    xor %esi, %esi
1:  add %rdi, -8(%rsp)
    dec %rdi
    jnz loop_red_zone
    mov -8(%rsp), %rax
    ret
finish loop_red_zone

    .p2align 4
# Two functions share one end.
function shared_tail
    lea 1(%rdi), %rax
    add %rdi, %rax
shared_end:
    add $3, %rax
    xor $64, %rax
    ret
finish shared_tail
    .p2align 4
function shares_tail
    lea (%rdi,%rdi,2), %rax
    mov %rax, %rdx
    jmp shared_end
finish shares_tail

    .p2align 4
# Returns its result in the carry flag, and changes no register.
    .type sign_in_carry, @function
sign_in_carry:
    START_FRAME
    mov %rdi, %rdi
    bt $63, %rdi
    ret
    END_FRAME
    .size sign_in_carry, . - sign_in_carry
    .p2align 4
function carries
    lea 10(%rdi), %rax
    nop
    call sign_in_carry
    jc 1f
    lea 1(%rax), %rax
    ret
1:  neg %rax
    nopw 0(%rax)
    ret
finish carries

    .p2align 4
# A conditional jump to another function: it returns on one way, and makes a tail call on the other.
function two_ways
    mov %rdi, %rax
    cmp $10, %rdi
    jg other_way
    add $1, %rax
    nopw 0(%rax)
    ret
finish two_ways
    .p2align 4
    .type other_way, @function
other_way:
    START_FRAME
    lea -1(%rdi), %rax
    neg %rax
    ret
    END_FRAME
    .size other_way, . - other_way

    .p2align 4
# Its first instructions address memory relative to the pc, and have an immediate.
function long_way
    cmpl $7, number(%rip)
    jne 1f
    addq $1000, number(%rip)
    imul $3, number(%rip), %rax
    add %rdi, %rax
    ret
1:  mov $-1, %rax
    ret
finish long_way

    .p2align 4
# Begins with branches that have no long form.
function counts
    mov %rdi, %rcx
    jrcxz 2f
    xor %eax, %eax
1:  add %rcx, %rax
    loop 1b
    nopw 0(%rax)
    ret
2:  mov $77, %eax
    ret
finish counts

    .p2align 4
# A branch behind its first bytes leads back into them.
function early
    inc %rdi
1:  inc %rdi
    cmp $20, %rdi
    jl 1b
    mov %rdi, %rax
    ret
finish early

    .p2align 4
# Shorter than a jump, and with no room between them.
function tiny
    ret
finish tiny
function tiny_zero
    xor %eax, %eax
    ret
finish tiny_zero
function tiny_move
    mov %rdi, %rax
    ret
finish tiny_move
    .p2align 4

    .data
    .p2align 3
number:
    .quad 7
    .section .note.GNU-stack, "", @progbits
