/*
 * Threads by raw clone that share one thread pointer and run at the same time: on stacks side by
 * side, on a stack in the frame of their maker, deep and flat. Later threads use stacks of earlier
 * ones.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { STACK_BYTES = 1 << 19, SIBLINGS = 5, ROUNDS = 2, FRAME_BYTES = 2048 };

static volatile int zero, finished;
static int gate[2]; /* all threads begin when it is readable */

static NOINLINE int leaf(int n) { return n + 1 + zero; }

static NOINLINE int deep(int n) {
    volatile char frame[FRAME_BYTES];
    frame[0] = (char)n;
    int sum = n ? deep(n - 1) : leaf(n);
    return sum + frame[0];
}

struct work {
    int number, depth, turns;
};

static NOINLINE int turn(int depth) { return deep(depth) + leaf(depth); }

static NOINLINE int body(void *argument) {
    const struct work *w = argument;
    int sum = 0;
    char word;
    while (read(gate[0], &word, 1) != 1)
        ;
    for (int i = 0; i < w->turns; i++)
        sum += turn(w->depth * (i + 1) / w->turns);
    __atomic_fetch_add(&finished, sum != 0, __ATOMIC_ACQ_REL);
    return 0;
}

static NOINLINE void expect_body(int round, const struct work *w) {
    expect_thread(round * SIBLINGS + w->number);
    expect('>', "body");
    for (int i = 0; i < w->turns; i++) {
        int depth = w->depth * (i + 1) / w->turns;
        expect('>', "turn");
        for (int k = 0; k <= depth; k++)
            expect('>', "deep");
        expect_all("> leaf", "< leaf", NULL);
        for (int k = 0; k <= depth; k++)
            expect('<', "deep");
        expect_all("> leaf", "< leaf", "< turn", NULL);
    }
    expect('<', "body");
    expect_thread(0);
}

/* The maker runs beside them, and calls functions, too. */
static NOINLINE void run(int round) {
    char own[STACK_BYTES / 4], *stacks[SIBLINGS];
    struct work works[SIBLINGS];
    pid_t children[SIBLINGS];
    ENTER;
    for (int i = 0; i < SIBLINGS; i++) {
        works[i] = (struct work){i + 1, i * 20 + round, 3 + i};
        stacks[i] = i ? malloc(STACK_BYTES) : own;
        char *top = stacks[i] + (i ? STACK_BYTES : sizeof own);
        children[i] = clone(body, top, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, &works[i]);
        if (children[i] < 0)
            printf("no sibling\n");
        (void)LEAF(leaf, i);
    }
    if (write(gate[1], "begin", SIBLINGS) != SIBLINGS)
        printf("nobody begins\n");
    for (int i = 0; i < 50; i++)
        (void)LEAF(leaf, i);
    for (int i = 0; i < SIBLINGS; i++) {
        while (waitpid(children[i], NULL, 0) != children[i])
            ;
        (void)LEAF(leaf, i);
    }
    for (int i = 1; i < SIBLINGS; i++)
        free(stacks[i]);
    for (int i = 0; i < SIBLINGS; i++)
        expect_body(round, &works[i]);
    LEAVE;
}

int main(void) {
    ENTER;
    if (pipe(gate) < 0)
        return 1;
    for (int round = 0; round < ROUNDS; round++)
        run(round);
    printf("%d\n", finished);
    LEAVE;
    expect_print();
    return 0;
}
