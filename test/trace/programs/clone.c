/*
 * Makes threads and processes by raw clone: on a given stack with shared memory, and with neither.
 * The C library sets up nothing for them.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { STACK_BYTES = 65536 };

static volatile int shared;

static NOINLINE int leaf(int n) { return n * 2 + shared; }

static NOINLINE int body(void *argument) {
    int n = *(int *)argument;
    for (int i = 0; i < n; i++)
        shared = leaf(n) - shared;
    return shared;
}

static NOINLINE int run(int flags, int n) {
    ENTER;
    char *stack = malloc(STACK_BYTES);
    shared = 0;
    pid_t child = clone(body, stack + STACK_BYTES, flags | SIGCHLD, &n);
    int status = -1;
    waitpid(child, &status, 0);
    printf("%d %d\n", WEXITSTATUS(status), shared);
    free(stack);
    LEAVE;
    return status;
}

static NOINLINE void expect_body(int thread, int n) {
    expect_thread(thread);
    expect('>', "body");
    for (int i = 0; i < n; i++)
        expect_all("> leaf", "< leaf", NULL);
    expect('<', "body");
    expect_thread(0);
}

int main(void) {
    ENTER;
    setvbuf(stdout, NULL, _IOLBF, 0);
    run(CLONE_VM, 3);
    run(0, 4);
    run(CLONE_VM | CLONE_VFORK, 5);
    run(CLONE_VM | CLONE_FS | CLONE_FILES, 6);
    for (int thread = 1; thread < 5; thread++)
        expect_body(thread, thread + 2);
    LEAVE;
    expect_print();
    return 0;
}
