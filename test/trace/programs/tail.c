/*
 * Tail calls (built with -O2, where compilers make jumps of them): direct, conditional, through a
 * pointer, mutual, to a function of another file, and out of a function without a frame.
 */
#include "expect.h"
#include <stdio.h>

typedef int unary(int);

static volatile int zero;

NOINLINE int target(int n) { return n * 3 + zero; }
NOINLINE int other(int n) { return n - 8 + zero; }

NOINLINE int small_direct(int n) { return target(n + 1); }
NOINLINE int small_conditional(int n) { return n > 3 ? target(n) : other(n); }
NOINLINE int small_pointer(unary *f, int n) { return f(n + 2); }

static unary *table[4] = {target, other, small_direct, small_conditional};
NOINLINE int small_table(unsigned n) { return table[n & 3]((int)n); }

/* Their frames are torn down before the jump. */
NOINLINE int framed(int n) {
    ENTER;
    int doubled = n * 2 + zero;
    LEAVE;
    return small_direct(doubled);
}

NOINLINE int ping(int n);
NOINLINE int pong(int n) {
    ENTER;
    if (n == 0) {
        LEAVE;
        return 1;
    }
    LEAVE;
    return ping(n - 1);
}
NOINLINE int ping(int n) {
    ENTER;
    if (n == 0) {
        LEAVE;
        return 0;
    }
    LEAVE;
    return pong(n - 1);
}

static void expect_through(const char *name, const char *reached) {
    expect('>', name);
    expect('<', name);
    expect('>', reached);
    expect('<', reached);
}

int main(void) {
    ENTER;
    expect_through("small_direct", "target");
    printf("%d\n", small_direct(4));
    for (int n = 2; n < 6; n++) {
        expect_through("small_conditional", n > 3 ? "target" : "other");
        printf("%d\n", small_conditional(n));
    }
    expect_through("small_pointer", "target");
    printf("%d\n", small_pointer(target, 7));
    expect_through("small_pointer", "other");
    printf("%d\n", small_pointer(other, 7));
    expect_all("> small_table", "< small_table", "> small_direct", "< small_direct", "> target",
               "< target", NULL);
    printf("%d\n", small_table(2));
    expect_all("> small_table", "< small_table", "> other", "< other", NULL);
    printf("%d\n", small_table(5));
    int result = framed(3);
    expect_through("small_direct", "target");
    printf("%d\n", result);
    printf("%d %d\n", ping(10), ping(11));
    LEAVE;
    expect_print();
    return 0;
}
