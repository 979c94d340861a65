/*
 * Forks in a thread, in a signal handler on a stack of its own, on a coroutine's stack, and far
 * below a longjmp. Each child returns from the calls that it was forked in, or leaves them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "expect.h"

enum { STACK_BYTES = 128 * 1024, THREAD = 100 };
enum { HANDLER_STACK = 1, OTHER_STACK = 2, THIRD_STACK = 3 };

static volatile int zero;
static int children;

static NOINLINE int leaf(int n) { return n + 1 + zero; }

/* Returns whether this is the child. */
static NOINLINE bool divide(void) {
    ENTER;
    fflush(stdout);
    int number = ++children, status = 0;
    pid_t child = fork();
    if (child == 0)
        expect_forget(number);
    else
        waitpid(child, &status, 0);
    (void)LEAF(leaf, number);
    if (child)
        printf("status %d\n", WEXITSTATUS(status));
    LEAVE;
    return child == 0;
}

/* ---- a thread ---- */

/* The child has only this thread: it ends with it. */
static void *in_thread(void *arg) {
    expect_thread(THREAD);
    ENTER;
    if (divide()) {
        UNWOUND;
        expect_print();
        _exit(10);
    }
    LEAVE;
    return arg;
}

static NOINLINE void have_thread(void) {
    ENTER;
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
        abort();
    LEAVE;
}

/* ---- a signal handler ---- */

static bool handler_child;

static void on_signal(int number) {
    (void)number;
    expect_stack(HANDLER_STACK);
    ENTER;
    handler_child = divide();
    LEAVE;
    expect_stack(0);
}

static NOINLINE bool have_signal(void) {
    ENTER;
    static char bytes[STACK_BYTES];
    stack_t own = {.ss_sp = bytes, .ss_size = sizeof bytes};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&own, NULL) || sigaction(SIGUSR1, &action, NULL))
        abort();
    raise(SIGUSR1);
    (void)LEAF(leaf, 1);
    LEAVE;
    return handler_child;
}

/* ---- coroutines ---- */

static ucontext_t first, other, third;
static bool coroutine_child;

static NOINLINE void change(ucontext_t *from, ucontext_t *to, int from_stack) {
    ENTER;
    swapcontext(from, to);
    expect_stack(from_stack);
    LEAVE;
}

/* It is suspended while the other one forks, and goes on in both processes. */
static void in_third(void) {
    ENTER;
    change(&third, &first, THIRD_STACK);
    (void)LEAF(leaf, 3);
    LEAVE;
    expect_stack(0);
}

static void in_other(void) {
    ENTER;
    change(&other, &first, OTHER_STACK);
    coroutine_child = divide();
    LEAVE;
    expect_stack(0);
}

static void make(ucontext_t *context, void (*function)(void)) {
    getcontext(context);
    context->uc_stack.ss_sp = malloc(STACK_BYTES);
    context->uc_stack.ss_size = STACK_BYTES;
    context->uc_link = &first;
    makecontext(context, function, 0);
}

static NOINLINE void resume(ucontext_t *context, int number) {
    ENTER;
    expect_stack(number);
    swapcontext(&first, context);
    expect_stack(0);
    LEAVE;
}

static NOINLINE bool have_coroutines(void) {
    ENTER;
    expect_all("> make", "< make", "> make", "< make", NULL);
    make(&third, in_third);
    make(&other, in_other);
    resume(&third, THIRD_STACK);
    resume(&other, OTHER_STACK);
    resume(&other, OTHER_STACK);
    resume(&third, THIRD_STACK);
    LEAVE;
    return coroutine_child;
}

/* ---- longjmp ---- */

static jmp_buf place;

static NOINLINE void leave(bool child) {
    ENTER;
    if (child)
        longjmp(place, 1);
    LEAVE;
}

static NOINLINE void deep(int n) {
    ENTER;
    if (n)
        deep(n - 1);
    else
        leave(divide());
    LEAVE;
}

static NOINLINE bool have_jump(void) {
    ENTER;
    bool child = false;
    if (setjmp(place)) {
        child = true;
        expect_all("! leave", "! deep", "! deep", "! deep", NULL);
    } else {
        deep(2);
    }
    (void)LEAF(leaf, 4);
    LEAVE;
    return child;
}

static NOINLINE int forks(void) {
    ENTER;
    have_thread();
    int status = have_signal() ? 11 : have_coroutines() ? 12 : have_jump() ? 13 : 0;
    LEAVE;
    return status;
}

int main(void) {
    ENTER;
    int status = forks();
    LEAVE;
    expect_print();
    return status;
}
