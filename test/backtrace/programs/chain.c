/*
 * Chains of calls that end in a fault, in each shape that makes a stack walk hard. Built twice into
 * each program, as PART 0 and PART 1, which call each other. For interworking one part is A32 and
 * one T32.
 *
 * Each scenario begins in a function named s_..., and matrix.py knows its calls and their order.
 * The runtime's handler walks the stack, then resumes behind the faulting instruction.
 */
#include <stdarg.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
#if defined(__aarch64__)
#define FAULT() __asm__ volatile("udf #1" ::: "memory")
#elif defined(__thumb__)
#define FAULT() __asm__ volatile(".inst.n 0xde01" ::: "memory")
#else
#define FAULT() __asm__ volatile(".inst 0xe7f001f1" ::: "memory")
#endif
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")

extern volatile int chain_one;
int leaf(int a), leaf_with_locals(int a), after_call(int a, int b), helper(int a);
int plain_1(int a), plain_2(int a), plain_3(int a, int b, int c, int d, int e, int f);
int locals_1(int a), locals_2(int a), locals_3(int a), locals_4(int a);
int dynamic_1(int n), dynamic_2(int n), various_1(int n, ...), various_2(const char *s, ...);
int deep(int n), tail_1(int a), tail_2(int a), tail_3(int a), saved_1(int a), saved_2(int a);
int pointer_1(int a), pointer_2(int (*f)(int), int a), choose_1(int a), early(int a),
    looping(int a);
int many(int a, int b, int c, int d, int e, int f), finish(int a);
long long wide_1(long long a, int b);
void s_forever(void) __attribute__((noreturn));

/* Placed behind all other functions, in this order, whatever order the compiler chooses. */
#define BEHIND(n) __attribute__((section("behind." #n)))
int s_ending(void), s_ending_leaf(void), s_pointed(void), s_kept(void);
extern void (*volatile kept_at)(int);
void ending(int a) __attribute__((noreturn)), ending_leaf(int a) __attribute__((noreturn));
void pointed(int a) __attribute__((noreturn)), kept(int a) __attribute__((noreturn));
void leave_scenario(void) __attribute__((noreturn));

#if PART == 0
volatile int chain_one = 1;

APART int leaf(int a) {
    FAULT();
    return a + 1;
}

APART int helper(int a) { return a * chain_one; }

APART int plain_2(int a) { return plain_3(a, 1, 2, 3, 4, 5) + 2; }

APART int locals_1(int a) {
    int some[20];
    for (int i = 0; i < 20; i++)
        some[i] = a + i;
    KEEP(some);
    int r = locals_2(some[3]);
    KEEP(some);
    return r + some[5];
}

APART int locals_3(int a) {
    char much[5000];
    KEEP(much);
    much[a] = 1;
    int r = locals_4(a);
    KEEP(much);
    return r + much[a];
}

APART int dynamic_1(int n) {
    char some[n + 8];
    KEEP(some);
    int r = dynamic_2(n);
    KEEP(some);
    return r + some[0];
}

APART int various_1(int n, ...) {
    va_list list;
    va_start(list, n);
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += va_arg(list, int);
    va_end(list);
    return various_2("", sum, n, sum) + sum;
}

APART int deep(int n) {
    if (n == 0)
        return leaf(n) + 1;
    int r = deep(n - 1);
    KEEP(&r);
    return r + n;
}

APART int tail_2(int a) { return tail_3(a + 1); }

APART int saved_1(int a) {
    int b = helper(a), c = helper(b), d = helper(c), e = helper(d), f = helper(e), g = helper(f);
    int h = saved_2(a);
    return a + b * c + d * e + f * g + h;
}

APART int pointer_1(int a) {
    int (*volatile f)(int) = leaf;
    return pointer_2(f, a) + 1;
}

APART int choose_1(int a) {
    switch (a) {
    case 0:
        return helper(a);
    case 1:
        return early(a) + 1;
    case 2:
        return helper(a + 3) + 2;
    case 3:
        return helper(a - 1) * 3;
    case 4:
        return helper(a) ^ 77;
    default:
        return 5;
    }
}

APART int looping(int a) {
    int sum = 0;
    for (int i = 0; i < 2 * chain_one; i++) {
        while (sum < i)
            sum += helper(a);
        if (i == 1)
            sum += leaf(i);
    }
    return sum;
}

APART long long wide_1(long long a, int b) { return a / (b + 1) + leaf(b) + a * b; }

