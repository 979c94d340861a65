/*
 * Real-time signals are delivered from the lowest number up, in the order in which they were sent,
 * each with its value. Taken by sigwaitinfo, by signalfd and by handlers.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "self_check.h"

enum { KINDS = 3, EACH = 40, ALL = KINDS * EACH };

static sigset_t set;
static pid_t sender;
static volatile int taken;

/* The signal is the N-th that must be received. */
static void check_next(int n, int sig, int code, pid_t from, int value) {
    check(sig == SIGRTMIN + n / EACH, "the signal");
    check(code == SI_QUEUE && from == sender, "the sender");
    check(value == n % EACH, "its value");
}

static void send(int sig, int value) {
    check(sigqueue(getpid(), sig, (union sigval){.sival_int = value}) == 0, "sigqueue");
}

/* Sends the highest first, and mixed. */
static void send_all(void) {
    sender = getpid();
    for (int value = 0; value < EACH; value++)
        for (int kind = KINDS; kind-- > 0;)
            send(SIGRTMIN + kind, value);
}

static void take_by_wait(void) {
    siginfo_t info;
    send_all();
    for (int i = 0; i < ALL; i++) {
        check_work();
        check(sigwaitinfo(&set, &info) == info.si_signo, "sigwaitinfo");
        check_next(i, info.si_signo, info.si_code, info.si_pid, info.si_value.sival_int);
    }
    check(sigtimedwait(&set, &info, &(struct timespec){0, 0}) < 0 && errno == EAGAIN, "the end");
}

static void take_by_descriptor(void) {
    struct signalfd_siginfo info;
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    send_all();
    for (int i = 0; i < ALL; i++) {
        check_work();
        check(read(fd, &info, sizeof info) == sizeof info, "signalfd");
        check_next(i, (int)info.ssi_signo, info.ssi_code, (pid_t)info.ssi_pid, info.ssi_int);
    }
    close(fd);
}

static void handle(int sig, siginfo_t *info, void *context) {
    (void)context;
    check_work();
    check_next(taken++, sig, info->si_code, info->si_pid, info->si_value.sival_int);
}

static void take_by_handler(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO, .sa_mask = set};
    for (int kind = 0; kind < KINDS; kind++)
        sigaction(SIGRTMIN + kind, &action, NULL);
    taken = 0;
    send_all();
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    check(taken == ALL, "handlers ran at once");
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* All other threads block these signals, so this thread alone may receive them. */
static void *wait_alone(void *arg) {
    siginfo_t info;
    (void)arg;
    for (int i = 0; i < EACH; i++) {
        check(sigwaitinfo(&set, &info) == SIGRTMIN, "sigwaitinfo in a thread");
        check_next(i, SIGRTMIN, info.si_code, info.si_pid, info.si_value.sival_int);
        check_work();
    }
    return NULL;
}

/* The signals come from another process while this one waits. */
static void take_while_waiting(void) {
    pthread_t thread;
    pid_t me = getpid(), child = fork();
    sender = child;
    if (child == 0) {
        for (int i = 0; i < EACH; i++) {
            check(sigqueue(me, SIGRTMIN, (union sigval){.sival_int = i}) == 0, "sigqueue");
            usleep((useconds_t)(i * 37 % 300));
        }
        _exit(0);
    }
    pthread_create(&thread, NULL, wait_alone, NULL);
    pthread_join(thread, NULL);
    check(waitpid(child, NULL, 0) == child, "wait");
}

int main(void) {
    sigemptyset(&set);
    for (int kind = 0; kind < KINDS; kind++)
        sigaddset(&set, SIGRTMIN + kind);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 5; i++) {
        take_by_wait();
        take_by_descriptor();
        take_by_handler();
        take_while_waiting();
    }
    return right();
}
