/*
 * Job control as a shell does it. A parent sees each stop and continuation of its children once,
 * with the right signal. A signal for a stopped child waits until the child is continued.
 */
#include <signal.h>
#include <sys/wait.h>

#include "self_check.h"

static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
static volatile sig_atomic_t received, queued;

static void on_user(int sig) { received |= 1 << sig; }
static void on_queue(int sig, siginfo_t *info, void *context) {
    (void)sig;
    (void)context;
    check(info->si_value.sival_int == queued, "values in order");
    queued++;
}

static int status_of(pid_t pid, int options) {
    int status = -1;
    pid_t got;
    while ((got = waitpid(pid, &status, options)) < 0 && errno == EINTR)
        ;
    check(got == pid, "waitpid");
    return status;
}

static void check_nothing_new(pid_t pid) {
    int status;
    check(waitpid(pid, &status, WUNTRACED | WCONTINUED | WNOHANG) == 0, "no further report");
}

/* Works, and ends when all signals have been received. */
static void work_until_received(void) {
    struct sigaction action = {.sa_sigaction = on_queue, .sa_flags = SA_SIGINFO};
    signal(SIGUSR1, on_user);
    signal(SIGUSR2, on_user);
    sigaction(SIGRTMIN, &action, NULL);
    raise(SIGSTOP); /* handlers are in place */
    while (queued < 3 || received != (1 << SIGUSR1 | 1 << SIGUSR2))
        check_work();
    _exit(7);
}

static void stop(pid_t pid, int sig) {
    siginfo_t info;
    kill(pid, sig);
    int status = status_of(pid, WUNTRACED | WCONTINUED);
    check(WIFSTOPPED(status) && WSTOPSIG(status) == sig, "the stop");
    check_nothing_new(pid);
    info.si_pid = 0;
    check(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && !info.si_pid, "told once");
}

static void continue_child(pid_t pid) {
    kill(pid, SIGCONT);
    check(WIFCONTINUED(status_of(pid, WUNTRACED | WCONTINUED)), "the continuation");
}

static void stop_and_continue(void) {
    pid_t pid = fork();
    if (pid == 0)
        work_until_received();
    setpgid(pid, pid); /* in an orphaned process group SIGTSTP does not stop */
    int status = status_of(pid, WUNTRACED);
    check(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "a stop of its own");
    continue_child(pid);
    for (int i = 0; i < 4; i++) {
        stop(pid, stops[i]);
        if (i == 3)
            kill(pid, SIGUSR1), kill(pid, SIGUSR2);
        else
            sigqueue(pid, SIGRTMIN, (union sigval){.sival_int = i});
        check_nothing_new(pid);
        if (i < 3)
            continue_child(pid);
    }
    kill(pid, SIGCONT);
    status = status_of(pid, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the end");
}

/* SIGKILL ends a stopped process; SIGTERM waits. */
static void end_stopped(void) {
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    stop(pid, SIGSTOP);
    kill(pid, SIGTERM);
    check_nothing_new(pid);
    kill(pid, SIGCONT);
    int status = status_of(pid, 0);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "the end by SIGTERM");
    pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    stop(pid, SIGSTOP);
    kill(pid, SIGKILL);
    status = status_of(pid, 0);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the end by SIGKILL");
}

/* SIGCONT discards a pending stop signal, and a stop signal a pending SIGCONT. */
static void opposite_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGTSTP);
    raise(SIGCONT);
    sigpending(&set);
    check(!sigismember(&set, SIGTSTP) && sigismember(&set, SIGCONT), "SIGCONT after SIGTSTP");
    raise(SIGTSTP);
    sigpending(&set);
    check(sigismember(&set, SIGTSTP) && !sigismember(&set, SIGCONT), "SIGTSTP after SIGCONT");
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTSTP, SIG_DFL);
    sigaddset(&set, SIGCONT);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int main(void) {
    for (int i = 0; i < 5; i++) {
        stop_and_continue();
        end_stopped();
        opposite_signals();
    }
    return right();
}
