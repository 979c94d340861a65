/*
 * Signal handlers: nested, on an alternate stack, interrupting leaf functions, with masks, with
 * SA_NODEFER. Also a fault that is repaired and resumed, and values of registers and errno.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

static volatile int zero, depth;
static char *page;

static NOINLINE int leaf(int n) { return n * 5 + zero; }

static NOINLINE void on_second(int signal) {
    ENTER;
    (void)LEAF(leaf, signal);
    errno = 77;
    LEAVE;
}

static NOINLINE void on_first(int signal) {
    ENTER;
    int saved = errno;
    raise(SIGUSR2);
    (void)LEAF(leaf, signal);
    errno = saved;
    LEAVE;
}

static NOINLINE void on_again(int signal) {
    ENTER;
    if (++depth < 4)
        raise(signal);
    LEAVE;
}

static NOINLINE void on_fault(int signal, siginfo_t *info, void *context) {
    ENTER;
    (void)signal;
    (void)context;
    if ((char *)info->si_addr != page || mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
    LEAVE;
}

static NOINLINE void on_alternate(int signal) {
    expect_stack(1);
    ENTER;
    (void)LEAF(leaf, signal);
    LEAVE;
    expect_stack(0);
}

static inline __attribute__((always_inline)) void install(int signal, void (*handler)(int),
                                                          int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static NOINLINE int interrupted(int n) {
    ENTER;
    errno = 5;
    raise(SIGUSR1);
    int result = n + errno;
    LEAVE;
    return result;
}

static NOINLINE char touch(void) {
    ENTER;
    *page = 'x';
    char c = *page;
    LEAVE;
    return c;
}

static NOINLINE void block(void) {
    sigset_t set, old;
    ENTER;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR2);
    (void)LEAF(leaf, 1);
    sigprocmask(SIG_SETMASK, &old, NULL);
    (void)LEAF(leaf, 2);
    LEAVE;
}

static NOINLINE void alternate(void) {
    ENTER;
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    install(SIGUSR1, on_alternate, SA_ONSTACK);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    LEAVE;
}

int main(void) {
    expect('>', "main");
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    install(SIGUSR1, on_first, 0);
    install(SIGUSR2, on_second, 0);
    install(SIGHUP, on_again, SA_NODEFER);
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &fault, NULL);
    printf("%d\n", interrupted(100));
    raise(SIGHUP);
    printf("%d %c\n", depth, touch());
    block();
    alternate();
    LEAVE;
    expect_print();
    return 0;
}
