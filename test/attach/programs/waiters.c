/*
 * A program that traces others, for all that its imports tell, so that it stops at system calls
 * under spoor. Its threads wait by a call that every signal ends (signal(7)), and do nearly nothing
 * else. Says "ready", and "right" when its standard input has ended and no wait was cut short.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, noipa))

enum { WAITERS = 6, WAIT_MS = 4 };
static int epolls[WAITERS];
static volatile int at_end;

KEEP static void wait_once(int epoll, int ms) {
    struct epoll_event event;
    int r = epoll_wait(epoll, &event, 1, ms);
    if (r == 0)
        return;
    printf("wrong: epoll_wait: %d, errno %d\n", r, errno);
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
