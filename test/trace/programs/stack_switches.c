/*
 * Hand-written assembly switches stacks. Coroutines resume each other by a return and by a jump,
 * which spoor does not count as an exit. Calls run on another stack and from there on a third. All
 * of this happens in a handler, too. Also calls that are left by hand, as by longjmp.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "expect.h"

enum { COROUTINES = 6, ROUNDS = 4, STACKS = COROUTINES + 2, STACK_BYTES = 65536, DEPTH = 3 };

void switch_by_return(long **here, long *there);
void switch_by_jump(long **here, long *there);
void start_stack(void);
long call_on(long *stack, long (*function)(long), long n);
long survives(long (*function)(long), long (*then)(long), long n);
void escape(long n) __attribute__((noreturn));

static long *kept[COROUTINES + 1]; /* [0] is the first stack's */
static int running, ended[COROUTINES + 1];
static long total;
static volatile int zero;

#ifdef INSIDE /* in a variable of main: inner_switches.c */
#define make_stacks() ((long *)alloca((size_t)STACKS * STACK_BYTES))
#else
/* far enough from the first stack to count as another */
static inline __attribute__((always_inline)) long *make_stacks(void) {
    uintptr_t place = (uintptr_t)__builtin_frame_address(0) - ((uintptr_t)64 << 32) + (256 << 20);
    void *stacks =
        mmap((void *)(place & ~(uintptr_t)4095), (size_t)STACKS * STACK_BYTES,
             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (stacks == MAP_FAILED)
        exit(77);
    return stacks;
}
#endif

/* NUMBER counts from 1. */
static inline __attribute__((always_inline)) long *top_of(long *stacks, int number) {
    return stacks + (size_t)number * STACK_BYTES / sizeof *stacks - 4;
}

static inline __attribute__((always_inline)) void change(int to) {
    int from = running;
    running = to;
    bool by_return = to % 2 || from % 2;
    expect_all(by_return ? "> switch_by_return" : "> switch_by_jump", NULL);
    expect_stack(to);
    if (by_return)
        switch_by_return(&kept[from], kept[to]);
    else
        switch_by_jump(&kept[from], kept[to]);
    expect_all(by_return ? "< switch_by_return" : "! switch_by_jump", NULL);
}

static NOINLINE long leaf(long n) { return n * 3 + zero; }

static NOINLINE long step(int depth) {
    ENTER;
    long sum = LEAF(leaf, depth) + (depth > 0 ? step(depth - 1) : 0);
    change(0);
    LEAVE;
    return sum;
}

static NOINLINE void body(int self) {
    ENTER;
    for (int i = 0; i < ROUNDS; i++)
        total = total * 3 + step(self % 3);
    ended[self] = 1;
    change(0);
    abort();
}

static NOINLINE void resume(int number) {
    ENTER;
    change(number);
    LEAVE;
}

static NOINLINE long on_third(long n) {
    ENTER;
    long result = LEAF(leaf, n) + 1;
    LEAVE;
    return result;
}

static inline __attribute__((always_inline)) long call_there(int from, int to, long *top,
                                                             long (*function)(long), long n) {
    expect('>', "call_on");
    expect_stack(to);
    long result = call_on(top, function, n);
    expect_stack(from);
    expect('<', "call_on");
    return result;
}

static long *tops[2];

static NOINLINE long on_second(long n) {
    ENTER;
    long result = LEAF(leaf, n);
    for (int i = 0; i < 3; i++)
        result += call_there(COROUTINES + 1, COROUTINES + 2, tops[1], on_third, n + i);
    result += LEAF(leaf, result);
    LEAVE;
    return result;
}

static NOINLINE void on_signal(int signal) {
    ENTER;
    total += call_there(0, COROUTINES + 1, tops[0], on_second, signal);
    LEAVE;
}

static NOINLINE long dives(long n) {
    ENTER;
    if (n == 0) {
        expect_all("> escape", "! escape", NULL);
        for (int i = 0; i <= DEPTH; i++)
            UNWOUND;
        escape(7);
    }
    long result = dives(n - 1) + LEAF(leaf, n);
    LEAVE;
    return result;
}

/* The next call's frame lies deeper than the frames that were left, but they are not its callers.
 */
static NOINLINE long escapes(void) {
    ENTER;
    expect_all("> survives", NULL);
    long result = survives(dives, on_third, DEPTH);
    expect_all("< survives", NULL);
    LEAVE;
    return result;
}

static inline __attribute__((always_inline)) void prepare(int number, long *top) {
    long frame[7] = {0, 0, 0, number, (long)body, 0, (long)start_stack};
    kept[number] = top - 8; /* aligned for start_stack */
    for (int i = 0; i < 7; i++)
        kept[number][i] = frame[i];
}

int main(void) {
    long *stacks = make_stacks();
    ENTER;
    for (int i = 1; i <= COROUTINES; i++)
        prepare(i, top_of(stacks, i));
    tops[0] = top_of(stacks, COROUTINES + 1);
    tops[1] = top_of(stacks, COROUTINES + 2);
    for (int round = 0; round < ROUNDS * 3 + 1; round++)
        for (int i = 1; i <= COROUTINES; i++)
            if (!ended[i])
                resume(i);
    total += call_there(0, COROUTINES + 1, tops[0], on_second, 5);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    for (int i = 0; i < 3; i++)
        total = total * 3 + escapes();
    printf("%ld\n", total);
    LEAVE;
    for (int i = 1; i <= COROUTINES; i++) { /* they never return */
        expect_stack(i);
        expect_all(i % 2 ? "! switch_by_return" : "! switch_by_jump", "! body", NULL);
    }
    expect_print();
    return 0;
}
