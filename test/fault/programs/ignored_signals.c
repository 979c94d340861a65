/* Ignored signals arrive while threads wait in system calls: no wait may end early. */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "self_check.h"

enum { ROUNDS = 10, SIGNALS = 10 };

static int channel[2];

/* Sends signals without effect, and finally the signal that the other process waits for. */
static void disturb(pid_t to) {
    static const int deaf[] = {SIGCHLD, SIGURG, SIGWINCH, SIGUSR1, SIGCONT};
    for (int i = 0; i < SIGNALS; i++) {
        usleep(1000);
        kill(to, deaf[i % 5]);
    }
    usleep(1000);
    check(write(channel[1], "x", 1) == 1, "write");
    kill(to, SIGUSR2);
    _exit(0);
}

static void wait_for_event(void) {
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, channel[0], &event);
    check(epoll_wait(epoll, &event, 1, 60000) == 1, "epoll_wait");
    check(read(channel[0], &event, 1) == 1, "read");
    close(epoll);
}

static void wait_for_data(void) {
    char byte;
    check(recv(channel[0], &byte, 1, 0) == 1, "recv");
}

static void wait_for_signal(void) {
    sigset_t set;
    char byte;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    check(sigtimedwait(&set, NULL, &(struct timespec){60, 0}) == SIGUSR2, "sigtimedwait");
    check(read(channel[0], &byte, 1) == 1, "read");
}

int main(void) {
    static void (*const waits[])(void) = {wait_for_event, wait_for_data, wait_for_signal};
    struct timeval minute = {60, 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR1, SIG_IGN);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, channel);
    setsockopt(channel[0], SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
    for (int i = 0; i < ROUNDS * 3; i++) {
        pid_t me = getpid(), child = fork();
        if (child == 0)
            disturb(me);
        waits[i % 3]();
        check(waitpid(child, NULL, 0) == child, "wait");
        sigtimedwait(&set, NULL, &(struct timespec){0}); /* a signal that no thread waits for */
    }
    return right();
}
