/*
 * SIGALRM arrives every 300 microseconds while functions of every kind call each other in two
 * threads. The handler calls traced functions itself. In the last part it sometimes leaves by
 * siglongjmp.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "expect.h"

enum { LAPS = 150, SIGNALS = 60, ESCAPES = 10 };

static volatile int zero;
static volatile sig_atomic_t signals, escapes, may_escape;
static sigjmp_buf away;

static NOINLINE unsigned leaf(unsigned n) { return n * 2654435761u + (unsigned)zero; }
static NOINLINE double real(double x, double y) { return x * 0.75 + y + zero; }
static NOINLINE unsigned forward(unsigned n) { return leaf(n + 1); }
static NOINLINE int handled(int n) { return n + 1 + zero; }

static void on_alarm(int signal) {
    (void)signal;
    signals = handled(signals);
    if (may_escape) {
        may_escape = 0;
        escapes++;
        siglongjmp(away, 1);
    }
}

static NOINLINE unsigned tree(unsigned n, unsigned depth) {
    if (depth == 0)
        return leaf(n);
    unsigned left = tree(n * 2, depth - 1);
    return left ^ forward(tree(n * 2 + 1, depth - 1));
}

static NOINLINE double series(int n) {
    double sum = 0;
    for (int i = 1; i <= n; i++)
        sum += real(1.0 / i, sum);
    return sum;
}

static int compare(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static NOINLINE unsigned sort(unsigned seed) {
    unsigned values[64];
    for (int i = 0; i < 64; i++)
        values[i] = seed = leaf(seed);
    qsort(values, 64, sizeof *values, compare);
    return values[0] ^ values[63];
}

static unsigned work(unsigned seed) {
    unsigned sum = 0;
    for (unsigned i = 0; i < LAPS; i++)
        sum = sum * 31 + tree(seed + i, 6) + sort(i) + (unsigned)series(20);
    return sum;
}

static void *body(void *result) {
    *(unsigned *)result = work(5);
    return NULL;
}

/* Work that the handler leaves by siglongjmp, in the only thread that exists then. */
static void be_left(void) {
    volatile unsigned sum = 0;
    for (volatile unsigned i = 0; escapes < ESCAPES || signals < SIGNALS; i++) {
        if (sigsetjmp(away, 1) == 0) {
            may_escape = 1;
            sum ^= tree(i, 8);
        }
        may_escape = 0;
    }
}

int main(void) {
    struct itimerval timer = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    unsigned here, there;
    pthread_t thread;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    pthread_create(&thread, NULL, body, &there);
    here = work(6);
    pthread_join(thread, NULL);
    be_left();
    setitimer(ITIMER_REAL, &off, NULL);
    printf("%u %u\n", here, there);
    return 0;
}
