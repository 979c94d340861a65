/*
 * Tasks without a thread pointer call step() at the same time, CALLS times or until standard input
 * ends. Each task but the first is made by the one before. Every other task sleeps most of the
 * time. Without CALLS the program prints "right" if the tasks still have no thread pointer. On
 * 32-bit Arm those that sleep may have been assigned one.
 *
 *     no_thread_pointer [CALLS | warded]
 *
 * With "warded" a seccomp filter kills the program if it sets a thread pointer on 32-bit Arm.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

/* Limits the rate of calls, so that two seconds of them can be recorded. */
static BARE void pass_time(void) {
    for (volatile int i = 0; i < 20000; i++)
        ;
}

static bool sleeps(unsigned long task) { return task % 2; }

/* Sleeps without libc, whose sleep and whose lazy binding need a thread pointer. */
static BARE void rest(void) {
    const struct { long seconds, ns; } some = {0, 2000000};
    syscall(SYS_nanosleep, &some, NULL);
}

static bool may_keep_pointer(unsigned long task) {
#ifdef __arm__
    return sleeps(task);
#else
    (void)task;
    return false;
#endif
}

static int work(void *argument);

static BARE int work(void *argument) {
    unsigned long task = (unsigned long)argument, calls = 0;
    if (task + 1 < TASKS) /* without CLONE_SETTLS: the child has its parent's thread pointer */
        clone(work, stacks[task + 1] + STACK_BYTES, THREAD, (void *)(task + 1));
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    while (most ? calls < most : !over) {
        calls = step(calls);
        pass_time();
        if (sleeps(task) && calls % 20 == 0)
            rest();
    }
    if (thread_pointer() && !may_keep_pointer(task))
        __atomic_fetch_add(&pointers, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
    return 0;
}

#ifdef __arm__
static bool forbid_setting(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __ARM_NR_set_tls, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
static bool forbid_setting(void) { return false; }
#endif

int main(int count, char **arguments) {
    if (count > 1 && !strcmp(arguments[1], "warded") && !forbid_setting()) {
        puts("cannot");
        return 1;
    }
    most = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
    rest();
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
