/*
 * A program for a bare Cortex-M board: output by semihosting. With -DPROCESS the scenarios run on
 * the process stack. In one scenario a handler that has interrupted another handler faults. In
 * another the library prints its own report of a fault.
 */
#include "../../../backtrace/spoor_fault.h"
#include "runtime.h"

extern const char text_start[], text_end[], exidx_start[], exidx_end[], stack_top[];
int s_service(int a), serve(int a), s_printed(int a), leaf(int a), leaf_with_locals(int a);
void reset(void);
void service(void);
static int printing;
static volatile int served;

static int semihost(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void put_text(const char *text, unsigned size) {
    (void)size;
    semihost(4, text);
}

void quit(int status) {
    const uint32_t reason[2] = {0x20026, (uint32_t)status};
    for (;;)
        semihost(0x20, reason);
}

void spoor_putchar(char c) {
    const char text[2] = {c, 0};
    put_text(text, 1);
}

/* Replaces the library's function: walks in all ways or prints, and resumes behind the faulting
 * instruction. */
void spoor_fault(const struct spoor_regs *regs) {
    int go_on = 1;
    if (printing)
        spoor_fault_print(&image, regs, spoor_putchar);
    else
        go_on = walk_all(regs);
    uint32_t *frame = (uint32_t *)(regs->r[SPOOR_PC] & 4 ? regs->psp : regs->r[SPOOR_SP]);
    frame[6] += go_on ? 2 : 0;
}

__attribute__((noinline)) int serve(int a) { return leaf(a) + a; }

/* The SVC handler. */
void service(void) { served = serve(1); }

__attribute__((noinline)) int s_service(int a) {
    __asm__ volatile(".inst.n 0xdf00" ::: "memory");
    return a + 1;
}

__attribute__((noinline)) int s_printed(int a) { return leaf_with_locals(a) + 1; }

/* Uses the short form; its sites are printed as the library's handler prints them. */
__attribute__((noinline)) int s_here(int a) {
    spoor_word sites[4];
    size_t count = spoor_backtrace(sites, 4);
    put_word("here");
    for (size_t i = 0; i < count; i++)
        put_number(sites[i]);
    put_word("\n");
    return a + (int)count;
}

void run_more(void) {
    served = s_here(1) + 1;
    s_service(1);
    printing = 1;
    s_printed(1);
    printing = 0;
}

/* Runs scenarios on the process stack, or again from the top of the main stack. */
__attribute__((naked)) static void begin(spoor_word stack) {
    (void)stack;
#ifdef PROCESS
    __asm__("msr psp, r0\n movs r1, #2\n msr control, r1\n isb\n");
#endif
    __asm__("bl run_scenarios\n b .\n");
}

void reset(void) {
    image.isa = SPOOR_ISA_M;
    image.text_low = (spoor_word)text_start;
    image.text_high = (spoor_word)text_end;
    image.exidx_low = (spoor_word)exidx_start;
    image.exidx_high = (spoor_word)exidx_end;
    image.stacks[0].high = (spoor_word)stack_top;
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;
    __asm__ volatile("dsb\n isb\n vmov.f32 s0, #1.0" ::: "s0", "memory");
#endif
#ifdef PROCESS
    image.stacks[0].high = (spoor_word)stack_top - 0x800; /* between process and main stack */
    image.stacks[1].low = image.stacks[0].high;
    image.stacks[1].high = (spoor_word)stack_top;
#endif
    begin(image.stacks[0].high);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top,
    reset,
    spoor_fault_handler,
    spoor_fault_handler,
    spoor_fault_handler,
    spoor_fault_handler,
    spoor_fault_handler,
    spoor_fault_handler,
    0,
    0,
    0,
    service,
    0,
    0,
    0,
    0};
