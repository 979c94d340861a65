# registers_call(before, after) fills every register from BEFORE, calls before->function
# before->times times, each time with the same flags, and saves all registers to AFTER. Then the
# functions follow. They keep to no calling convention, and change nothing that their caller does
# not expect. A second call changes nothing more.

    .set FLAGS, 16 * 8
    .set MASK, 17 * 8
    .set FUNCTION, 18 * 8
    .set AREA, 19 * 8
    .set TIMES, 20 * 8
    .set FIXED_FLAGS, 0x202

.macro function name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
.endm

.macro finish name
    .cfi_endproc
    .size \name, . - \name
.endm

    .text
function registers_call
    push %rbx
    .cfi_adjust_cfa_offset 8
    push %rbp
    .cfi_adjust_cfa_offset 8
    push %r12
    .cfi_adjust_cfa_offset 8
    push %r13
    .cfi_adjust_cfa_offset 8
    push %r14
    .cfi_adjust_cfa_offset 8
    push %r15
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    mov %rdi, %r15
    mov FUNCTION(%r15), %rax
    mov %rax, function(%rip)
    mov TIMES(%r15), %rax
    mov %rax, times_left(%rip)
    mov FLAGS(%r15), %rax
    mov %rax, flags_before(%rip)
    mov MASK(%r15), %eax
    mov MASK+4(%r15), %edx
    mov AREA(%r15), %rcx
    xrstor64 (%rcx)
    mov 0*8(%r15), %rax
    mov 1*8(%r15), %rbx
    mov 2*8(%r15), %rcx
    mov 3*8(%r15), %rdx
    mov 4*8(%r15), %rsi
    mov 5*8(%r15), %rdi
    mov 6*8(%r15), %rbp
    mov 8*8(%r15), %r8
    mov 9*8(%r15), %r9
    mov 10*8(%r15), %r10
    mov 11*8(%r15), %r11
    mov 12*8(%r15), %r12
    mov 13*8(%r15), %r13
    mov 14*8(%r15), %r14
    mov 15*8(%r15), %r15
1:  pushq flags_before(%rip)
    .cfi_adjust_cfa_offset 8
    popfq
    .cfi_adjust_cfa_offset -8
    call *function(%rip)
    pushfq
    .cfi_adjust_cfa_offset 8
    decq times_left(%rip)
    jz 2f
    lea 8(%rsp), %rsp
    .cfi_adjust_cfa_offset -8
    jmp 1b
    .cfi_adjust_cfa_offset 8
2:  push %r15
    .cfi_adjust_cfa_offset 8
    mov 16(%rsp), %r15
    mov %rax, 0*8(%r15)
    mov %rbx, 1*8(%r15)
    mov %rcx, 2*8(%r15)
    mov %rdx, 3*8(%r15)
    mov %rsi, 4*8(%r15)
    mov %rdi, 5*8(%r15)
    mov %rbp, 6*8(%r15)
    mov %r8, 8*8(%r15)
    mov %r9, 9*8(%r15)
    mov %r10, 10*8(%r15)
    mov %r11, 11*8(%r15)
    mov %r12, 12*8(%r15)
    mov %r13, 13*8(%r15)
    mov %r14, 14*8(%r15)
    pop %rax
    .cfi_adjust_cfa_offset -8
    mov %rax, 15*8(%r15)
    pop %rax
    .cfi_adjust_cfa_offset -8
    mov %rax, FLAGS(%r15)
    pushq $FIXED_FLAGS
    .cfi_adjust_cfa_offset 8
    popfq
    .cfi_adjust_cfa_offset -8
    mov MASK(%r15), %eax
    mov MASK+4(%r15), %edx
    mov AREA(%r15), %rcx
    xsave64 (%rcx)
    mov ordinary_area(%rip), %rcx
    xrstor64 (%rcx)
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %r15
    .cfi_adjust_cfa_offset -8
    pop %r14
    .cfi_adjust_cfa_offset -8
    pop %r13
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    pop %rbp
    .cfi_adjust_cfa_offset -8
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
finish registers_call

# Entry and return.
function shape_plain
    mov %rax, %rax
    mov %r11, %r11
    nopw 0(%rax)
    ret
