/*
 * Calls that stubs judge: recursive ones, some that longjmp(), signal handlers, coroutines and
 * fork() leave or interrupt, and integers of many kinds. D is never 0.5.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>

#define CALLED __attribute__((noipa))

enum size { SMALL = -1, MEDIUM, LARGE = 40 };
struct part {
    int8_t sign;
    uint16_t half;
    enum size size;
    bool odd;
    unsigned few : 3, more : 13;
    int64_t wide;
    struct part *next;
};

CALLED static int leaf(int n, double d) { return n + (d > 2); }

CALLED static int plain(int n, double d) { return leaf(n, d) + 1; }

CALLED static int again(int n, double d) { return n ? again(n - 1, d) + plain(n, d) : leaf(n, d); }

CALLED static int of_parts(const struct part *p, uint8_t byte, short half, double d) {
    (void)p;
    return leaf(byte + half, d);
}

/* ---- longjmp ---- */

static jmp_buf before;
CALLED static int leaver(int n, double d) {
    plain(n, d);
    if (n % 3 == 1)
        longjmp(before, 1);
    return n ? leaver(n - 1, d) + 1 : 0;
}

CALLED static int tail(int n, double d) { return plain(n + 100, d); }

/* What is called here begins below the place where leaver() was left. */
CALLED static int lower(int n, double d) {
    volatile char *room = __builtin_alloca(2048U + (unsigned)n % 7 * 64);
    room[0] = 0;
    return plain(n, d) + room[0];
}

/* ---- signals ---- */

static volatile sig_atomic_t caught;
CALLED static int handled(int n, double d) { return plain(n, d); }
static void handler(int signal) {
    (void)signal;
    caught++;
    handled(caught % 5, 1);
}
CALLED static int raiser(int n, double d) {
    raise(SIGUSR1);
    return plain(n, d);
}

/* ---- coroutines ---- */

enum { COROUTINES = 5, STACK = 1 << 16 };
static ucontext_t main_context, contexts[COROUTINES];
static char stacks[COROUTINES][STACK];
static int running;
CALLED static int waits(int n, double d) {
    swapcontext(&contexts[running], &main_context);
    return leaf(n, d);
}
static void coroutine(void) {
    for (int i = 0; i < 6; i++)
        waits(i, running);
}

static void run_coroutines(void) {
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK;
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], coroutine, 0);
    }
    for (int round = 0; round < 7; round++)
        for (running = 0; running < COROUTINES; running++)
            swapcontext(&main_context, &contexts[running]);
}

/* ---- processes and threads ---- */

CALLED static int forks(int n, double d) {
    fflush(stdout);
    const pid_t pid = fork();
    if (pid > 0)
        waitpid(pid, NULL, 0);
    else
        plain(n, d);
    return pid ? 1 : 0;
}

static void *thread(void *argument) {
    for (int i = 0; i < 30; i++)
        again(i % 6, (double)(intptr_t)argument);
    return argument;
}

static void run_threads(void) {
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, thread, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- library calls ---- */

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void run_sort(void) {
    enum { MOST = 40 };
    int items[MOST];
    for (int n = 2; n < MOST; n++) {
        for (int i = 0; i < n; i++)
            items[i] = n - i;
        qsort(items, (size_t)n, sizeof *items, compare);
    }
}

static void run_parts(void) {
    struct part a = {0}, b = {.next = &a};
    for (int i = 0; i < 64; i++) {
        a = (struct part){.sign = (int8_t)(i * 9),
                          .half = (uint16_t)(i * 5000),
                          .size = i % 3 ? i % 3 == 1 ? SMALL : LARGE : MEDIUM,
                          .odd = i % 2,
                          .few = (unsigned)i % 8,
                          .more = (unsigned)(i * 333) % 8192,
                          .wide = (int64_t)i * 0x123456789abcdef - (INT64_C(1) << 60),
                          .next = i % 4 ? &b : NULL};
        b.sign = (int8_t)-i;
        b.next = i % 5 ? &a : (struct part *)(uintptr_t)(i % 2 ? 64 : 0x700000000000);
        of_parts(i % 2 ? &a : &b, (uint8_t)(i * 7), (short)(i * 1500), i);
    }
}

int main(int argc, char **argv) {
    const int many = argc > 1 ? atoi(argv[1]) : 0;
    for (volatile int i = 0; i < many; i++)
        plain(i, 1);
    if (many)
        return 0;
    signal(SIGUSR1, handler);
    for (volatile int i = 0; i < 24; i++) {
        if (!setjmp(before))
            leaver(i % 8, i);
        lower(i, i);
        again(i % 7, i);
        tail(i, i);
        raiser(i, i);
    }
    run_coroutines();
    run_parts();
    run_sort();
    run_threads();
    return forks(3, 1) + forks(5, 1) ? 0 : 0;
}
