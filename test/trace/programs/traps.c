/*
 * The program uses the means of debuggers itself: int3, single steps, SIGTRAP raised and blocked,
 * and illegal instructions that a handler skips.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

#include "expect.h"

static volatile int traps, steps, illegal, zero;
static volatile int stepping;

static NOINLINE int leaf(int n) { return n * 3 + zero; }

static NOINLINE void on_trap(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    (void)context;
    if (stepping)
        steps++;
    else
        traps++;
}

static NOINLINE void on_illegal(int signal, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    (void)signal;
    illegal += (uintptr_t)info->si_addr == (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
    c->uc_mcontext.gregs[REG_RIP] += 2;
}

static NOINLINE int breaks(int n) {
    ENTER;
    expect_all("> on_trap", "< on_trap", NULL);
    __asm__ volatile("int3" ::: "memory");
    int result = LEAF(leaf, n);
    LEAVE;
    return result;
}

static NOINLINE int is_illegal(int n) {
    ENTER;
    expect_all("> on_illegal", "< on_illegal", NULL);
    __asm__ volatile("ud2" ::: "memory");
    int result = LEAF(leaf, n);
    LEAVE;
    return result;
}

/* Four instructions are stepped; the last one clears the flag. */
static NOINLINE int walks(int n) {
    ENTER;
    for (int i = 0; i < 4; i++)
        expect_all("> on_trap", "< on_trap", NULL);
    stepping = 1;
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tnop\n\tpushfq\n\t"
                     "andq $~0x100, (%%rsp)\n\tpopfq" ::
                         : "memory", "cc");
    stepping = 0;
    LEAVE;
    return n;
}

static NOINLINE int blocked(int n) {
    sigset_t set, old;
    ENTER;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGTRAP);
    int before = traps, result = LEAF(leaf, n);
    expect_all("> on_trap", "< on_trap", NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    LEAVE;
    return result + (traps - before) * 1000;
}

int main(void) {
    ENTER;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    action.sa_sigaction = on_illegal;
    sigaction(SIGILL, &action, NULL);
    printf("%d %d\n", breaks(1), breaks(2));
    printf("%d %d\n", is_illegal(3), is_illegal(4));
    printf("%d %d\n", walks(5), blocked(6));
    printf("%d %d %d\n", traps, steps, illegal);
    LEAVE;
    expect_print();
    return 0;
}
