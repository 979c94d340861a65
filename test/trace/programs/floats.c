/*
 * Arguments and results in vector and x87 registers, and structures of every class. Traced calls
 * happen between the making of a value and its use.
 */
#include <complex.h>
#include <stdio.h>

#include "expect.h"

struct pair {
    double x, y;
}; /* two vector registers */
struct mixed {
    long n;
    double x;
}; /* one of each kind */
struct words {
    long a, b;
}; /* two general registers */
struct large {
    long at[5];
}; /* in memory */
struct extended {
    long double x;
    long n;
}; /* in memory */

static volatile int zero;

static NOINLINE float single(float a, float b) { return a * b + (float)zero; }
static NOINLINE double twice(double a, double b) { return a / b + zero; }
static NOINLINE long double extended(long double a, long double b) { return a / b + zero; }
static NOINLINE double complex turn(double complex z) { return z * I + zero; }
static NOINLINE long double complex triple(long double complex z) { return z * 3 + zero; }
static NOINLINE struct pair make_pair(double x) { return (struct pair){x, x * x + zero}; }
static NOINLINE struct mixed make_mixed(struct mixed m) {
    return (struct mixed){m.n + 1 + zero, m.x / 2};
}
static NOINLINE struct words make_words(long a) { return (struct words){a, ~a + zero}; }
static NOINLINE struct large make_large(long a) {
    struct large l;
    for (int i = 0; i < 5; i++)
        l.at[i] = a + i + zero;
    return l;
}
static NOINLINE struct extended make_extended(struct extended e) {
    return (struct extended){e.x * 2 + zero, e.n - 1};
}
/* Four pairs arrive in registers, the fifth on the stack. */
static NOINLINE double many(struct pair a, struct pair b, struct pair c, struct pair d,
                            struct pair e) {
    return a.x - a.y + b.x * b.y - c.x / c.y + d.x * d.y - e.x * e.y + zero;
}

/* Keeps values in caller-saved registers across calls of functions that the compiler knows. */
static NOINLINE double keep(double x, int n) {
    ENTER;
    double total = 0;
    for (int i = 1; i <= n; i++)
        total += x * LEAF(twice, total + 1, i) + (double)LEAF(single, (float)i, 1.5F);
    LEAVE;
    return total;
}

#ifdef __x86_64__
#define WIDE __attribute__((target("avx")))
#define HAS_WIDE __builtin_cpu_supports("avx")
#else
#define WIDE
#define HAS_WIDE 1
#endif

typedef double quad __attribute__((vector_size(32)));

WIDE static NOINLINE quad rotate(quad a, quad b) { return (quad){b[1], a[2], b[3], a[0]} * a; }

WIDE static NOINLINE void print_rotated(void) {
    quad a = {1.5, 2.5, 3.5, 4.5}, b = {.1, .2, .3, .4};
    ENTER;
    expect('>', "rotate");
    quad r = rotate(a, b);
    expect('<', "rotate");
    printf("%a %a %a %a\n", r[0], r[1], r[2], r[3]);
    LEAVE;
}

int main(void) {
    static const struct pair pairs[5] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
    ENTER;
    printf("%a\n", (double)LEAF(single, 1.1F, 2.7F));
    printf("%a\n", LEAF(twice, 1, 3));
    printf("%La\n", LEAF(extended, 1, 3));
    double complex z = LEAF(turn, 1.25 + 2.5 * I);
    printf("%a %a\n", creal(z), cimag(z));
    long double complex w = LEAF(triple, 1.25L + 2.1L * I);
    printf("%La %La\n", creall(w), cimagl(w));
    struct pair p = LEAF(make_pair, 1.7);
    struct mixed m = LEAF(make_mixed, (struct mixed){41, 5.5});
    struct words u = LEAF(make_words, 99);
    struct large l = LEAF(make_large, 1000);
    struct extended e = LEAF(make_extended, (struct extended){1.75L, 8});
    printf("%a %a %ld %a %ld %ld\n", p.x, p.y, m.n, m.x, u.a, u.b);
    printf("%ld %ld %La %ld\n", l.at[0], l.at[4], e.x, e.n);
    printf("%a\n", LEAF(many, pairs[0], pairs[1], pairs[2], pairs[3], pairs[4]));
    printf("%a\n", keep(.3, 20));
    if (HAS_WIDE)
        print_rotated();
    LEAVE;
    expect_print();
    return 0;
}
