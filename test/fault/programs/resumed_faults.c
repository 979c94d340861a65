/*
 * Faults at each instruction of functions that windows cover whole. Handlers must find the
 * instruction's own address and all registers, and may resume in every way that exists.
 */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "self_check.h"

/* Each function has one faulting instruction, at label 10, and continues at label 11; a handler may
 * also resume there. NAME_offsets has the two offsets: a window could not cover labels that symbols
 * or data refer to. The first argument is the address accessed; the result is the second argument +
 * 1 + the value read. */
#if defined __thumb__
#define STATE "    .syntax unified\n    .thumb\n    .thumb_func\n"
#elif defined __arm__
#define STATE "    .arm\n"
#else
#define STATE
#endif
__asm__(".macro function name\n"
        "    .globl \\name, \\name\\()_offsets\n"
        "    .type \\name, %function\n"
        "    .balign 32\n" STATE "\\name:\n"
        "    .cfi_startproc\n"
        ".endm\n"
        ".macro endf name\n"
        "    .cfi_endproc\n"
        "    .size \\name, . - \\name\n"
        "    .pushsection .rodata\n"
        "\\name\\()_offsets: .byte 10b - \\name, 11b - \\name\n"
        "    .popsection\n"
        ".endm\n"
#if defined __aarch64__
        /* This instruction is moved. */
        "function fault_first\n"
        "10:\n"
        "    ldr w2, [x0]\n"
        "11:\n"
        "    add x0, x2, x1\n"
        "    add x0, x0, #1\n"
        "    ret\n"
        "endf fault_first\n"
        /* This one is not moved. */
        "function fault_middle\n"
        "    mov x2, #0\n"
        "10:\n"
        "    ldr w2, [x0]\n"
        "11:\n"
        "    add x0, x2, x1\n"
        "    add x0, x0, #1\n"
        "    ret\n"
        "endf fault_middle\n"
        /* Before a return, with a frame. */
        "function fault_return\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    .cfi_adjust_cfa_offset 16\n"
        "    add x1, x1, #1\n"
        "10:\n"
        "    ldr w2, [x0]\n"
        "11:\n"
        "    add x0, x2, x1\n"
        "    ldp x29, x30, [sp], #16\n"
        "    .cfi_adjust_cfa_offset -16\n"
        "    ret\n"
        "endf fault_return\n"
        /* Before a tail call. */
        "function fault_tail\n"
        "    b 1f\n"
        "    udf #0\n"
        "1:\n"
        "10:\n"
        "    ldr w2, [x0]\n"
        "11:\n"
        "    add x1, x1, x2\n"
        "    b tail_end\n"
        "endf fault_tail\n"
        "function tail_end\n"
        "10: 11:\n"
        "    add x0, x1, #1\n"
        "    ret\n"
        "endf tail_end\n"
        /* Moved, behind an instruction that stays because calls land there; that one may sign the
         * return address. */
        ".macro landing name, lands, leaves\n"
        "function \\name\n"
        "    hint \\lands\n"
        "10:\n"
        "    ldr w2, [x0]\n"
        "11:\n"
        "    add x0, x2, x1\n"
        "    add x0, x0, #1\n"
        "    hint \\leaves\n"
        "    ret\n"
        "endf \\name\n"
        ".endm\n"
        "landing fault_hop, #34, #0\n"
        "landing fault_pun, #25, #29\n"
        /* Moved, and the head of a loop. */
        "    .type fault_lender, %function\n"
        "function fault_lender\n"
        "10:\n"
        "    ldr w2, [x0]\n"
        "11:\n"
        "    add x0, x2, x1\n"
        "    add x0, x0, #1\n"
        "    cbz x0, fault_lender\n"
        "    ret\n"
        "endf fault_lender\n"
        /* Moved; it reads two words. */
        "function fault_giver\n"
        "10:\n"
        "    ldp w2, w3, [x0]\n"
        "11:\n"
        "    add x0, x2, x1\n"
        "    add x0, x0, #1\n"
        "    ret\n"
        "endf fault_giver\n"
        "function borrower\n"
        "10: 11:\n"
        "    mov x0, #0\n"
        "    ret\n"
        "endf borrower\n"
        "function hopper\n"
        "10: 11:\n"
        "    ret\n"
        "endf hopper\n"
#elif defined __arm__
        /* The first of the moved instructions: in T32 code two are moved. */
        "function fault_first\n"
        "10:\n"
        "    ldr r2, [r0]\n"
        "11:\n"
        "    add r0, r2, r1\n"
        "    add r0, r0, #1\n"
        "    bx lr\n"
        "endf fault_first\n"
        /* The second of them. */
        "function fault_middle\n"
        "    movs r2, #0\n"
        "10:\n"
        "    ldr r2, [r0]\n"
        "11:\n"
        "    add r0, r2, r1\n"
        "    add r0, r0, #1\n"
        "    bx lr\n"
        "endf fault_middle\n"
        /* Right before a return, with a frame. */
        "function fault_return\n"
        "    push {r4, lr}\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    adds r0, r0, #0\n"
        "    add r1, r1, #1\n"
        "    movs r4, r1\n"
        "    movs r2, r0\n"
        "10:\n"
        "    ldr r2, [r0]\n"
        "11:\n"
        "    adds r0, r2, r1\n"
        "    pop {r4, pc}\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "endf fault_return\n"
        /* Before a tail call. */
        "function fault_tail\n"
        "    b 1f\n"
        "    udf #0\n"
        "1:\n"
        "10:\n"
        "    ldr r2, [r0]\n"
        "11:\n"
        "    adds r1, r1, r2\n"
        "    b tail_end\n"
        "endf fault_tail\n"
        "function tail_end\n"
        "10: 11:\n"
        "    add r0, r1, #1\n"
        "    bx lr\n"
        "endf tail_end\n"
        /* A conditional instruction. */
        "function fault_hop\n"
        "    cmp r0, #0\n"
        "    it ne\n"
        "10:\n"
        "    ldrne r2, [r0]\n"
        "11:\n"
        "    add r0, r2, r1\n"
        "    add r0, r0, #1\n"
        "    bx lr\n"
        "endf fault_hop\n"
        /* Behind an instruction that reads the pc. */
        "function fault_pun\n"
        "    ldr r3, 1f\n"
        "10:\n"
        "    ldr r2, [r0]\n"
        "11:\n"
        "    add r0, r2, r1\n"
        "    adds r0, r0, r3\n"
        "    bx lr\n"
        "    .balign 4\n"
        "1:  .word 1\n"
        "endf fault_pun\n"
        /* The head of a loop. */
        "function fault_lender\n"
        "10:\n"
        "    ldr r2, [r0]\n"
        "11:\n"
        "    adds r0, r2, r1\n"
        "    adds r0, r0, #1\n"
        "    beq fault_lender\n"
        "    bx lr\n"
        "endf fault_lender\n"
        /* It reads two words. */
        "function fault_giver\n"
        "10:\n"
        "    ldrd r2, r3, [r0]\n"
        "11:\n"
        "    add r0, r2, r1\n"
        "    add r0, r0, #1\n"
        "    bx lr\n"
        "endf fault_giver\n"
        "function borrower\n"
        "10: 11:\n"
        "    mov r0, #0\n"
        "    bx lr\n"
        "endf borrower\n"
        "function hopper\n"
        "10: 11:\n"
        "    bx lr\n"
        "endf hopper\n"
#else
        /* The first instruction of the entry's window. */
        "function fault_first\n"
        "10:\n"
        "    mov (%rdi), %eax\n"
        "11:\n"
        "    add %rsi, %rax\n"
        "    lea 1(%rax), %rax\n"
        "    nop\n"
        "    ret\n"
        "endf fault_first\n"
        /* One in its middle. */
        "function fault_middle\n"
        "    xor %eax, %eax\n"
        "10:\n"
        "    mov (%rdi), %eax\n"
        "11:\n"
        "    add %rsi, %rax\n"
        "    lea 1(%rax), %rax\n"
        "    nop\n"
        "    ret\n"
        "endf fault_middle\n"
        /* In the window of the return: the first and the last instruction before it. */
        "function fault_return\n"
        "    push %rbx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    mov %rsi, %rbx\n"
        "    lea 1(%rbx), %rbx\n"
        "    lea 0x1234(%rdx), %rdx\n"
        "    jmp 1f\n"
        "    ud2\n"
        "1:\n"
        "10:\n"
        "    mov (%rdi), %eax\n"
        "11:\n"
        "    add %rbx, %rax\n"
        "    pop %rbx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    ret\n"
        "endf fault_return\n"
        /* Right before a tail jump. */
        "function fault_tail\n"
        "    lea 0x11(%rdx), %rdx\n"
        "    lea 0x22(%rdx), %rdx\n"
        "    jmp 1f\n"
        "    ud2\n"
        "1:\n"
        "    xor %eax, %eax\n"
        "10:\n"
        "    mov (%rdi), %eax\n"
        "11:\n"
        "    add %rax, %rsi\n"
        "    jmp tail_end\n"
        "endf fault_tail\n"
        "function tail_end\n"
        "10: 11:\n"
        "    lea 1(%rsi), %rax\n"
        "    lea 0(%rax), %rax\n"
        "    ret\n"
        "endf tail_end\n"
        /* Functions with room for a short jump only, with padding near them and without. */
        ".macro short_window name\n"
        "function \\name\n"
        "    nop\n"
        "10:\n"
        "    mov (%rdi), %eax\n"
        "11:\n"
        "    add %rsi, %rax\n"
        "    lea 1(%rax), %rax\n"
        "    test %rdi, %rdi\n"
        "    jz 11b\n"
        "    ret\n"
        "endf \\name\n"
        ".endm\n"
        "short_window fault_hop\n"
        "    .fill 16, 1, 0xcc\n"
        "    .fill 300, 1, 0xf4\n"
        "short_window fault_pun\n"
        "    .fill 300, 1, 0xf4\n"
        /* Its first bytes, finally a jump, are part of its neighbour's patch. */
        "function borrower\n"
        "10: 11:\n"
        "    xor %eax, %eax\n"
        "    ret\n"
        "endf borrower\n"
        "    .type fault_lender, @function\n"
        "    .globl fault_lender, fault_lender_offsets\n"
        "fault_lender:\n"
        "    .cfi_startproc\n"
        "10:\n"
        "    mov (%rdi), %eax\n"
        "11:\n"
        "    add %rsi, %rax\n"
        "    lea 1(%rax), %rax\n"
        "    nop\n"
        "    ret\n"
        "endf fault_lender\n"
        "    .fill 300, 1, 0xf4\n"
        /* Moved, so that its neighbour finds a hole. */
        "function hopper\n"
        "10: 11:\n"
        "    lea 5(%rdi), %rax\n"
        "1:  dec %rax\n"
        "    cmp %rdi, %rax\n"
        "    jg 1b\n"
        "    ret\n"
        "endf hopper\n"
        "    .fill 8, 1, 0xf4\n"
        "function fault_giver\n"
        "    mov $1, %eax\n"
        "    nop\n"
        "10:\n"
        "    mov (%rdi), %eax\n"
        "11:\n"
        "    add %rsi, %rax\n"
        "    lea 1(%rax), %rax\n"
        "    lea 8(%rdx), %rdx\n"
        "    lea 0x1234(%rdx), %rdx\n"
        "    ret\n"
        "endf fault_giver\n"
        "    .fill 300, 1, 0xf4\n"
#endif
);

