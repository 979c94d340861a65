/*
 * A signal handler switches to another stack and goes on when the scheduler there switches back.
 * The signal comes at the second instruction of a function. That instruction runs in a trampoline
 * while the function is patched. Prints "ready", obeys the lines of its input, and prints "right"
 * at the end of it.
 *
 *     parked_handler KIND
 *
 *     fault    the signal comes and its handler switches stacks: prints "aside, moved", or
 *              "aside, not moved" if the interrupted instruction was the function's own
 *     go on    the handler goes on. Prints "done" when the interrupted function has ended with the
 *              right result, and the memory of the signal frame has been used again (not if KIND is
 *              "known")
 *     call     calls the function without a signal: prints "called"
 *
 * KIND is the stack on which the function runs: "made", or the thread's "own"; the scheduler runs
 * on the other one. With "forgotten" and "known" it is as with "own", but the handler has an
 * alternate signal stack, which the kernel disables meanwhile ("forgotten", SS_AUTODISARM) or not
 * ("known").
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fetch.h"

enum { STACK = 256 << 10, USED = 32 << 10, NUMBER = 4711 };
#define KEEP __attribute__((noinline, noclone, noipa))

static ucontext_t computing, scheduling;
static volatile long word = NUMBER;
static volatile int moved, parked;
static int forgotten;

static void *stack_new(void) {
    return mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    (void)sig;
    (void)info;
    moved = pc_of(c) - fetch_at() >= 16;
    *argument_of(c) = (uintptr_t)&word;
    parked = 1;
    swapcontext(&computing, &scheduling);
}

static void on_other(int sig) { (void)sig; }

/* Overwrites the stack below this frame. */
KEEP static void use_stack(void) {
    volatile char below[USED];
    for (size_t i = 0; i < sizeof below; i++)
        below[i] = 0;
}

/* Returns whether there is one; false at the end. */
static int next_line(char *line, int size) { return fgets(line, size, stdin) != NULL; }

static void expect(const char *line, const char *wanted) {
    if (strcmp(line, wanted) == 0)
        return;
    puts("wrong");
    exit(1);
}

static void compute(void) {
    char line[64];
    while (next_line(line, sizeof line)) {
        int calm = strcmp(line, "call\n") == 0;
        expect(line, calm ? "call\n" : "fault\n");
        if (fetch(calm ? &word : NULL) != NUMBER)
            expect("another number", "");
        if (forgotten)
            raise(SIGUSR1); /* on the same stack for signals */
        use_stack();
        puts(calm ? "called" : "done");
    }
    puts("right");
    exit(0);
}

static void schedule(void) {
    char line[64];
    for (;; swapcontext(&scheduling, &computing)) {
        if (!parked)
            continue;
        puts(moved ? "aside, moved" : "aside, not moved");
        expect(next_line(line, sizeof line) ? line : "", "go on\n");
        parked = 0;
    }
}

static void take_signal_stack(int flags) {
    stack_t stack = {.ss_sp = stack_new(), .ss_size = STACK, .ss_flags = flags};
    if (sigaltstack(&stack, NULL) < 0)
        exit(1);
}

int main(int argc, char **argv) {
    static const int autodisarm = (int)(1u << 31); /* linux/signal.h: SS_AUTODISARM */
    static char buffers[2][4096];                  /* printing must not use new memory */
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction other = {.sa_handler = on_other, .sa_flags = SA_ONSTACK};
    const char *kind = argc > 1 ? argv[1] : "own";
    int made = strcmp(kind, "made") == 0;
    ucontext_t *second = made ? &computing : &scheduling;
    setvbuf(stdin, buffers[0], _IOFBF, sizeof buffers[0]);
    setvbuf(stdout, buffers[1], _IOLBF, sizeof buffers[1]);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGUSR1, &other, NULL);
    getcontext(second);
    second->uc_stack = (stack_t){.ss_sp = stack_new(), .ss_size = STACK};
    makecontext(second, made ? compute : schedule, 0);
    forgotten = strcmp(kind, "forgotten") == 0;
    if (forgotten || strcmp(kind, "known") == 0)
        take_signal_stack(forgotten ? autodisarm : 0);
    puts("ready");
    (made ? schedule : compute)();
}
