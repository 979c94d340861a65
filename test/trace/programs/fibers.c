/*
 * Two threads run three fibers in turn. Calls begin in one thread and end in the other, and are
 * open in neither while a fiber is suspended.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "expect.h"

enum { FIBERS = 3, WORKERS = 2, ROUNDS = 4, STACK_BYTES = 65536 };

static unsigned char stacks[FIBERS][STACK_BYTES] __attribute__((aligned(16)));
static ucontext_t contexts[FIBERS], home; /* home: the context of the worker whose turn it is */
static sem_t turns[WORKERS];
static int running;
static long total;

static NOINLINE void yield(void) {
    ENTER;
    int self = running;
    expect_stack(0);
    swapcontext(&contexts[self], &home);
    expect_stack(EXPECT_SHARED + self);
    LEAVE;
}

/* Suspends once, N + 1 calls deep. */
static NOINLINE long step(int n) {
    ENTER;
    long sum = n;
    if (n > 0)
        sum += step(n - 1);
    else
        yield();
    LEAVE;
    return sum;
}

static NOINLINE void body(int self) {
    expect_stack(EXPECT_SHARED + self);
    ENTER;
    for (int i = 1; i < ROUNDS; i++)
        total += step(self + i);
    LEAVE;
    expect_stack(0);
}

static NOINLINE void resume(int n) {
    ENTER;
    running = n;
    swapcontext(&home, &contexts[n]);
    LEAVE;
}

static NOINLINE void *worker(void *number) {
    int self = *(int *)number;
    expect_thread(self + 1);
    ENTER;
    for (int i = self; i < FIBERS * ROUNDS; i += WORKERS) {
        while (sem_wait(&turns[self]))
            continue;
        resume(i % FIBERS);
        sem_post(&turns[(self + 1) % WORKERS]);
    }
    LEAVE;
    return NULL;
}

int main(void) {
    pthread_t threads[WORKERS];
    int numbers[WORKERS];
    ENTER;
    for (int i = 0; i < FIBERS; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        contexts[i].uc_link = &home;
        makecontext(&contexts[i], (void (*)(void))body, 1, i);
    }
    for (int i = 0; i < WORKERS; i++)
        sem_init(&turns[i], 0, i == 0);
    for (int i = 0; i < WORKERS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, worker, &numbers[i]);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", total);
    LEAVE;
    expect_print();
    return 0;
}
