/*
 * The stack overflows, in threads and several times in each. The handler, on an alternate stack,
 * leaves by siglongjmp, as language runtimes do.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { THREADS = 4, TIMES = 5, STACK_BYTES = 40 * 1024 };

static __thread sigjmp_buf back;
static volatile int zero;

static void on_overflow(int signal) { siglongjmp(back, signal); }

static NOINLINE int descend(int n) {
    char room[100];
    memset(room, n, sizeof room);
    return zero ? 0 : descend(n + 1) + room[zero];
}

static NOINLINE int overflow(void) {
    int signal = sigsetjmp(back, 1);
    return signal ? signal : descend(1);
}

static void *body(void *result) {
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    sigaltstack(&stack, NULL);
    for (int i = 0; i < TIMES; i++)
        *(int *)result += overflow() + zero;
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
    pthread_t threads[THREADS];
    int results[THREADS] = {0};
    pthread_attr_t small;
    sigaction(SIGSEGV, &action, NULL);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], &small, body, &results[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        printf("%d\n", results[i]);
    printf("calls: on_overflow %d\ncalls: overflow %d\n", THREADS * TIMES, THREADS * TIMES);
    return 0;
}
