/* Signals with values: each must arrive once, in order, and name its sender. */
#include <signal.h>
#include <sys/wait.h>

#include "self_check.h"

enum { SIGNALS = 5000 };

static volatile int next_value;
static pid_t sender;

static void take(int sig, siginfo_t *info, void *context) {
    (void)sig;
    (void)context;
    check(info->si_code == SI_QUEUE, "si_code");
    check(info->si_pid == sender, "si_pid");
    check(info->si_value.sival_int == next_value, "si_value");
    next_value++;
}

static void send(pid_t to) {
    for (int i = 0; i < SIGNALS; i++)
        while (sigqueue(to, SIGRTMIN, (union sigval){.sival_int = i}) < 0)
            check(errno == EAGAIN, "sigqueue");
    _exit(0);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaction(SIGRTMIN, &action, NULL);
    sigprocmask(SIG_BLOCK, &set, &old);
    pid_t me = getpid();
    sender = fork();
    if (sender == 0)
        send(me);
    sigprocmask(SIG_SETMASK, &old, NULL);
    while (next_value < SIGNALS)
        check_work();
    check(waitpid(sender, NULL, 0) == sender, "wait");
    return right();
}
