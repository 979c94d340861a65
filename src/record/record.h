/*
 * Records launched or running programs: applies plans to processes, drains rings into a trace,
 * restores the processes. The calling thread is the tracer; draining and writing have threads of
 * their own.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "select/options.h"
#include "trace/writer.h"

typedef ARRAY(struct trace_death) death_records;

struct record_result {
    char *output;    /* the name of the trace; owned */
    int exit_status; /* of the launched program, 128 + N when killed by signal N */
    uint64_t functions_seen, functions_instrumented;
    struct trace_totals totals;
    uint64_t duration_ns;
    uint32_t snapshots; /* number of snapshots written: OUTPUT.1 and so on */
    /* Of attach only: */
    size_t attached;      /* how many processes were there at the beginning */
    uint64_t attach_ns;   /* the longest stop of the program at attach */
    uint64_t leave_ns;    /* the longest stop at leave; 0: the program has ended */
    bool has_leftovers;   /* a process still has code or memory of spoor; the user was warned */
    bool was_stopped;     /* the program was in a group-stop from the beginning to the end */
    int trace_error;      /* 0, or −errno: the trace is incomplete, the program was not harmed */
    struct err trace_why; /* if trace_error */
    pid_t pid;            /* of the program */
    int signal;           /* that has ended the launched program; 0: none */
    bool core_dumped;     /* likewise */
    death_records deaths; /* processes that signals have ended; owned, strings too */
};

void record_result_done(struct record_result *result);

/*
 * Launches ARGV and traces it and its descendants until all have ended. Passes SIGTERM and SIGHUP
 * on to ARGV. Errors: "machine" (without a usable clock, or without instructions that stubs need);
 * "no-match" (with similar names; only without options->follow); "untraceable"; "foreign-program";
 * "sandboxed"; "no-snapshots" (triggers, but OUTPUT is not a file); those of launch() and
 * trace_writer_open().
 */
int record_launch(const struct record_options *options, char *const argv[],
                  struct record_result *ret, struct err *err);
struct attach_targets {
    const pid_t *pids;
    size_t count; /* at least 1 */
    bool tree;    /* also the processes that descend from these */
};

/*
 * Traces processes, and those that they start meanwhile. Ends when all have ended, after the time
 * in OPTIONS, or when SIGINT, SIGTERM or SIGHUP come to spoor. Then leaves them as they were. Of
 * several processes, those that cannot be traced are left out, with a warning. Errors: "machine",
 * "no-process", "seize", "busy" (PID cannot be stopped), "no-match", "untraceable",
 * "foreign-program", "sandboxed"; those of trace_writer_open().
 */
int record_attach(const struct record_options *options, const struct attach_targets *targets,
                  struct record_result *ret, struct err *err);
