/*
 * A thread's stack, a signal stack and a table of functions lie above the first 47 bits of
 * addresses. Only processors with five levels of page tables have such memory.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "expect.h"

enum { SIZE = 1 << 20 };
static volatile int zero;

static NOINLINE int leaf(int n) { return n * 7 + zero; }

static NOINLINE int down(int n) {
    ENTER;
    int result = n ? down(n - 1) + 1 : LEAF(leaf, 6);
    LEAVE;
    return result;
}

static NOINLINE void on_signal(int signal) {
    expect_stack(1);
    ENTER;
    (void)LEAF(leaf, signal);
    LEAVE;
    expect_stack(0);
}

static inline __attribute__((always_inline)) void *high_memory(void) {
    static uintptr_t wanted = (uintptr_t)1 << 50;
    void *memory = mmap((void *)wanted, SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    if ((uintptr_t)memory >> 47 == 0)
        exit(77);
    wanted += 16 * (uintptr_t)SIZE;
    return memory;
}

static NOINLINE void *body(void *arg) {
    expect_thread(1);
    ENTER;
    int (**table)(int) = high_memory();
    table[1] = down;
    *(int *)arg = table[1](20);
    LEAVE;
    return NULL;
}

int main(void) {
    int result = 0;
    pthread_t thread;
    pthread_attr_t attributes;
    stack_t stack = {.ss_sp = high_memory(), .ss_size = SIZE};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    ENTER;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, high_memory(), SIZE);
    if (pthread_create(&thread, &attributes, body, &result) != 0)
        abort();
    pthread_join(thread, NULL);
    printf("%d\n", result);
    LEAVE;
    expect_print();
    return 0;
}
