/*
 * A shell sees spoor where the program would be: ^Z stops a whole process group, and the shell
 * waits for its child, which is spoor. So spoor is not stopped by what comes from the terminal, but
 * stops when the program does, by the same signal, after the program has done before it what it
 * wants to; and not at all when the program does not stop. When it has ended or runs untraced,
 * spoor stops as any program.
 */
#ifndef SPOOR_RECORD_JOB_H
#define SPOOR_RECORD_JOB_H

#include <signal.h>
#include <sys/signalfd.h>

#include "tracer/tracer.h"

struct job { /* zero to begin with */
    int signal, code;
    pid_t sender;       /* of the stop signal that has come to spoor last; 0, 0, 0 after SIGCONT */
    bool alone;         /* it came when no program was traced any more */
    unsigned stop_seen; /* tracer_stop.number of the stop that was followed last */
};

/* Adds the signals that must be blocked and reported to job_note(). */
void job_add_signals(sigset_t *set);
/* TRACED: the program is, now. */
void job_note(struct job *job, const struct signalfd_siginfo *info, bool traced);
/* Stops if PID, the adopted process, has stopped for a reason that stops its group. Returns when
 * spoor is continued, and PID with it. Called when all reports have been handled. */
void job_follow(struct job *job, struct tracer *tracer, pid_t pid);

#endif
