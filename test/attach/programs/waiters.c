/*
 * Its imports make it look like a program that traces others, so spoor stops it at system calls.
 * Its threads wait, nearly all the time, in calls that every signal ends (signal(7)). Prints
 * "ready". Prints "right" when standard input has ended, if no wait was cut short and each thread
 * has the registers that it has without a tracer.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

enum { WAITERS = 6, WAIT_MS = 4 };
static int epolls[WAITERS];
static volatile int at_end;

/* Returns the result of epoll_wait(2), or -errno. *KEPT goes through a register that is no
 * argument, and in which the kernel keeps another value while a tracer looks at the call (AArch64,
 * Arm). */
static long wait_call(int epoll, struct epoll_event *event, int ms, unsigned long *kept) {
#if defined __x86_64__
    long result = SYS_epoll_wait;
    register long limit __asm__("r10") = ms;
    register unsigned long other __asm__("r9") = *kept;
    __asm__ volatile("syscall"
                     : "+a"(result), "+r"(other)
                     : "D"((long)epoll), "S"(event), "d"(1L), "r"(limit)
                     : "rcx", "r11", "memory");
#elif defined __aarch64__
    register long result __asm__("x0") = epoll;
    register struct epoll_event *events __asm__("x1") = event;
    register long count __asm__("x2") = 1, limit __asm__("x3") = ms, mask __asm__("x4") = 0;
    register unsigned long other __asm__("x7") = *kept;
    register long number __asm__("x8") = SYS_epoll_pwait;
    __asm__ volatile("svc #0"
                     : "+r"(result), "+r"(other)
                     : "r"(events), "r"(count), "r"(limit), "r"(mask), "r"(number)
                     : "memory");
#else
    register long result __asm__("r0") = epoll;
    register struct epoll_event *events __asm__("r1") = event;
    register long count __asm__("r2") = 1, limit __asm__("r3") = ms;
    register unsigned long other __asm__("r12") = *kept;
    __asm__ volatile("push {r7}\n"
                     "mov r7, %[number]\n"
                     "svc #0\n"
                     "pop {r7}"
                     : "+r"(result), "+r"(other)
                     : "r"(events), "r"(count), "r"(limit), [number] "i"(SYS_epoll_wait)
                     : "memory");
#endif
    *kept = other;
    return result;
}

KEEP static void wait_once(int epoll, int ms) {
    static const unsigned long KEPT = 0x12345678;
    struct epoll_event event;
    unsigned long kept = KEPT;
    long r = wait_call(epoll, &event, ms, &kept);
    if (r == 0 && kept == KEPT)
        return;
    printf("wrong: epoll_wait: %ld, a register is %#lx\n", r, kept);
    fflush(stdout);
    _exit(1);
}

static void *waiter(void *arg) {
    const int *epoll = arg;
    while (!at_end)
        wait_once(*epoll, WAIT_MS + (int)(epoll - epolls));
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[WAITERS];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (argc > 1)
        return (int)ptrace(PTRACE_TRACEME, 0, argv, 0);
    for (int i = 0; i < WAITERS; i++) {
        epolls[i] = epoll_create1(0);
        pthread_create(&threads[i], NULL, waiter, &epolls[i]);
    }
    puts("ready");
    fflush(stdout);
    poll(&input, 1, -1);
    at_end = 1;
    for (int i = 0; i < WAITERS; i++)
        pthread_join(threads[i], NULL);
    puts("right");
    return 0;
}
