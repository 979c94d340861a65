/*
 * Job control. ^Z stops a whole process group, but the shell waits only for its child, which is
 * spoor. Therefore spoor blocks stop signals of the terminal, and stops by the same signal as soon
 * as the program has stopped. If the program handles the signal and does not stop, spoor does not
 * stop either. When the program has ended or runs untraced, spoor stops like any program.
 */
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include "tracer/tracer.h"

struct job { /* zero to begin with */
    int signal, code;
    pid_t sender;       /* of the last stop signal to spoor; all three are 0 after SIGCONT */
    bool alone;         /* it came when no program was traced any more */
    unsigned stop_seen; /* tracer_stop.number of the last stop that spoor has followed */
};

/* Adds the signals that must be blocked and reported to job_note(). */
void job_add_signals(sigset_t *set);
/* A signal has come to spoor. TRACED: the program is traced now. */
void job_note(struct job *job, const struct signalfd_siginfo *info, bool traced);
/* Stops spoor if PID, the launched process, has stopped by a signal to its whole process group.
 * Returns when spoor and PID are continued. To be called when all reports have been handled. */
void job_follow(struct job *job, struct tracer *tracer, pid_t pid);
