/* Compares the last stop signal to spoor with the last stop of the program. */
#include "record/job.h"

#include <unistd.h>

static const int stop_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};
enum { STOP_SIGNALS = sizeof stop_signals / sizeof *stop_signals };

void job_add_signals(sigset_t *set) {
    for (size_t i = 0; i < STOP_SIGNALS; i++)
        sigaddset(set, stop_signals[i]);
    sigaddset(set, SIGCONT);
}

void job_note(struct job *job, const struct signalfd_siginfo *info, bool traced) {
    int sig = (int)info->ssi_signo;
    for (size_t i = 0; i < STOP_SIGNALS; i++)
        if (sig == stop_signals[i]) {
            job->signal = sig;
            job->code = info->ssi_code;
            job->sender = (pid_t)info->ssi_pid;
            job->untraced = !traced;
        }
    if (sig == SIGCONT)
        *job = (struct job){.stop_seen = job->stop_seen};
}

/* True if the signal that caused STOP went to the whole process group. A process that stops only
 * the program may not know of spoor, and would not continue spoor. */
static bool is_of_group(const struct job *job, const struct tracer_stop *stop, pid_t pid) {
    if (!job->signal)
        return false;
    return stop->sender == pid ||
           (stop->signal == job->signal && stop->code == job->code && stop->sender == job->sender);
}

/* Stops spoor by SIG. Returns true if spoor was stopped and SIGCONT has continued it. In a process
 * group without a shell, signals of the terminal do not stop. */
static bool stop_spoor(int sig) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    kill(getpid(), sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigpending(&set);
    return sigismember(&set, SIGCONT);
}

void job_follow(struct job *job, struct tracer *tracer, pid_t pid) {
    struct tracer_stop stop;
    if (job->untraced) {
        int sig = job->signal;
        *job = (struct job){0};
        stop_spoor(sig);
    }
    if (!tracer_stopped(tracer, &stop) || stop.number == job->stop_seen ||
        !is_of_group(job, &stop, pid))
        return;
    *job = (struct job){.stop_seen = stop.number};
    if (!stop_spoor(stop.signal))
        return;
    /* SIGCONT went to the program, too. If it has not continued the program, it is sent once more.
     * A second SIGCONT merges with the first: only spoor can let the program take it. */
    while (tracer_handle_reports(tracer))
        ;
    if (tracer_stopped(tracer, &stop) && stop.number == job->stop_seen)
        kill(pid, SIGCONT);
}
