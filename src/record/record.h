/*
 * Records launched or running programs: applies plans to processes, drains rings into a trace,
 * restores the processes. The calling thread is the tracer; draining and writing have threads of
 * their own.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "select/options.h"
#include "trace/writer.h"

struct record_result {
    int exit_status; /* of the launched program, 128 + N when killed by signal N */
    uint64_t functions_seen, functions_instrumented;
    struct trace_totals totals;
    uint64_t duration_ns;
    uint32_t snapshots; /* number of snapshots written: OUTPUT.1 and so on */
    /* Of attach only: */
    uint64_t attach_ns;   /* the longest stop of the program at attach */
    uint64_t leave_ns;    /* the longest stop at leave; 0: the program has ended */
    bool has_leftovers;   /* a process still has code or memory of spoor; the user was warned */
    bool was_stopped;     /* the program was in a group-stop from the beginning to the end */
    int trace_error;      /* 0, or −errno: the trace is incomplete, the program was not harmed */
    struct err trace_why; /* if trace_error */
};

/*
 * Launches ARGV and traces it and its descendants until all have ended. Passes SIGTERM and SIGHUP
 * on to ARGV. Errors: "machine" (without a usable clock, or without instructions that stubs need);
 * "no-match" (with similar names; only without options->follow); "untraceable"; "foreign-program";
 * "sandboxed"; "no-snapshots" (triggers, but OUTPUT is not a file); those of launch() and
 * trace_writer_open().
 */
int record_launch(const struct record_options *options, char *const argv[],
                  struct record_result *ret, struct err *err);
/*
 * Traces process PID and the processes that it starts meanwhile, until all have ended, for as long
 * as OPTIONS say, or until SIGINT, SIGTERM or SIGHUP come to spoor. Then leaves PID as it was.
 * Errors: "machine", "no-process", "seize", "busy" (PID cannot be stopped), "no-match",
 * "untraceable", "foreign-program", "sandboxed"; those of trace_writer_open().
 */
int record_attach(const struct record_options *options, pid_t pid, struct record_result *ret,
                  struct err *err);
