/*
 * Calls of many kinds, which callgrind.py counts and compares: recursion, switch tables, tail
 * calls, variable arguments, floating-point and structure results, virtual calls, longjmp,
 * exceptions.
 */
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include "expect.hpp"

static volatile int zero;

static NOINLINE int fibonacci(int n) {
    return n < 2 ? n + zero : fibonacci(n - 1) + fibonacci(n - 2);
}

static NOINLINE bool odd(unsigned n);
static NOINLINE bool even(unsigned n) { return n == 0 ? !zero : odd(n - 1); }
static NOINLINE bool odd(unsigned n) { return n == 0 ? zero != 0 : even(n - 1); }

static NOINLINE int plus(int a, int b) { return a + b + zero; }
static NOINLINE int minus(int a, int b) { return a - b + zero; }
static NOINLINE int times(int a, int b) { return a * b + zero; }
static NOINLINE int (*chosen(int n))(int, int) { return n & 1 ? plus : n & 2 ? minus : times; }

static NOINLINE int select(int n, int a) {
    switch (n) {
    case 0:
        return plus(a, 1);
    case 1:
        return minus(a, 2) + plus(a, 3);
    case 2:
        return times(a, 5);
    case 3:
        return a * 7 + zero;
    case 4:
        return times(plus(a, 4), 3);
    case 5:
        return minus(9, a);
    case 6:
        return chosen(a)(a, n);
    default:
        return -a;
    }
}

static NOINLINE int leaf_table(int n) {
    switch (n) {
    case 0:
        return 17 + zero;
    case 1:
        return 4 - zero;
    case 2:
        return 91 * zero + 1;
    case 3:
        return -3 ^ zero;
    case 4:
        return 44 | zero;
    case 5:
        return zero * 2 + 1;
    default:
        return 0;
    }
}

static NOINLINE int tail_to_one(int n) { return plus(n, n); }
static NOINLINE int tail_to_either(int n) { return n & 1 ? tail_to_one(n) : minus(n, 3); }
static NOINLINE int tail_through(int (*f)(int), int n) { return f(n + 1); }

static NOINLINE long sum(int count, ...) {
    va_list list;
    va_start(list, count);
    long total = zero;
    for (int i = 0; i < count; i++)
        total += i & 1 ? static_cast<long>(va_arg(list, double)) : va_arg(list, long);
    va_end(list);
    return total;
}

struct Pair {
    double x, y;
};
struct Large {
    long at[6];
};

static NOINLINE double average(double a, double b) { return (a + b) / 2 + zero; }
static NOINLINE long double product(long double a, long double b) { return a * b + zero; }
static NOINLINE Pair pair(double x) { return {x, average(x, 2)}; }
static NOINLINE Large large(long a) {
    Large l = {{a, a + 1, a + 2, a + 3, a + 4, a + zero}};
    return l;
}

struct Node {
    virtual ~Node() = default;
    virtual int value() const = 0;
};
struct Leaf final : Node {
    explicit Leaf(int n) : n(n) {}
    NOINLINE int value() const override { return n + zero; }
    int n;
};
struct Sum final : Node {
    Sum(std::unique_ptr<Node> a, std::unique_ptr<Node> b) : a(std::move(a)), b(std::move(b)) {}
    NOINLINE int value() const override { return a->value() + b->value(); }
    std::unique_ptr<Node> a, b;
};
static NOINLINE std::unique_ptr<Node> build(int depth) {
    if (depth == 0)
        return std::make_unique<Leaf>(depth + 3);
    return std::make_unique<Sum>(build(depth - 1), build(depth - 1));
}

static jmp_buf back;
static NOINLINE int dive(int n) {
    if (n == zero)
        longjmp(back, 5);
    if (n < zero)
        return n;
    return dive(n - 1) + 1;
}
static NOINLINE int surface(int laps) {
    volatile int total = 0, lap = 0;
    total += setjmp(back);
    if (lap < laps) {
        lap = lap + 1;
        dive(lap);
    }
    return total;
}

static NOINLINE int checked(int n) {
    if (n % 4 == 1)
        throw std::out_of_range("one");
    if (n % 4 == 2)
        throw n;
    return n + zero;
}
static NOINLINE int passes(int n) { return checked(n) + checked(n / 2); }
static NOINLINE int rethrows(int n) {
    try {
        return passes(n);
    } catch (int) {
        throw std::runtime_error("two");
    }
}
static NOINLINE int catches(int n) {
    try {
        return rethrows(n + zero);
    } catch (const std::exception &e) {
        return e.what()[0];
    }
}
static NOINLINE int loop_of_catches() {
    int total = 0;
    for (int n = 0; n < 40; n++) {
        try {
            total += passes(n);
        } catch (...) {
            total += plus(n, 1);
        }
    }
    return total;
}

int main() {
    std::printf("%d %d %d\n", fibonacci(15), even(40), odd(40));
    int total = 0;
    for (int i = 0; i < 100; i++) {
        total += select(i % 8, i) + leaf_table(i % 7);
        total += tail_to_one(i) + tail_to_either(i) + tail_through(tail_to_either, i);
        total += catches(i);
    }
    std::printf("%d %ld\n", total, sum(6, 1L, 2.5, 3L, 4.5, 5L, 6.5));
    Pair p = pair(1.25);
    std::printf("%a %a %La %ld\n", p.x, p.y, product(1.5L, p.y), large(7).at[4]);
    std::printf("%d\n", build(6)->value());
    std::printf("%d %d\n", surface(7), loop_of_catches());
    return 0;
}