finish shape_plain

# endbr64 first.
function shape_landing
    endbr64
    mov %r10, %r10
    mov %r9, %r9
    ret
finish shape_landing

# A tail call to a direct target, ...
function shape_tail
    mov %rcx, %rcx
    mov %rdx, %rdx
    jmp shape_plain
finish shape_tail

# ... through memory, ...
function shape_tail_memory
    mov %rcx, %rcx
    mov %rdx, %rdx
    jmp *plain_pointer(%rip)
finish shape_tail_memory

# ... and with a condition, whose flags the next function sees as well.
function shape_tail_if_carry
    mov %rbx, %rbx
    mov %rdx, %rdx
    jc shape_plain
    mov %rax, %rax
    nopw 0(%rax)
    ret
finish shape_tail_if_carry

# ... through a register, ...
function shape_tail_register
    mov %rcx, %rcx
    mov %rdx, %rdx
    notrack jmp *%r11
finish shape_tail_register

# Calls in the middle of its body, with the stack misaligned by a word.
function shape_calls
    push %rax
    .cfi_adjust_cfa_offset 8
    nopw 0(%rax)
    lea 0(%rdi), %rdi
    call shape_plain
    lea 0(%rdi), %rdi
    pop %rax
    .cfi_adjust_cfa_offset -8
    ret
finish shape_calls

# Takes the carry flag and gives it back in the low bit of r8; all other flags as subtraction leaves
# them.
function shape_takes_carry
    sbb %r8, %r8
    neg %r8
    lea 0(%rdi), %rdi
    ret
finish shape_takes_carry

# Returns its results in flags: carry and direction are set, and its caller below reads both.
function shape_gives_flags
    lea 0(%rdi), %rdi
    lea 0(%rsi), %rsi
    cmp %r9, %r8
    ret
finish shape_gives_flags

function shape_reads_flags
    push %rax
    .cfi_adjust_cfa_offset 8
    nopw 0(%rax)
    lea 0(%rdi), %rdi
    call shape_gives_flags
    seta %al
    setb %ah
    mov %ax, flag_answer(%rip)
    pop %rax
    .cfi_adjust_cfa_offset -8
    ret
finish shape_reads_flags

# The same through a tail call.
function shape_gives_by_tail
    lea 0(%rdi), %rdi
    lea 0(%rsi), %rsi
    jmp shape_gives_flags
finish shape_gives_by_tail

function shape_reads_by_tail
    push %rax
    .cfi_adjust_cfa_offset 8
    nopw 0(%rax)
    lea 0(%rdi), %rdi
    call shape_gives_by_tail
    seta %al
    setb %ah
    mov %ax, flag_answer(%rip)
    pop %rax
    .cfi_adjust_cfa_offset -8
    ret
finish shape_reads_by_tail

# Stores all flags that it finds in r8, and all that a callee returns in r9.
function shape_takes_flags
    pushfq
    .cfi_adjust_cfa_offset 8
    pop %r8
    .cfi_adjust_cfa_offset -8
    lea 0(%rdi), %rdi
    lea 0(%rdi), %rdi
    call shape_passes_flags
    pushfq
    .cfi_adjust_cfa_offset 8
    pop %r9
    .cfi_adjust_cfa_offset -8
    lea 0(%rdi), %rdi
    ret
finish shape_takes_flags

function shape_passes_flags
    pushfq
    .cfi_adjust_cfa_offset 8
    lea 0(%rdi), %rdi
    cmp %r13, %r14
    popfq
    .cfi_adjust_cfa_offset -8
    lea 0(%rdi), %rdi
    ret
finish shape_passes_flags

# The entry is the head of a loop; the carry flag is live there. Sets bit 3 of r8.
function shape_loop_head
    btc $3, %r8
    jc shape_loop_head
    lea 0(%rdi), %rdi
    nopw 0(%rax)
    ret
finish shape_loop_head

# Returns that remove arguments, or have prefixes.
function shape_return_many
    lea 0(%rdi), %rdi
    lea 0(%rsi), %rsi
    ret $24
finish shape_return_many

