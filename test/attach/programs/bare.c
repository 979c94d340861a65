/*
 * bare [CALLS]: tasks without a thread pointer, each but the first made by one of them, all of
 * which call step() at the same time: CALLS times, or until standard input ends. Without CALLS it
 * says in the end whether they still have none.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define BARE __attribute__((noinline, no_stack_protector))

enum { TASKS = 5, STACK_BYTES = 65536 };
enum { THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };

static char stacks[TASKS][STACK_BYTES] __attribute__((aligned(16)));
static volatile int over, begun, ended, pointers;
static unsigned long most;

static uintptr_t thread_pointer(void) {
    uintptr_t at;
#ifdef __x86_64__
    register long number __asm__("rax") = SYS_arch_prctl;
    __asm__ volatile("syscall"
                     : "+r"(number)
                     : "D"(0x1003 /* ARCH_GET_FS */), "S"(&at)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(at));
#else
    __asm__ volatile("mrc p15, 0, %0, c13, c0, 3" : "=r"(at));
#endif
    return at;
}

BARE unsigned long step(unsigned long n) { return n + 1; }

static int work(void *argument);

static BARE int work(void *argument) {
    unsigned long task = (unsigned long)argument, calls = 0;
    if (task + 1 < TASKS) /* without CLONE_SETTLS: it begins with what this one has */
        clone(work, stacks[task + 1] + STACK_BYTES, THREAD, (void *)(task + 1));
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    while (most ? calls < most : !over)
        calls = step(calls);
    if (thread_pointer())
        __atomic_fetch_add(&pointers, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
    return 0;
}

int main(int count, char **arguments) {
    most = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    clone(work, stacks[0] + STACK_BYTES, THREAD | CLONE_SETTLS, (void *)0, NULL, NULL);
    while (begun < TASKS)
        usleep(1000);
    puts("ready");
    fflush(stdout);
    while (!most && getchar() != EOF)
        ;
    over = 1;
    while (ended < TASKS)
        usleep(1000);
    puts(pointers && !most ? "wrong" : "right");
    return 0;
}
