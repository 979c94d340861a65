/*
 * Threads and processes that the C library does not know, made by raw system calls: clone with and
 * without shared memory, with and without a stack, clone3, fork, vfork. Some threads share all but
 * their stack, even the thread pointer.
 */
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { STACK_BYTES = 65536 };
enum { THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };

typedef int function(int n);
typedef long starter(long flags, void *stack, int *tid, function *function, int n);
starter raw_clone, raw_fork, raw_vfork;
struct clone_args { /* linux/sched.h, which not every C library has */
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};
long raw_clone3(struct clone_args *args, size_t size, int *tid, function *function, int n);

static volatile int zero, shared;
static int tasks;

static NOINLINE int leaf(int n) { return n * 2 + zero; }

static NOINLINE int body(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += leaf(n);
    shared = sum;
    return sum;
}

/* The calls of the next task, as the trace shows them. CALLER calls START, which makes the task; if
 * the task has a stack of its own, both are NULL. */
static inline __attribute__((always_inline)) int next_task(const char *caller, const char *start) {
    int n = ++tasks;
    if (caller) {
        expect_forked(tasks);
        expect('+', start);
        expect('<', start);
    }
    expect_thread(tasks);
    expect_all("> child", "> body", NULL);
    for (int i = 0; i < n; i++)
        expect_all("> leaf", "< leaf", NULL);
    expect_all("< body", "! child", NULL);
    if (caller) {
        if (strcmp(caller, "main") != 0)
            expect('!', caller);
        expect('!', "main");
    }
    expect_thread(0);
    shared = 0;
    return n;
}

static NOINLINE void wait_for(const char *how, long child, volatile int *tid) {
    int status = 0;
    ENTER;
    if (tid)
        while (*tid)
            sched_yield();
    else if (waitpid((pid_t)child, &status, __WALL) != child)
        printf("cannot wait\n");
    printf("%s: %d %d\n", how, WEXITSTATUS(status), shared);
    LEAVE;
}

#define START(start, ...)                                                                          \
    __extension__({                                                                                \
        expect('>', #start);                                                                       \
        long child = start(__VA_ARGS__);                                                           \
        expect('<', #start);                                                                       \
        child;                                                                                     \
    })

static NOINLINE void by_clone(const char *how, long flags, int with_stack) {
    char *stack = malloc(STACK_BYTES);
    volatile int tid = 1;
    ENTER;
    int n = with_stack ? next_task(NULL, NULL) : next_task(__func__, "raw_clone");
    long child =
        START(raw_clone, flags, with_stack ? stack + STACK_BYTES : NULL, (int *)&tid, body, n);
    wait_for(how, child, flags & CLONE_THREAD ? &tid : NULL);
    free(stack);
    LEAVE;
}

static NOINLINE void by_clone3(const char *how, unsigned long flags) {
    char *stack = malloc(STACK_BYTES);
    volatile int tid = 1;
    ENTER;
    struct clone_args args = {.flags = flags,
                              .stack = flags & CLONE_VM ? (uintptr_t)stack : 0,
                              .stack_size = flags & CLONE_VM ? STACK_BYTES : 0,
                              .child_tid = (uintptr_t)&tid,
                              .exit_signal = flags & CLONE_THREAD ? 0 : SIGCHLD};
    int n = flags & CLONE_VM ? next_task(NULL, NULL) : next_task(__func__, "raw_clone3");
    long child = START(raw_clone3, &args, sizeof args, NULL, body, n);
    wait_for(how, child, flags & CLONE_THREAD ? &tid : NULL);
    free(stack);
    LEAVE;
}

int main(void) {
    ENTER;
    setvbuf(stdout, NULL, _IOLBF, 0);
    by_clone("process", SIGCHLD, 0);
    by_clone("process with a stack", SIGCHLD, 1);
    by_clone("process that shares memory", CLONE_VM | SIGCHLD, 1);
    by_clone("vfork with a stack", CLONE_VM | CLONE_VFORK | SIGCHLD, 1);
    by_clone("vfork", CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
    by_clone("silent process", 0, 0);
    by_clone("thread", THREAD | CLONE_CHILD_CLEARTID, 1);
    by_clone("thread that has its own files", (THREAD & ~CLONE_FILES) | CLONE_CHILD_CLEARTID, 1);
    by_clone3("clone3 process", 0);
    by_clone3("clone3 thread", THREAD | CLONE_CHILD_CLEARTID);
    by_clone3("clone3 process that shares memory", CLONE_VM);
    int n = next_task(__func__, "raw_fork");
    wait_for("fork", START(raw_fork, 0, NULL, NULL, body, n), NULL);
    n = next_task(__func__, "raw_vfork");
    wait_for("vfork by itself", START(raw_vfork, 0, NULL, NULL, body, n), NULL);
    LEAVE;
    expect_print();
    return 0;
}
