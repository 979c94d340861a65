/* Faults at each instruction of functions that windows cover whole: handlers must find the
 * instruction's own address and all registers, and may resume in every way there is. */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "story.h"

/*
 * Each function has one instruction that faults, at label 10, and goes on at 11, which is also
 * where a handler may send it; the two offsets are in NAME_offsets (labels that symbols or
 * addresses in data refer to would not be covered by a window). The first argument is what is
 * accessed; what comes out is the second one + 1 + what was read.
 */
__asm__(".macro function name\n"
        "    .globl \\name, \\name\\()_offsets\n"
        "    .type \\name, @function\n"
        "    .balign 32\n"
        "\\name:\n"
        "    .cfi_startproc\n"
        ".endm\n"
        ".macro endf name\n"
        "    .cfi_endproc\n"
        "    .size \\name, . - \\name\n"
        "    .pushsection .rodata\n"
        "\\name\\()_offsets: .byte 10b - \\name, 11b - \\name\n"
        "    .popsection\n"
        ".endm\n"
#ifdef __aarch64__
        /* The one that is moved. */
        "function fault_first\n"
        "10:\n"
        "    ldr w2, [x0]\n"
        "11:\n"
        "    add x0, x2, x1\n"
        "    add x0, x0, #1\n"
        "    ret\n"
        "endf fault_first\n"
        /* One that is not. */
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
        /* Moved, behind what stays as calls land there; that signs the return address, too. */
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
        /* Moved, and two are read. */
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
        /* In the window of the return, first and last before it. */
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
        /* Where there is room for a short jump only, with padding near it and without. */
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
        /* Its first bytes, a jump in the end, are part of its neighbour's. */
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
        /* Moved so that its neighbour finds a hole. */
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

extern uint64_t borrower(uint64_t), hopper(uint64_t);

struct faulting {
    uint64_t (*call)(const volatile uint32_t *at, uint64_t add);
    const uint8_t *offsets;
};
#define FUNCTION(name)                                                                             \
    extern uint64_t name(const volatile uint32_t *, uint64_t);                                     \
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

/* What the handler finds: where it was, what is accessed, and what was read. */
#ifdef __aarch64__
#define PC(context) (context)->uc_mcontext.pc
#define PLACE(context) (context)->uc_mcontext.regs[0]
#define READ(context) (context)->uc_mcontext.regs[2]
#else
#define PC(context) (context)->uc_mcontext.gregs[REG_RIP]
#define PLACE(context) (context)->uc_mcontext.gregs[REG_RDI]
#define READ(context) (context)->uc_mcontext.gregs[REG_RAX]
#endif

/* The address of PRESENT's label 10 (0) or 11 (1). */
static uintptr_t label(int which) { return (uintptr_t)present->call + present->offsets[which]; }

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
    check(borrower(ADD) == 0 && hopper(ADD) == ADD, "what leaned on a window that was given up");
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
