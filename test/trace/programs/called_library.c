/* The library that library_caller.c calls. Some of its functions also call each other. */
#include <stdarg.h>

#include "called_library.h"
#include "expect.h"

static volatile int zero;

int called_leaf(int n) { return n + 1 + zero; }

int called_work(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += called_leaf(i);
    return sum;
}

int called_tail(int n) { return called_leaf(n * 2); }

static NOINLINE int innermost(called_function *function, int n) {
    int sum = called_leaf(n) + function(n);
    return sum * 3 + zero;
}
static NOINLINE int inner(called_function *function, int n) {
    return n > 100 ? n : innermost(function, n + zero);
}
int called_inside(called_function *function, int n) { return inner(function, n + 5); }

/* Contains bytes that are no instruction, where control might arrive. */
#if defined __x86_64__
#define STATE
#define ADD_9_AND_RETURN "lea 9(%rdi), %eax\n\tret\n\t.byte 0x06\n\t"
#elif defined __aarch64__
#define STATE
#define ADD_9_AND_RETURN "add w0, w0, #9\n\tcbnz xzr, 1f\n\tret\n1:\t.inst 0x02000000\n\tret\n\t"
#elif defined __thumb__
#define STATE ".syntax unified\n\t.thumb\n\t.thumb_func\n\t"
#define ADD_9_AND_RETURN                                                                           \
    "cmp r0, r0\n\tbne 1f\n\tadds r0, #9\n\tbx lr\n1:\t.inst.n 0xb800\n\tbx lr\n\t"
#else
#define STATE ".arm\n\t"
#define ADD_9_AND_RETURN                                                                           \
    "cmp r0, r0\n\taddeq r0, r0, #9\n\tbxeq lr\n\t.inst 0xf7ffffff\n\tbx lr\n\t"
#endif
__asm__(STATE ".globl called_bad\n\t.type called_bad, %function\n"
              "called_bad:\n\t.cfi_startproc\n\t" ADD_9_AND_RETURN ".cfi_endproc\n\t"
              ".size called_bad, . - called_bad");

static NOINLINE int pick_low(int n) { return n - 7 + zero; }
static NOINLINE int pick_high(int n) { return n + 7 + zero; }
static int picks = 1;
__attribute__((used)) static called_function *resolve(void) { return picks ? pick_high : pick_low; }
int called_pick(int n) __attribute__((ifunc("resolve")));

int first_old(int n);
int second_old(int n);
__asm__(".symver first_old, called_old@FIRST\n\t.symver second_old, called_old@@SECOND");
int first_old(int n) { return n + 100 + zero; }
int second_old(int n) { return n + 200 + zero; }

int called_unasked(int n) { return n + 17 + zero; }

double called_sum(int n, ...) {
    va_list list;
    double sum = 0;
    va_start(list, n);
    while (n--)
        sum += va_arg(list, double);
    va_end(list);
    return sum;
}

int called_back(called_function *function, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += function(i);
    return sum;
}

static called_function *const table[] = {called_unasked, called_leaf};
called_function *const *called_table(void) { return table; }
