# Functions whose sites have less room than a jump takes, because a jump target follows too soon.
# For one set of functions a hop finds room near them. Around the other set no code can be moved, so
# only a pun works. Called from narrow.c.

# The last byte that a pun borrows. It makes the pun lead to an unmapped address: far below, or, in
# programs at low addresses, far behind the room of the heap.
#ifdef __PIE__
#define FAR 0x90
#else
#define FAR 0x7f
#endif

.macro function name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
.endm

.macro finish name
    .cfi_endproc
    .size \name, . - \name
.endm

# Neither padding nor movable code, longer than a hop reaches.
.macro wall
    .fill 300, 1, 0xf4
.endm

# The window of the return before this padding takes some of it.
.macro padding_for tier
    .ifc \tier, hop
    .fill 10, 1, 0xcc
    .endif
.endm

# Data refers to the next instruction, so the jumps to it cannot be patched in its place.
.macro referred
    .pushsection .data.rel.ro, "aw"
    .balign 8
    .quad 1f
    .popsection
1:
.endm

.macro short_entry name
function \name
    lea 5(%rdi), %rax
1:  mov $FAR, %dl
    dec %rax
    cmp %rdi, %rax
    jg 1b
    ret
finish \name
.endm

.macro set tier
    wall
short_entry \tier\()_entry
    padding_for \tier

    wall
# Two bytes long: the return for zero.
function \tier\()_return
    mov %rdi, %rax
    test %rdi, %rdi
    jz 2f
    js 3f
    add $1000, %rax
    ret
2:  referred
    rep ret
3:  mov $FAR << 8, %edx
    neg %rax
    ret
finish \tier\()_return
    padding_for \tier

    wall
function \tier\()_tail
    mov %rdi, %rax
    test %rdi, %rdi
    jz 2f
    js 3f
    add $1000, %rax
    ret
2:  jmp 9f
3:  mov $FAR << 8, %edx
    neg %rax
    ret
finish \tier\()_tail
    padding_for \tier
function \tier\()_tail_leaf
9:  lea 77(%rdi), %rax
    ret
finish \tier\()_tail_leaf

    wall
function \tier\()_branch
    mov %rdi, %rax
    cmp $5, %rdi
    je 3f
    test %rdi, %rdi
    jle 2f
    add $1000, %rax
    ret
2:  js 9f
3:  mov $FAR << 8, %edx
    neg %rax
    ret
finish \tier\()_branch
    padding_for \tier
function \tier\()_branch_leaf
9:  lea 88(%rdi), %rax
    ret
finish \tier\()_branch_leaf

    wall
function \tier\()_pointer
    mov %rdi, %rax
    test %rdi, %rdi
    jz 2f
    js 3f
    add $1000, %rax
    ret
2:  jmp *%rsi
3:  mov $FAR << 8, %edx
    neg %rax
    ret
finish \tier\()_pointer
    padding_for \tier

    wall
# Returns from setjmp twice, then calls a function in a deeper frame than the one that jumped.
function \tier\()_second
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    xor %eax, %eax
    lea environment(%rip), %rdi
    call _setjmp@PLT
    test %eax, %eax
    jne 2f
1:  mov $FAR, %dl
    mov $3, %edi
    call jump_back@PLT
2:  sub $64, %rsp
    .cfi_adjust_cfa_offset 64
    call call_deeper@PLT
    add $64, %rsp
    .cfi_adjust_cfa_offset -64
    test %eax, %eax
    js 1b
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
finish \tier\()_second
    padding_for \tier
.endm

    .text
set hop
set pun

    wall
# One byte each.
function pun_least
    push %rdi
    .cfi_adjust_cfa_offset 8
1:  dec %edi
    mov $FAR, %dl
    test %edi, %edi
    jg 1b
    pop %rax
    .cfi_adjust_cfa_offset -8
    test %rax, %rax
    js 3f
    jz 2f
    add $1000, %rax
    ret
2:  referred
    ret
3:  nop
    mov $FAR << 8, %edx
    neg %rax
    ret
finish pun_least

    wall
# One-byte returns where a pun would lead to unusable addresses in a fixed program: the jumps and
# branches to them are patched to return.
function ways_short
    mov %rdi, %rax
    test %rdi, %rdi
    jz 2f
    js 3f
    add $1000, %rax
2:  ret
3:  mov $0x100, %edx
    neg %rax
    jmp 2b
finish ways_short
    wall
function ways_long
    mov %rdi, %rax
    cmp $2, %rdi
    je 2f
    cmp $-2, %rdi
    je 4f
    test %rdi, %rdi
    jz 3f
    neg %rax
2:  ret
3:  mov $0x100, %edx
    lea 77(%rdi), %rax
    jmp 2b
    .fill 200, 1, 0xf4
4:  xor %eax, %eax
    jmp 2b
finish ways_long

    wall
# The neighbour's moved instructions leave a hole.
short_entry hop_made
function jump_giver
    mov $1, %eax
    add $0x1000, %rax
    xor $0x2000, %rax
    add $0x3000, %rax
    ret
finish jump_giver

    wall
# The neighbour's own window is long enough to leave a hole.
short_entry hop_spared
function jump_spender
    push %rbx
    .cfi_adjust_cfa_offset 8
    movabs $0x123456789ab, %rbx
    lea (%rbx,%rdi), %rax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
finish jump_spender

    wall
# Each borrows bytes of the next one's patch. Where that jump leads is known only at the load
# address.
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
function chain\i
    xor %eax, %eax
    ret
finish chain\i
    .endr
    .byte 0x11, FAR
    wall

    .globl environment
    .comm environment, 256, 16
    .section .note.GNU-stack, "", @progbits
