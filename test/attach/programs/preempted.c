/*
 * Preempts a computation as some coroutine schedulers do: a signal handler switches to the
 * scheduler's stack and stays suspended until the scheduler switches back. The signal comes inside
 * the bytes that a patch covers. This repeats until standard input ends. Checks all results and
 * prints "right".
 *
 *     preempted made    computes on a stack that it has made; the scheduler has the thread's own
 *     preempted own     the other way round
 *     preempted signal  as "own", with an alternate signal stack (SS_AUTODISARM)
 *     preempted kept    as "signal", but the kernel does not disable that stack meanwhile
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fetch.h"

enum { STACK = 256 << 10, REST_MS = 3 };

static ucontext_t computing, scheduling;
static volatile long word = 1;
static volatile int over, ended;

static void *stack_new(void) {
    return mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    (void)sig;
    (void)info;
    *argument_of(c) = (uintptr_t)&word;
    swapcontext(&computing, &scheduling);
}

/* FORGETS: the kernel disables the stack while a handler runs on it (SS_AUTODISARM). The next
 * signal then does not start at its top again, but none comes in the meantime. */
static void take_signal_stack(int forgets) {
    static const int autodisarm = (int)(1u << 31); /* linux/signal.h: SS_AUTODISARM */
    stack_t stack = {.ss_sp = stack_new(), .ss_size = STACK, .ss_flags = forgets ? autodisarm : 0};
    if (sigaltstack(&stack, NULL) < 0)
        exit(1);
}

static void compute(void) {
    for (long n = 1; !over; n++) {
        word = n;
        if (fetch(NULL) != n) {
            puts("wrong");
            exit(1);
        }
    }
    ended = 1;
    setcontext(&scheduling);
}

static void schedule(void) {
    struct pollfd in = {.fd = 0, .events = POLLIN};
    while (!ended) {
        over = poll(&in, 1, REST_MS) > 0;
        swapcontext(&scheduling, &computing);
    }
    puts("right");
    exit(0);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int made = argc > 1 && strcmp(argv[1], "made") == 0;
    ucontext_t *other = made ? &computing : &scheduling;
    sigaction(SIGSEGV, &action, NULL);
    getcontext(other);
    other->uc_stack.ss_sp = stack_new();
    other->uc_stack.ss_size = STACK;
    makecontext(other, made ? compute : schedule, 0);
    int forgets = argc > 1 && strcmp(argv[1], "signal") == 0;
    int keeps = argc > 1 && strcmp(argv[1], "kept") == 0;
    if (forgets || keeps) /* below the other stack: spoor searches above a stack pointer */
        take_signal_stack(forgets);
    puts("ready");
    fflush(stdout);
    (made ? schedule : compute)();
}
