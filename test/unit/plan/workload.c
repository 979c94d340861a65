/* Code of many shapes for test_run: everything hangs off workload(), which returns a checksum. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline, noipa))

int workload(int rounds);

NOINLINE int fib(int n);
NOINLINE int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

NOINLINE static int sum_to(int n, int sum) { return n ? sum_to(n - 1, sum + n) : sum; }

NOINLINE static int tail_target(int n) { return n * 3 + 1; }
NOINLINE static int tail_caller(int n) { return tail_target(n + 1); }
NOINLINE static int maybe_tail(int n) {
    if (n & 1)
        return tail_target(n);
    return n;
}

NOINLINE static int choose(int n) {
    switch (n) {
    case 0:
        return fib(3);
    case 1:
        return tail_target(2);
    case 2:
        return 17;
    case 3:
        return fib(n) + 9;
    case 4:
        return tail_caller(4);
    case 5:
        return -3;
    case 6:
        return maybe_tail(7);
    default:
        return 1;
    }
}

NOINLINE static double mix(double x, float y, long z) { return x * y + (double)z; }

struct big {
    uint64_t words[12];
};
NOINLINE static struct big make_big(uint64_t seed) {
    struct big b;
    for (int i = 0; i < 12; i++)
        b.words[i] = seed * (uint64_t)(i + 1);
    return b;
}

NOINLINE static int add_all(int count, ...) {
    va_list ap;
    va_start(ap, count);
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += va_arg(ap, int);
    va_end(ap);
    return sum;
}

typedef int (*callback)(int);
static const callback callbacks[] = {fib, tail_target, tail_caller, maybe_tail};
NOINLINE static int through_table(int which, int n) { return callbacks[which & 3](n); }
NOINLINE static int many(int a, int b, int c, int d, int e, int f, int g, int h) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
NOINLINE static void nothing(void) {}
NOINLINE static uint64_t hash(const char *text) {
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 1099511628211u;
    return h;
}
NOINLINE static int even(int n);
NOINLINE static int odd(int n) { return n ? even(n - 1) : 0; }
NOINLINE static int even(int n) { return n ? odd(n - 1) : 1; }

int workload(int rounds) {
    uint64_t sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum += (uint64_t)fib(i % 8) + (uint64_t)sum_to(i, 0) + (uint64_t)choose(i % 9);
        sum += (uint64_t)tail_caller(i) + (uint64_t)maybe_tail(i) + (uint64_t)mix(i, 2.5f, 3);
        sum ^= make_big((uint64_t)i).words[i % 12] + (uint64_t)add_all(3, i, 2, 1);
        sum += (uint64_t)through_table(i, i % 6) + (uint64_t)many(i, 2, 3, 4, 5, 6, 7, i);
        sum = sum * 31 + hash("a track in the sand") + (uint64_t)even(i % 11);
        nothing();
    }
    return (int)(sum ^ sum >> 32);
}