function shape_calls_many
    lea -24(%rsp), %rsp
    .cfi_adjust_cfa_offset 24
    call shape_return_many
    .cfi_adjust_cfa_offset -24
    lea 0(%rdi), %rdi
    nopw 0(%rax)
    rep ret
finish shape_calls_many

function shape_return_bounds
    mov %r12, %r12
    mov %r9, %r9
    bnd ret
finish shape_return_bounds

# A leaf that keeps data in the red zone, to its end.
function shape_red_zone
    mov %rdi, -8(%rsp)
    mov %r13, -128(%rsp)
    xchg %rdi, -8(%rsp)
    xchg %r13, -128(%rsp)
    ret
finish shape_red_zone

# An entry and a return without room for a jump, near unused bytes and far from any. Sets bit 3 of
# r8.
.macro narrow name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    mov %rax, %rax
1:  btc $3, %r8
    jnc 2f
    jmp 1b
2:  mov %rbx, %rbx
    ret
finish \name
.endm

# Longer than the reach of a short jump.
.macro filler name
    .type \name, @function
\name:
    .cfi_startproc
    .rept 64
    lea 0(%rdi), %rdi
    .endr
    ret
finish \name
.endm

    .p2align 4
    narrow shape_narrow
    .p2align 6
filler filler_before
    narrow shape_remote
filler filler_behind

# Functions that begin with a call: direct, and through memory.
function shape_begins_with_call
    call shape_plain
    mov %rax, %rax
    mov %r11, %r11
    ret
finish shape_begins_with_call

function shape_begins_with_pointer
    call *plain_pointer(%rip)
    mov %rax, %rax
    mov %r11, %r11
    ret
finish shape_begins_with_pointer

# Nops left for patching: at the entry, and most of them before it.
function shape_pad
    .fill 5, 1, 0x90
    mov %rax, %rax
    mov %r11, %r11
    ret
finish shape_pad

    .p2align 4
    .fill 14, 1, 0x90
    .globl shape_pad_before
    .type shape_pad_before, @function
shape_pad_before:
    .cfi_startproc
    endbr64
    .fill 2, 1, 0x90
    mov %rax, %rax
    mov %r11, %r11
    ret
finish shape_pad_before

    .section __patchable_function_entries, "awo", @progbits, .text
    .p2align 3
    .quad shape_pad
    .quad shape_pad_before - 14
    .text

# Neither padding nor movable code, longer than a hop reaches.
.macro wall
    .fill 300, 1, 0xf4
.endm

# The last byte that a pun borrows makes it lead to an unmapped address (narrow-code.S).
#ifdef __PIE__
#define FAR 0x90
#else
#define FAR 0x7f
#endif

# Little room at the entry, and at a return of two bytes, and nothing near. The first sets bit 3 of
# r8.
    wall
function shape_pun
    mov %rax, %rax
1:  test $FAR, %al
    btc $3, %r8
    jc 1b
    ret
finish shape_pun

    wall
function shape_pun_return
    bt $4, %r9
    jc 2f
    bt $5, %r9
    jc 3f
    ret
2:  rep ret
3:  test $FAR << 8, %eax
    mov %rax, %rax
    mov %r11, %r11
    ret
finish shape_pun_return
    wall

# Keeps flags, and calls in its middle; its caller reads them below.
function shape_keeps_flags
    lea 0(%rdi), %rdi
    lea 0(%rsi), %rsi
.Lmiddle:
    lea 0(%rdi), %rdi
    lea 0(%rsi), %rsi
    ret
finish shape_keeps_flags

function shape_calls_middle
    push %rax
    .cfi_adjust_cfa_offset 8
    nopw 0(%rax)
    cmp %r9, %r8
    call .Lmiddle
    seta %al
    setb %ah
    mov %ax, flag_answer(%rip)
    pop %rax
    .cfi_adjust_cfa_offset -8
    ret
finish shape_calls_middle

    .data
    .p2align 3
plain_pointer:
    .quad shape_plain
function:
    .quad 0
    .globl ordinary_area
ordinary_area:
    .quad 0
times_left:
    .quad 0
flags_before:
    .quad 0
    .globl flag_answer
flag_answer:
    .word 0
    .section .note.GNU-stack, "", @progbits