APART int s_leaf(void) { return leaf(1) + 1; }
APART int s_leaf_with_locals(void) { return leaf_with_locals(1) + 1; }
APART int s_after_call(void) { return after_call(1, 2) + 1; }
APART int s_plain(void) { return plain_1(1) + 1; }
APART int s_locals(void) { return locals_1(1) + 1; }
APART int s_dynamic(void) { return dynamic_1(9 * chain_one) + 1; }
APART int s_various(void) { return various_1(3, 1, 2, 3) + 1; }
APART int s_deep(void) { return deep(12 * chain_one) + 1; }
APART int s_tail(void) { return tail_1(1) + 1; }
APART int s_saved(void) { return saved_1(1) + 1; }
APART int s_pointer(void) { return pointer_1(1) + 1; }
APART int s_choose(void) { return choose_1(chain_one) + 1; }
APART int s_looping(void) { return looping(chain_one) + 1; }
APART int s_many(void) { return many(1, 2, 3, 4, 5, 6) + 1; }
APART int s_wide(void) { return (int)wide_1(chain_one, 1) + 1; }

/* A function that never returns keeps no return address if the compiler knows this. Here it is
 * right behind its caller and looks like the caller's end. */
BEHIND(1) APART int s_ending(void) {
    if (helper(1))
        ending(chain_one);
    return 1;
}

BEHIND(2) APART void ending(int a) {
    helper(a);
    FAULT();
    leave_scenario();
}

BEHIND(3) APART int s_ending_leaf(void) {
    if (helper(1))
        ending_leaf(chain_one);
    return 1;
}

BEHIND(4) APART void ending_leaf(int a) {
    leaf(a);
    leave_scenario();
}

/* The same, but no instruction branches there. */
BEHIND(5) APART int s_pointed(void) {
    void (*volatile f)(int) = pointed;
    f(helper(1));
    return 1;
}

BEHIND(6) APART void pointed(int a) {
    helper(a);
    FAULT();
    leave_scenario();
}

/* The same, but only code before it knows of it and has left its address in memory. Behind it are
 * the linker's stubs, which are A32 behind Thumb-1 code, so the place behind its last call is no
 * code. */
BEHIND(7) APART int s_kept(void) {
    kept_at(helper(1));
    return 1;
}

BEHIND(8) APART void kept(int a) {
    helper(a);
    FAULT();
    leave_scenario();
}

/* Prevents linker stubs in the other instruction set from following here. */

/* Never returns; the runtime ends the program after the walk. */
APART void s_forever(void) {
    for (;;)
        finish(chain_one);
}
#else
APART int leaf_with_locals(int a) {
    volatile int some[6];
    some[0] = a;
    some[5] = a;
    FAULT();
    return some[0] + some[5];
}

APART int after_call(int a, int b) {
    int c = helper(a);
    FAULT();
    return b + helper(c);
}

APART int plain_1(int a) { return plain_2(a) + 1; }

APART int plain_3(int a, int b, int c, int d, int e, int f) { return leaf(a + b) * c + d * e + f; }

APART int locals_2(int a) {
    char some[700];
    KEEP(some);
    some[a] = 1;
    int r = locals_3(a);
    KEEP(some);
    return r + some[a];
}

APART int locals_4(int a) {
    volatile int one = a;
    return leaf(one) + one;
}

APART int dynamic_2(int n) {
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        char *some = __builtin_alloca((unsigned)n * 8);
        KEEP(some);
        some[i] = 1;
        if (i == 1)
            sum += leaf(n);
        KEEP(some);
        sum += some[i];
    }
    return sum;
}

APART int various_2(const char *s, ...) {
    va_list list;
    va_start(list, s);
    int r = leaf(va_arg(list, int));
    r += va_arg(list, int);
    va_end(list);
    return r;
}

APART int tail_1(int a) { return tail_2(a) + 1; }
APART int tail_3(int a) { return leaf(a + 2); }

APART int saved_2(int a) {
    int b = helper(a), c = helper(b), d = helper(c), e = helper(d), f = helper(e), g = helper(f);
    int i = helper(g), j = helper(i), k = helper(j);
    int h = leaf_with_locals(a);
    return a + b * c + d * e + f * g + h * i + j * k;
}

APART int pointer_2(int (*f)(int), int a) { return f(a) + a; }

APART int early(int a) {
    if (a == 0)
        return 7;
    if (helper(a) > 50)
        return helper(a + 1) + helper(a);
    int some[3] = {a, a, a};
    KEEP(some);
    return leaf(a) + some[1];
}

APART int many(int a, int b, int c, int d, int e, int f) {
    return leaf(a) + plain_3(a, b, c, d, e, f) * b;
}

APART int finish(int a) { return leaf(a) + a; }
#endif
