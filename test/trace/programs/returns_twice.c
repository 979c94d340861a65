/*
 * Traced functions whose calls return twice: each call is counted once, and its first return ends
 * it. Linked statically, so that they are functions of the program.
 */
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "expect.h"

static volatile int zero;
static jmp_buf back;
static ucontext_t context;

static NOINLINE int leaf(int n) { return n + 1 + zero; }

static NOINLINE void jump(int n) {
    ENTER;
    UNWOUND;
    longjmp(back, n);
}

static void expect_call(const char *name) {
    expect('>', name);
    expect('<', name);
}

static NOINLINE int by_setjmp(int n) {
    ENTER;
    expect_call("_setjmp");
    int got = _setjmp(back);
    if (got < n)
        jump(got + 1);
    got += LEAF(leaf, got);
    LEAVE;
    return got;
}

static NOINLINE int by_context(int n) {
    volatile int times = 0;
    ENTER;
    expect_call("getcontext");
    getcontext(&context);
    (void)LEAF(leaf, times);
    times = times + 1;
    if (times < n) {
        /* setcontext() returns where getcontext() did, on an equally deep stack; on x86-64 it does
         * so as a call. */
#ifdef __x86_64__
        expect_call("setcontext");
#else
        expect_all("> setcontext", "! setcontext", NULL);
#endif
        setcontext(&context);
    }
    LEAVE;
    return times;
}

static NOINLINE int by_vfork(int n) {
    int status = -1;
    ENTER;
    expect_call("vfork");
    pid_t child = vfork();
    if (child == 0) {
        expect_forked(n);
        expect_all("+ vfork", "< vfork", NULL);
        (void)LEAF(leaf, n);
        expect_all("! by_vfork", "! main", NULL);
        expect_thread(0);
        _exit(n);
    }
    waitpid(child, &status, 0);
    (void)LEAF(leaf, n);
    LEAVE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void) {
    expect_call("_setjmp"); /* called by the C library, for threads that end in main */
    ENTER;
    for (int n = 1; n < 4; n++) {
        int jumped = by_setjmp(n), resumed = by_context(n), left = by_vfork(n);
        printf("%d %d %d\n", jumped, resumed, left);
    }
    LEAVE;
    expect_print();
    return 0;
}