extern unsigned long borrower(unsigned long), hopper(unsigned long);

struct faulting {
    unsigned long (*call)(const volatile uint32_t *at, unsigned long add);
    const uint8_t *offsets;
};
#define FUNCTION(name)                                                                             \
    extern unsigned long name(const volatile uint32_t *, unsigned long);                           \
    extern const uint8_t name##_offsets[2];
FUNCTION(fault_first)
FUNCTION(fault_middle)
FUNCTION(fault_return)
FUNCTION(fault_tail)
FUNCTION(fault_hop)
FUNCTION(fault_pun)
FUNCTION(fault_lender)
FUNCTION(fault_giver)
#define FAULTING(name)                                                                             \
    { name, name##_offsets }
static const struct faulting all[] = {
    FAULTING(fault_first), FAULTING(fault_middle), FAULTING(fault_return), FAULTING(fault_tail),
    FAULTING(fault_hop),   FAULTING(fault_pun),    FAULTING(fault_lender), FAULTING(fault_giver)};

enum way { REPAIR, REPLACE, SKIP, NEST, WAYS };
enum { ADD = 1000, VALUE = 7, PAGE = 4096 };

static volatile uint32_t *page;
static uint32_t good[2] = {VALUE};
static const struct faulting *present;
static enum way way;
static volatile int faults;

/* What the handler reads: the pc, the accessed address, and the value read. */
#if defined __aarch64__
#define PC(context) (context)->uc_mcontext.pc
#define PLACE(context) (context)->uc_mcontext.regs[0]
#define READ(context) (context)->uc_mcontext.regs[2]
#elif defined __arm__
#define PC(context) (context)->uc_mcontext.arm_pc
#define PLACE(context) (context)->uc_mcontext.arm_r0
#define READ(context) (context)->uc_mcontext.arm_r2
#else
#define PC(context) (context)->uc_mcontext.gregs[REG_RIP]
#define PLACE(context) (context)->uc_mcontext.gregs[REG_RDI]
#define READ(context) (context)->uc_mcontext.gregs[REG_RAX]
#endif

/* The address of PRESENT's label 10 (WHICH is 0) or 11 (1), without the lowest bit of T32
 * functions. */
static uintptr_t label(int which) {
    uintptr_t start = (uintptr_t)present->call;
#ifdef __arm__
    start &= ~(uintptr_t)1;
#endif
    return start + present->offsets[which];
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    faults++;
    check(sig == SIGSEGV && (uint32_t *)info->si_addr == page, "si_addr");
    check((uintptr_t)PC(c) == label(0), "the pc that the handler finds");
    check((uintptr_t)PLACE(c) == (uintptr_t)page, "the argument as the handler finds it");
    check_work();
    if (way == NEST) {
        way = REPLACE;
        check(present->call(page, ADD) == ADD + VALUE + 1, "the function in its own handler");
        way = NEST;
    }
    if (way == REPAIR)
        mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE);
    else if (way == SKIP)
        READ(c) = VALUE, PC(c) = label(1);
    else
        PLACE(c) = (uintptr_t)good;
}

static void fault(const struct faulting *f, enum way how) {
    present = f;
    way = how;
    faults = 0;
    *page = VALUE;
    check(mprotect((void *)page, PAGE, PROT_NONE) == 0, "mprotect");
    check(f->call(page, ADD) == ADD + VALUE + 1, "the function that faults");
    check(faults == (how == NEST ? 2 : 1), "the number of faults");
    mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE);
    check(f->call(page, ADD) == ADD + VALUE + 1, "the function without a fault");
    check(borrower(ADD) == 0 && hopper(ADD) == ADD, "a neighbour of a window that was removed");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(all[i].call(good, ADD) == ADD + VALUE + 1, "a function");
    for (int lap = 0; lap < 3; lap++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            fault(&all[i], (enum way)((lap + i) % WAYS));
    return right();
}
