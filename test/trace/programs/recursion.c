/* Recursion: simple, doubled, mutual, deep. */
#include "expect.h"
#include <stdio.h>

static NOINLINE int fibonacci(int n) {
    ENTER;
    int sum = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    LEAVE;
    return sum;
}

static NOINLINE unsigned ackermann(unsigned m, unsigned n) {
    ENTER;
    unsigned result = m == 0   ? n + 1
                      : n == 0 ? ackermann(m - 1, 1)
                               : ackermann(m - 1, ackermann(m, n - 1));
    LEAVE;
    return result;
}

static NOINLINE int is_odd(unsigned n);

static NOINLINE int is_even(unsigned n) {
    ENTER;
    int result = n == 0 || is_odd(n - 1);
    LEAVE;
    return result;
}

static NOINLINE int is_odd(unsigned n) {
    ENTER;
    int result = n != 0 && is_even(n - 1);
    LEAVE;
    return result;
}

static NOINLINE long deep(long n) {
    ENTER;
    long sum = n ? n + deep(n - 1) : 0;
    LEAVE;
    return sum;
}

int main(void) {
    ENTER;
    printf("%d\n", fibonacci(10));
    printf("%u\n", ackermann(2, 3));
    printf("%d %d\n", is_even(10), is_odd(10));
    printf("%ld\n", deep(1000));
    LEAVE;
    expect_print();
    return 0;
}
