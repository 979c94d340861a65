/*
 * The calls whose arguments the benchmark captures (groups/values.py), timed by the program itself.
 * Prints nanoseconds per call as JSON.
 *
 *     values [CALLS]         each kind of call so often
 *     values wild [CALLS]    calls with a pointer that leads nowhere, 10 000 a second; prints when
 * each has ended, in seconds since the first one began
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct inner {
    long id, price;
};
struct outer {
    const char *name;
    struct inner *inner;
};

#define TRACED __attribute__((noinline, noclone))
#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")

TRACED void nothing(long n) { KEEP(n); }
TRACED void numbers(int a, long b, unsigned long c) {
    KEEP(a);
    KEEP(b);
    KEEP(c);
}
TRACED void text(const char *s) { KEEP(s); }
TRACED void member(const struct outer *o) { KEEP(o); }
TRACED void nowhere(const char *s) {
    __asm__ volatile(".skip 16, 0x90"); /* room for jumps: a breakpoint's hit would cost more */
    KEEP(s);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int wild(long calls) {
    enum { PACE_NS = 100000, SECOND_NS = 1000000000 };
    double *ended = calloc((size_t)calls, sizeof *ended);
    struct timespec next;
    if (!ended)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &next);
    double start = now();
    for (long i = 0; i < calls; i++) {
        nowhere((const char *)0x10000000000);
        ended[i] = (now() - start) / SECOND_NS;
        next.tv_nsec += PACE_NS;
        next.tv_sec += next.tv_nsec / SECOND_NS;
        next.tv_nsec %= SECOND_NS;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    for (long i = 0; i < calls; i++)
        printf("%s%.6f", i ? ", " : "{\"ended\": [", ended[i]);
    printf("]}\n");
    free(ended);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "wild") == 0)
        return wild(argc > 2 ? atol(argv[2]) : 10000);
    const long calls = argc > 1 ? atol(argv[1]) : 1000000;
    static struct inner inner = {1, 2};
    static struct outer outer = {"this text has thirty-two letters", &inner};
    double at[5] = {now()};
    for (long i = 0; i < calls; i++)
        nothing(i);
    at[1] = now();
    for (long i = 0; i < calls; i++)
        numbers((int)i, i << 32, UINT64_MAX / 3 - (unsigned long)i);
    at[2] = now();
    for (long i = 0; i < calls; i++)
        text(outer.name);
    at[3] = now();
    for (long i = 0; i < calls; i++)
        member(&outer);
    at[4] = now();
    static const char *const names[] = {"nothing", "numbers", "text", "member"};
    for (int i = 0; i < 4; i++)
        printf("%s\"%s\": %.3f", i ? ", " : "{", names[i], (at[i + 1] - at[i]) / (double)calls);
    printf("}\n");
    return 0;
}
