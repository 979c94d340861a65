/*
 * Handlers that do not return. siglongjmp leaves faults in the program and in the C library, an
 * alternate stack, and nested handlers. longjmp leaves frames of the library (qsort), also in
 * threads. Also built with _FORTIFY_SOURCE, whose longjmp checks the stack.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { THREADS = 3, STACK_BYTES = 65536 };

static __thread sigjmp_buf back, back_inner;
static volatile int zero;
static const int *first; /* the thread's number */
static char *const nowhere = (char *)16;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static NOINLINE int leaf(int n) { return n * 7 + zero; }

/* A handler on an alternate stack stays open (doc/LIMITS.md) until that stack is used again. */
static __thread int left_open;

static inline __attribute__((always_inline)) void close_left(void) {
    expect_stack(1);
    if (left_open)
        expect('!', "on_fault");
    left_open = 0;
    expect_stack(0);
}

static NOINLINE void on_fault(int signal) {
    close_left();
    expect_stack(1);
    ENTER;
    left_open = 1;
    expect_stack(0);
    siglongjmp(back, signal);
}

static NOINLINE void on_nested(int signal) {
    ENTER;
    UNWOUND;
    expect_all("! on_first", "! interrupted", NULL);
    siglongjmp(back, signal);
}

static NOINLINE void on_first(int signal) {
    ENTER;
    if (sigsetjmp(back_inner, 1) == 0)
        siglongjmp(back_inner, 1);
    raise(signal == SIGUSR1 ? SIGUSR2 : SIGTERM);
    LEAVE;
}

/* Consists of the fault only; its caller sets the marks. */
static NOINLINE int faults(const char *place) { return *place; }

static NOINLINE int faults_in_library(char *place, size_t size) {
    char room[64];
    ENTER;
    copy(room, place, size);
    LEAVE;
    return room[zero];
}

static NOINLINE int interrupted(int n) {
    ENTER;
    raise(SIGUSR1);
    LEAVE;
    return n;
}

static NOINLINE int leave_faults(void) {
    static char right[64] = {5, 6};
    volatile int sum = 0, i = 0;
    ENTER;
    if (sigsetjmp(back, 1) != 0) {
        expect('!', "faults_in_library");
        sum = sum * 3 + LEAF(leaf, i);
    }
    for (i++; i < 6; i++)
        sum += faults_in_library(i % 2 ? nowhere : right, 32);
    LEAVE;
    return sum;
}

static NOINLINE int leave_once(void) {
    volatile int sum = 0;
    ENTER;
    if (sigsetjmp(back, 1) == 0) {
        expect('>', "faults");
        sum += faults("x");
        expect_all("< faults", "> faults", NULL);
        sum += faults(nowhere);
    } else {
        expect('!', "faults");
        sum = sum * 3 + LEAF(leaf, 2);
    }
    LEAVE;
    return sum;
}

static NOINLINE int leave_nested(void) {
    volatile int count = 0;
    ENTER;
    if (sigsetjmp(back, 1) != 0)
        count++;
    if (count < 4)
        interrupted(count);
    LEAVE;
    return count;
}

static NOINLINE int compare(const void *a, const void *b) {
    ENTER;
    UNWOUND;
    (void)a;
    (void)b;
    siglongjmp(back, 1);
}

static NOINLINE int leave_library(void) {
    volatile int count = 0;
    int numbers[4] = {4, 3, 2, 1};
    ENTER;
    if (sigsetjmp(back, 1) != 0)
        count++;
    if (count < 4)
        qsort(numbers, 4, sizeof *numbers, compare);
    LEAVE;
    return count;
}

static NOINLINE void *body(void *argument) {
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    int *number = argument;
    expect_thread(*number);
    ENTER;
    sigaltstack(&stack, NULL);
    int sum = leave_faults();
    sum = sum * 3 + leave_nested();
    sum = sum * 3 + leave_library();
    *number = sum;
    LEAVE;
    if (number != first)
        close_left();
    return NULL;
}

int main(void) {
    static const struct {
        int signal, flags;
        void (*handler)(int);
    } handlers[] = {
        {SIGSEGV, SA_ONSTACK, on_fault}, {SIGUSR1, 0, on_first}, {SIGUSR2, 0, on_nested}};
    static int numbers[THREADS + 1] = {0, 1, 2, 3};
    first = numbers;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        sigaction(
            handlers[i].signal,
            &(struct sigaction){.sa_handler = handlers[i].handler, .sa_flags = handlers[i].flags},
            NULL);
    ENTER;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, body, &numbers[i + 1]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    body(&numbers[0]);
    printf("%d\n", leave_once());
    for (int i = 0; i <= THREADS; i++)
        printf("%d\n", numbers[i]);
    LEAVE;
    close_left();
    expect_print();
    return 0;
}
