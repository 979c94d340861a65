/*
 * Functions whose unlikely parts lie elsewhere (.cold): calls from there, returns from there, and a
 * longjmp out of there.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

static volatile int zero;
static jmp_buf away;

__attribute__((cold)) static NOINLINE int complain(int n) {
    ENTER;
    printf("unlikely %d\n", n);
    LEAVE;
    return n * 2;
}

__attribute__((cold, noreturn)) static NOINLINE void give_up(int n) {
    ENTER;
    UNWOUND;
    expect('!', "risky");
    longjmp(away, n);
}

static NOINLINE int likely(int n) { return n * 7 + zero; }

static NOINLINE int split(int n) {
    ENTER;
    int result = LEAF(likely, n);
    if (__builtin_expect(n % 5 == 0, 0)) {
        result += complain(n);
        result ^= complain(result);
        if (__builtin_expect(result > 100, 0))
            result -= complain(3);
    }
    LEAVE;
    return result;
}

static NOINLINE int returns_cold(int n) {
    ENTER;
    if (__builtin_expect(n < 0, 0)) {
        int result = complain(n);
        LEAVE;
        return result - 1;
    }
    LEAVE;
    return n;
}

static NOINLINE int risky(int n) {
    ENTER;
    if (__builtin_expect(n == 3, 0))
        give_up(n);
    int result = LEAF(likely, n);
    LEAVE;
    return result;
}

static NOINLINE int catching(void) {
    ENTER;
    volatile int n = 0;
    int code = setjmp(away);
    while (code == 0)
        risky(n++);
    LEAVE;
    return code + n;
}

int main(void) {
    ENTER;
    for (int n = 0; n < 12; n++)
        printf("%d\n", split(n));
    printf("%d %d\n", returns_cold(4), returns_cold(-4));
    printf("%d\n", catching());
    LEAVE;
    expect_print();
    return 0;
}
