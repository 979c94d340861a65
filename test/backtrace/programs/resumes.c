/*
 * Faults with a different number in each register. Its spoor_fault() checks that the report has
 * these numbers, changes one, and resumes behind the instruction. Prints "right". For the boards of
 * backtrace/examples without Cortex-M, with their start.S.
 */
#include "board.h"
#include "spoor_fault.h"

void spoor_putchar(char c) { board_putchar(c); }

static void print(const char *text) {
    while (*text)
        board_putchar(*text++);
}

/* Stores sp to TO, loads registers from FROM, faults, and stores them to TO. */
void fault(const spoor_word *from, spoor_word *to);
extern const char faulting[];

#if defined(__aarch64__)
enum { COUNT = 31, PC = SPOOR_A64_PC, SP = SPOOR_A64_SP, SIZE = 4, MODE = 0 };
#define PAIRS(op, at)                                                                              \
    op " x2, x3, [" at ", #16]\n" op " x4, x5, [" at ", #32]\n" op " x6, x7, [" at ", #48]\n" op   \
       " x8, x9, [" at ", #64]\n" op " x10, x11, [" at ", #80]\n" op " x12, x13, [" at             \
       ", #96]\n" op " x14, x15, [" at ", #112]\n" op " x16, x17, [" at ", #128]\n" op             \
       " x18, x19, [" at ", #144]\n" op " x20, x21, [" at ", #160]\n" op " x22, x23, [" at         \
       ", #176]\n" op " x24, x25, [" at ", #192]\n" op " x26, x27, [" at ", #208]\n" op            \
       " x28, x29, [" at ", #224]\n"
__asm__("fault:\n"
        "    stp x29, x30, [sp, #-112]!\n"
        "    stp x19, x20, [sp, #16]\n"
        "    stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]\n"
        "    stp x25, x26, [sp, #64]\n"
        "    stp x27, x28, [sp, #80]\n"
        "    str x1, [sp, #96]\n"
        "    mov x2, sp\n"
        "    str x2, [x1]\n" PAIRS("ldp", "x0") "    ldr x30, [x0, #240]\n"
                                                "    ldp x0, x1, [x0]\n"
                                                "faulting: udf #0\n"
                                                "    str x0, [sp, #104]\n"
                                                "    ldr x0, [sp, #96]\n"
                                                "    str x1, [x0, #8]\n" PAIRS(
                                                    "stp", "x0") "    str x30, [x0, #240]\n"
                                                                 "    ldr x1, [sp, #104]\n"
                                                                 "    str x1, [x0]\n"
                                                                 "    ldp x19, x20, [sp, #16]\n"
                                                                 "    ldp x21, x22, [sp, #32]\n"
                                                                 "    ldp x23, x24, [sp, #48]\n"
                                                                 "    ldp x25, x26, [sp, #64]\n"
                                                                 "    ldp x27, x28, [sp, #80]\n"
                                                                 "    ldp x29, x30, [sp], #112\n"
                                                                 "    ret\n");
#else
enum { COUNT = 13, PC = SPOOR_PC, SP = SPOOR_SP };
#if defined(__thumb__)
enum { SIZE = 2, MODE = 1 };
#define ISA ".thumb\n.thumb_func\n"
#else
enum { SIZE = 4, MODE = 0 };
#define ISA ".arm\n"
#endif
__asm__(".syntax unified\n" ISA ".type fault, %function\n"
        "fault:\n"
        "    push {r1, r4-r11, lr}\n"
        "    str sp, [r1]\n"
        "    ldm r0, {r0-r12}\n"
        "faulting: udf #0\n"
        "    push {r0}\n"
        "    ldr r0, [sp, #4]\n"
        "    add r0, r0, #4\n"
        "    stm r0, {r1-r12}\n"
        "    pop {r1}\n"
        "    str r1, [r0, #-4]\n"
        "    pop {r1, r4-r11, pc}\n");
#endif

static spoor_word number(unsigned n) { return (spoor_word)(n + 1) * 0x1010101; }
static spoor_word from[COUNT], to[COUNT];
static unsigned wrong;

void spoor_fault(const struct spoor_regs *regs) {
    spoor_word at = (spoor_word)(uintptr_t)faulting & ~(spoor_word)1;
    for (unsigned n = 0; n < COUNT; n++)
        wrong += regs->r[n] != number(n);
    wrong += regs->r[PC] != (at | MODE);
    wrong += regs->r[SP] != to[0];
    ((struct spoor_regs *)(uintptr_t)regs)->r[1] = 5;
    ((struct spoor_regs *)(uintptr_t)regs)->r[PC] += SIZE;
}

void reset(void);
void reset(void) {
    for (unsigned n = 0; n < COUNT; n++)
        from[n] = number(n);
    fault(from, to);
    for (unsigned n = 0; n < COUNT; n++)
        wrong += to[n] != (n == 1 ? 5 : number(n));
    print(wrong ? "wrong\n" : "right\n");
    for (;;)
        ;
}
