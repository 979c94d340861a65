/*
 * Fifty coroutines on stacks of their own, switched by swapcontext() inside nested calls. Calls are
 * open on many stacks at a time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "expect.h"

enum { COUNT = 50, ROUNDS = 3, STACK_BYTES = 65536 };

static ucontext_t contexts[COUNT], scheduler;
static int running;
static long total;

/* The distance of the stacks from the first one's frame; similar_stacks.c defines another one. */
#ifndef PLACE
#define PLACE(frame) ((frame) - ((uintptr_t)64 << 32) + ((uintptr_t)256 << 20))
#endif

#ifdef INSIDE /* in a variable of main: inner_stacks.c */
#define STACKS                                                                                     \
    ({                                                                                             \
        expect_all("> make_stacks", "< make_stacks", NULL);                                        \
        make_stacks();                                                                             \
        (unsigned char *)alloca((size_t)COUNT *STACK_BYTES);                                       \
    })
static NOINLINE void make_stacks(void) { __asm__ volatile(""); }
#else
#define STACKS                                                                                     \
    ({                                                                                             \
        expect_all("> make_stacks", "< make_stacks", NULL);                                        \
        make_stacks();                                                                             \
    })
static NOINLINE unsigned char *make_stacks(void) {
    uintptr_t place = PLACE((uintptr_t)__builtin_frame_address(0)) & ~(uintptr_t)4095;
    size_t bytes = (size_t)COUNT * STACK_BYTES;
    unsigned char *stacks = mmap((void *)place, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (stacks == MAP_FAILED)
        exit(77);
    return stacks;
}
#endif

static NOINLINE void yield(void) {
    ENTER;
    int self = running;
    expect_stack(0);
    swapcontext(&contexts[self], &scheduler);
    expect_stack(self + 1);
    LEAVE;
}

static NOINLINE long step(int n) {
    ENTER;
    long sum = n;
    if (n > 0)
        sum += step(n - 1);
    yield();
    LEAVE;
    return sum;
}

static NOINLINE void body(int self) {
    expect_stack(self + 1);
    ENTER;
    for (int i = 0; i < ROUNDS; i++)
        total += step(self % 3) * (self + 1);
    LEAVE;
    expect_stack(0);
}

static NOINLINE void resume(int n) {
    ENTER;
    running = n;
    swapcontext(&scheduler, &contexts[n]);
    LEAVE;
}

int main(void) {
    ENTER;
    unsigned char *stacks = STACKS;
    for (int i = 0; i < COUNT; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks + (size_t)i * STACK_BYTES;
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        contexts[i].uc_link = &scheduler;
        makecontext(&contexts[i], (void (*)(void))body, 1, i);
    }
    for (int round = 0; round < ROUNDS * 3 + 1; round++)
        for (int i = 0; i < COUNT; i++)
            if (round <= ROUNDS * (i % 3 + 1))
                resume(i);
    printf("%ld\n", total);
    LEAVE;
    expect_print();
    return 0;
}
