/*
 * Text that is longer than jumps reach. The build puts FAR, a section of code, many megabytes
 * behind the rest, as linkers would if there were as much other code between.
 */
#include "expect.h"
#include <stdio.h>

#define FAR NOINLINE __attribute__((section("far_text")))

static NOINLINE int near_leaf(int n) {
    ENTER;
    LEAVE;
    return n * 3 + 1;
}

static FAR int far_leaf(int n) {
    ENTER;
    LEAVE;
    return n ^ 5;
}

#define MIX(a, b)                                                                                  \
    do {                                                                                           \
        (a) = ((a)*33 + (b)) ^ ((b) << 5);                                                         \
        (b) = ((b) ^ (a) >> 7) * 0x1003f + ((a) ^ (b) >> 3);                                       \
    } while (0)

/* Has a piece of code without calls, as most code has, from which other functions borrow room for
 * their jumps. */
static FAR unsigned far_line(unsigned a, unsigned b) {
    ENTER;
    MIX(a, b);
    MIX(b, a);
    MIX(a, b);
    MIX(b, a);
    MIX(a, b);
    MIX(b, a);
    MIX(a, b);
    MIX(b, a);
    LEAVE;
    return a ^ b >> 13;
}

static FAR int far_loop(int n) {
    ENTER;
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i % 2 ? near_leaf(i) : far_leaf(i);
    LEAVE;
    return sum;
}

static FAR int far_early(int n, const int *from) {
    ENTER;
    if (!from) {
        LEAVE;
        return -1;
    }
    int found = from[n & 3] + far_leaf(n);
    LEAVE;
    return found;
}

static NOINLINE int near_deep(int n);

static FAR int far_deep(int n) {
    ENTER;
    int sum = n ? near_deep(n - 1) + n : 0;
    LEAVE;
    return sum;
}

static NOINLINE int near_deep(int n) {
    ENTER;
    int sum = n ? far_deep(n - 1) - n : 0;
    LEAVE;
    return sum;
}

static FAR double far_double(double a, const char *text) {
    ENTER;
    double sum = a;
    while (*text)
        sum = sum / 2 + *text++ - near_leaf(3);
    LEAVE;
    return sum;
}

int main(void) {
    ENTER;
    static const int from[4] = {3, 1, 4, 1};
    printf("%u\n", far_line(2, 3));
    printf("%d\n", far_loop(9));
    printf("%d %d\n", far_early(2, from), far_early(2, NULL));
    printf("%d\n", far_deep(20));
    printf("%.3f\n", far_double(2.5, "spoor"));
    LEAVE;
    expect_print();
    return 0;
}
