/*
 * Job control. ^Z stops a whole process group, but the shell waits only for its child, which is
 * spoor. So spoor blocks the terminal's stop signals. It stops by the same signal when the program
 * has stopped. If the program handles the signal and runs on, spoor runs on, too. When the program
 * has ended or runs untraced, spoor stops like any program.
 */
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include "tracer/tracer.h"

struct job {            /* zero to begin with */
    int signal, code;   /* of the last stop signal to spoor; 0 after SIGCONT */
    pid_t sender;       /* likewise */
    bool untraced;      /* the signal came when the program was not traced any more */
    unsigned stop_seen; /* tracer_stop.number of the last stop that spoor has followed */
};

/* Adds the signals to SET that the caller blocks and passes to job_note(). */
void job_add_signals(sigset_t *set);
/* Notes a signal to spoor. TRACED: the program is traced now. */
void job_note(struct job *job, const struct signalfd_siginfo *info, bool traced);
/* Stops spoor if a signal to the whole process group has stopped PID, the launched process. Returns
 * when spoor and PID are continued. To be called when all reports have been handled. */
void job_follow(struct job *job, struct tracer *tracer, pid_t pid);
