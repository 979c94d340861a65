/*
 * The work that the benchmark traces: calls of functions that do next to nothing, timed by the
 * program itself. Prints nanoseconds per call as JSON.
 *
 * Built plain; with -DFLOOR, where every function takes two time stamps and stores 32 bytes by
 * itself (what no tracer can beat that records two time stamps per call); and with -pg, for the
 * peer that needs it. Once more as a library (-DLIBRARY), which a program calls that
 * is built of this file, too (-DOUTER): that imports the functions, and the library calls them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef LIBRARY
#define TRACED __attribute__((noinline, visibility("protected")))
#define main calls_main
long leaf(long x), fib(long n);
int main(int argc, char **argv);
#else
#define TRACED __attribute__((noinline)) static
#endif

#ifdef OUTER
long leaf(long x), fib(long n);
int calls_main(int argc, char **argv);
long (*volatile imported[])(long) = {leaf, fib};
int main(int argc, char **argv) { return calls_main(argc, argv); }
#else

#ifdef FLOOR
static uint64_t ring[1 << 17];
static uint64_t *ring_at = ring;
static inline __attribute__((always_inline)) void stamp(uint64_t site) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    uint64_t *at = ring_at;
    at[0] = (uint64_t)high << 32 | low;
    at[1] = site;
    ring_at = at + 2 == ring + (1 << 17) ? ring : at + 2;
}
#define ENTER(site) stamp((site) << 1)
#define LEAVE(site) stamp((site) << 1 | 1)
#else
#define ENTER(site) (void)0
#define LEAVE(site) (void)0
#endif

TRACED long leaf(long x) {
    ENTER(1);
    __asm__ volatile("" : "+r"(x));
    long result = x * 3 + 1;
    LEAVE(1);
    return result;
}

TRACED long fib(long n) {
    ENTER(2);
    __asm__ volatile("" : "+r"(n));
    long result = n;
    if (n >= 2) {
        result = fib(n - 1);
        __asm__ volatile("" : "+r"(result)); /* keeps both calls calls */
        result += fib(n - 2);
        __asm__ volatile("" : "+r"(result));
    }
    LEAVE(2);
    return result;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 2000000, sum = 0;
    long depth = argc > 2 ? atol(argv[2]) : 27, fib_calls = 1;
    for (long a = 1, b = 1, i = 1; i < depth; i++) { /* fib(n) makes 2 F(n+1) - 1 calls */
        long next = a + b;
        a = b;
        b = next;
        fib_calls = 2 * b - 1;
    }
    double start = now();
    for (long i = 0; i < calls; i++)
        sum += leaf(i);
    double middle = now();
    sum += fib(depth);
    double end = now();
    printf("{\"leaf_ns\": %.3f, \"fib_ns\": %.3f, \"calls\": %ld, \"sum\": %ld}\n",
           (middle - start) / (double)calls, (end - middle) / (double)fib_calls, calls + fib_calls,
           sum);
    return 0;
}
#endif
