/*
 * What recordings of launched and of running programs have in common: the trace and its writer,
 * signals to spoor, the loop that waits for something to do, the end.
 */
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "record/control.h"
#include "record/record.h"
#include "ring/flight.h"
#include "tracer/tracer.h"

struct recording {
    const struct record_options *options;
    struct record_result *result;
    struct trace_writer *writer;
    struct module_table *module_table;
    struct flight *flight;
    struct drain *drain;
    struct tracer *tracer;
    struct control *control; /* NULL: spoor cannot be controlled */
    bool stop;               /* by 'spoor ctl': the program is to be left */
    bool busy;               /* there may be more reports */
    int hook_event, signals;
    sigset_t mask; /* the tool's own */
    struct sigaction too_large, children, snapshots;
    struct rlimit files;
    bool limits_raised;
    pid_t pid; /* of the program; 0: there is none yet */
    /* A signal has come to spoor. SIGCHLD and requests for snapshots are handled elsewhere. */
    void (*on_signal)(struct recording *r, const struct signalfd_siginfo *info);
    void *ctx;
};

/* Signals in WANTED, and the one that asks for a snapshot, become readable, and do nothing else
 * from now on. */
int recording_open_signals(struct recording *r, const sigset_t *wanted, struct err *err);
/* Limits of the program are not limits of spoor: it holds a descriptor for each process; a trace
 * that may not grow ends the trace, not spoor; and SIGCHLD and SIGUSR1 may be ignored by
 * inheritance. Called after a launched program has inherited its limits. */
void recording_lift_limits(struct recording *r);
/* Opens the trace of COMMAND, a NULL-terminated list, and begins to drain; makes the tracer. */
int recording_open(struct recording *r, const char *const *command, struct err *err);
/* Listens for 'spoor ctl', if that is possible. */
void recording_listen(struct recording *r);
/* Waits until something has happened, but for MS milliseconds at most, and sees to it. */
void recording_step(struct recording *r, int ms);
/* If the program has ended and processes that it has made run on, warns the user and returns true.
 */
bool recording_report_end(const struct recording *r);
/* Whether the options name functions that are not there, as far as that is known. Errors:
 * "no-match", "no-imports". */
int recording_check(const struct recording *r, struct err *err);
/* The program's status as a shell shows it; 0 when it has not ended. */
int recording_status(const struct recording *r);
/* Everything has happened: reads and writes the rest, fills the result, ends the trace. EXIT_STATUS
 * as in struct record_result. */
void recording_finish(struct recording *r, int exit_status);
/* Frees what there is; a trace that was not finished is removed. */
void recording_done(struct recording *r);
