/* The runtime of test programs for Linux without a C library: faults arrive as signals. */
#include "runtime.h"

extern const char text_start[], text_end[], exidx_start[], exidx_end[];
void start_here(spoor_word *sp);
void handle(int number, void *info, void *context);
void give_back(void);

#if defined(__aarch64__)
enum { WRITE = 64, EXIT = 94, SIGACTION = 134, REGS = 184, NUMBERS = 33, ISA = SPOOR_ISA_A64 };

__asm__(".globl _start\n_start: mov x29, #0\n mov x30, #0\n mov x0, sp\n b start_here\n"
        ".globl give_back\ngive_back: mov x8, #139\n svc #0\n");

static long call(long number, long a, long b, long c, long d) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x8) : "memory");
    return x0;
}
#else
enum { WRITE = 4, EXIT = 248, SIGACTION = 174, REGS = 32, NUMBERS = 16, ISA = SPOOR_ISA_ARM };

__asm__(".arm\n.globl _start\n_start: mov r11, #0\n mov lr, #0\n mov r0, sp\n ldr r1, =start_here\n"
        " bx r1\n.ltorg\n"
        ".globl give_back\n.type give_back, %function\ngive_back: mov r7, #173\n svc #0\n");

__attribute__((naked)) static long call(long number, long a, long b, long c, long d) {
    (void)number, (void)a, (void)b, (void)c, (void)d;
    __asm__("push {r4, r7, lr}\n mov r7, r0\n mov r0, r1\n mov r1, r2\n mov r2, r3\n"
            " ldr r3, [sp, #12]\n svc #0\n pop {r4, r7, pc}\n");
}
#endif

void put_text(const char *text, unsigned size) { call(WRITE, 1, (long)text, size, 0); }

void quit(int status) {
    for (;;)
        call(EXIT, status, 0, 0, 0);
}

void run_more(void) {}

/* rt_sigframe's ucontext: asm/ucontext.h, asm/sigcontext.h. */
void handle(int number, void *info, void *context) {
    struct spoor_regs regs = {0};
    spoor_word *saved = (spoor_word *)((char *)context + REGS);
    (void)number, (void)info;
    for (unsigned n = 0; n < NUMBERS; n++)
        regs.r[n] = saved[n];
    regs.known = ~(spoor_word)0;
    unsigned size = 4;
    if (NUMBERS == 16 && saved[16] & 0x20) {
        regs.r[SPOOR_PC] |= 1;
        size = 2;
    }
    saved[NUMBERS - 1] += walk_all(&regs) ? size : 0;
}

void start_here(spoor_word *sp) {
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask[8 / sizeof(long)];
    } action = {(void *)handle, 0x4000004, (void *)give_back, {0}};
    image.isa = ISA;
    image.text_low = (spoor_word)text_start;
    image.text_high = (spoor_word)text_end;
    image.exidx_low = (spoor_word)exidx_start;
    image.exidx_high = (spoor_word)exidx_end;
    image.stacks[0].high = (spoor_word)sp;
    call(SIGACTION, 4, (long)&action, 0, 8);
    call(SIGACTION, 5, (long)&action, 0, 8);
    call(SIGACTION, 11, (long)&action, 0, 8);
    run_scenarios();
}
