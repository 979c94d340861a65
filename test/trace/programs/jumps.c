/*
 * setjmp and longjmp: out of deep frames, repeatedly from the same place, past frames of different
 * depth, and out of signal handlers.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#include "expect.h"

static jmp_buf outer, inner;
static sigjmp_buf from_handler;
static volatile int zero;

static NOINLINE int leaf(int n) { return n + zero; }

static NOINLINE int dive(int n) {
    ENTER;
    if (n == zero) {
        for (int i = 0; i < 6; i++)
            expect('!', "dive");
        longjmp(outer, 7);
    }
    int result = dive(n - 1) + 1;
    LEAVE;
    return result;
}

/* The frame that longjmp leaves has the same stack pointer each time. */
static NOINLINE int retry(void) {
    ENTER;
    volatile int tries = 0;
    if (setjmp(outer) != 0)
        tries++;
    if (tries < 4)
        dive(5);
    int result = LEAF(leaf, tries);
    LEAVE;
    return result;
}

static NOINLINE void throw_inner(int n) {
    ENTER;
    UNWOUND;
    longjmp(inner, n);
}

static NOINLINE void throw_outer(int n) {
    ENTER;
    UNWOUND;
    expect('!', "nested");
    longjmp(outer, n);
}

static NOINLINE int nested(void) {
    ENTER;
    volatile int sum = 0;
    int code = setjmp(inner);
    sum += code;
    if (code < 3)
        throw_inner(code + 1);
    throw_outer(sum);
    return sum;
}

static NOINLINE int catch_nested(void) {
    ENTER;
    int code = setjmp(outer);
    if (code == 0)
        nested();
    LEAVE;
    return code;
}

static NOINLINE void on_signal(int signal) {
    ENTER;
    UNWOUND;
    expect('!', "raise_it");
    siglongjmp(from_handler, signal);
}

static NOINLINE void raise_it(void) {
    ENTER;
    raise(SIGUSR1);
    LEAVE;
}

static NOINLINE int leave_handlers(void) {
    ENTER;
    volatile int count = 0;
    signal(SIGUSR1, on_signal);
    if (sigsetjmp(from_handler, 1) != 0)
        count++;
    if (count < 5)
        raise_it();
    LEAVE;
    return count;
}

int main(void) {
    ENTER;
    printf("%d\n", retry());
    printf("%d\n", catch_nested());
    printf("%d\n", leave_handlers());
    printf("%d\n", retry());
    LEAVE;
    expect_print();
    return 0;
}
