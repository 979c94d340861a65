/*
 * Prints every frame that the program sees on its own stack, with module and offset: by
 * backtrace(), _Unwind_Backtrace, return addresses, and the caller that RTLD_NEXT uses. It looks
 * from ordinary calls, from a callback of the library, and from handlers on the same stack and on
 * another. Traced, it must print the same.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "expect.h"

enum { MOST_FRAMES = 64, STACK_BYTES = 65536 };
enum { BACKTRACE, UNWIND, SIGNAL, SIGNAL_STACK, LIBRARY, NEXT, WAYS };

static volatile int zero;

static inline __attribute__((always_inline)) void print_place(const void *pc) {
    Dl_info info;
    if (!dladdr(pc, &info) || !info.dli_fname) {
        printf(" nowhere");
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    printf(" %s+%lx", slash ? slash + 1 : info.dli_fname,
           (unsigned long)((uintptr_t)pc - (uintptr_t)info.dli_fbase));
}

static _Unwind_Reason_Code print_frame(struct _Unwind_Context *context, void *argument) {
    int before = 0;
    ENTER;
    uintptr_t pc = _Unwind_GetIPInfo(context, &before);
    (void)argument;
    if (pc) {
        print_place((void *)pc);
        printf("%s", before ? " (interrupted)" : "");
    }
    LEAVE;
    return _URC_NO_REASON;
}

static NOINLINE void print_backtrace(void) {
    void *frames[MOST_FRAMES];
    int count = backtrace(frames, MOST_FRAMES);
    ENTER;
    printf("%d frames:", count);
    for (int i = 0; i < count; i++)
        print_place(frames[i]);
    printf("\n");
    LEAVE;
}

static NOINLINE void print_unwound(void) {
    ENTER;
    _Unwind_Backtrace(print_frame, NULL);
    printf("\n");
    LEAVE;
}

static NOINLINE void on_signal(int signal) {
    if (signal == SIGUSR2)
        expect_stack(1);
    ENTER;
    print_backtrace();
    print_unwound();
    LEAVE;
    expect_stack(0);
}

static NOINLINE int compare(const void *a, const void *b) {
    ENTER;
    print_backtrace();
    LEAVE;
    return *(const int *)a - *(const int *)b;
}

/* A tail call: the C library takes next()'s caller for dlsym()'s, which is of the same module. */
static NOINLINE void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* The program has a rand() of its own; the next one is the C library's. */
NOINLINE int rand(void) { return 1000 + zero; }

static NOINLINE int bottom(int how) {
    int numbers[2] = {2 + zero, 1};
    ENTER;
    if (how == BACKTRACE)
        print_backtrace();
    if (how == UNWIND)
        print_unwound();
    if (how == SIGNAL || how == SIGNAL_STACK)
        raise(how == SIGNAL ? SIGUSR1 : SIGUSR2);
    if (how == LIBRARY)
        qsort(numbers, 2, sizeof *numbers, compare);
    if (how == NEXT) {
        printf("%d, next:", LEAF(rand));
        print_place(LEAF(next, "rand"));
        printf("\n");
    }
    printf("called from");
    print_place(__builtin_return_address(0));
    printf("\n");
    LEAVE;
    return how + numbers[0];
}

static NOINLINE int middle(int how) {
    ENTER;
    int result = bottom(how + zero) + 1;
    LEAVE;
    return result;
}

static NOINLINE int top(int how) {
    ENTER;
    int result = middle(how + zero) * 2;
    LEAVE;
    return result;
}

int main(void) {
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    struct sigaction action = {.sa_handler = on_signal};
    ENTER;
    sigaction(SIGUSR1, &action, NULL);
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    for (int how = 0; how < WAYS; how++)
        printf("%d\n", top(how));
    LEAVE;
    expect_print();
    return 0;
}
