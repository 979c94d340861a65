/*
 * The common part of launch and attach: the trace and its writer, signals to spoor, one step of the
 * main loop, the end.
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
    const struct record_options *options; /* once the trace is open: `own` */
    struct record_options own;            /* with the name of the trace as it is */
    struct record_result *result;
    struct trace_writer *writer;
    struct module_table *module_table;
    struct flight *flight;
    struct drain *drain;
    struct tracer *tracer;
    struct control *control; /* NULL: spoor cannot be controlled */
    bool stop;               /* 'spoor ctl' has ended the recording */
    bool busy;               /* the tracer may have more reports */
    int hook_event, signals;
    sigset_t mask; /* the signal mask that spoor began with */
    /* Restored at the end: */
    struct sigaction old_sigxfsz, old_sigchld, old_sigusr1;
    struct rlimit old_files;
    bool limits_raised;
    pid_t pid;    /* of the program; 0: not launched yet; of several, the first one */
    bool several; /* attached to more than PID */
    /* Handles a signal to spoor, except SIGUSR1. */
    void (*on_signal)(struct recording *r, const struct signalfd_siginfo *info);
    void *ctx;
};

/* Blocks the signals in WANTED, and SIGUSR1. recording_step() reads them. */
int recording_open_signals(struct recording *r, const sigset_t *wanted, struct err *err);
/* Raises the limit of open files: spoor holds one for each process. Ignores SIGXFSZ: a limit of
 * file size ends the trace, not spoor. Resets SIGCHLD and SIGUSR1, which spoor may have inherited
 * as ignored. To be called after a launched program has inherited the old limits. */
void recording_raise_limits(struct recording *r);
/* Opens the trace of COMMAND, a NULL-terminated list, starts the drainer, and makes the tracer. */
int recording_open(struct recording *r, const char *const *command, struct err *err);
/* Listens for 'spoor ctl'. Warns if this fails. */
void recording_listen(struct recording *r);
/* Waits for signals, reports, hooks or commands, at most MS milliseconds, and handles them. */
void recording_step(struct recording *r, int ms);
/* MOST, or less if --duration is over sooner; 0: it is over. BEGUN_NS: when it began. */
int recording_wait_ms(const struct recording *r, uint64_t begun_ns, int most);
/* If the program has ended but processes that it has started run on, warns and returns true. */
bool recording_report_end(const struct recording *r);
/* Checks that the options choose functions, as far as modules are known. Errors: "no-match",
 * "untraceable", "no-imports". */
int recording_check(const struct recording *r, struct err *err);
/* Warns of each filter and trigger that has matched nothing so far. */
void recording_report_unmatched(const struct recording *r);
/* The program's status as a shell shows it; 0 if the program has not ended. */
int recording_status(const struct recording *r);
/* Puts the signal that has ended the program, if any, into the result. */
void recording_note_signal(const struct recording *r);
/* Drains the rings to their end, ends the trace, and fills the result. EXIT_STATUS as in struct
 * record_result. */
void recording_finish(struct recording *r, int exit_status);
/* Frees everything, also of a recording that has failed. Removes a trace that was not finished. */
void recording_done(struct recording *r);
