/*
 * Recording: applies plans to processes, undoes them, drains rings into a trace.
 * The calling thread becomes the tracer; draining and writing have their own.
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
    uint32_t snapshots; /* made: OUTPUT.1 and so on */
    uint64_t attach_ns,
        leave_ns;    /* attach: for how long the program stood, at most; leave 0: it has ended */
    bool left;       /* attach: something of spoor is still in a process; the user knows */
    bool stood;      /* attach: it was stopped, as a job is, from the beginning to the end */
    int trace_error; /* 0, or −errno: the trace is incomplete, the program was not harmed */
    struct err trace_why;
};

/*
 * Launches ARGV and traces until it and what it started have ended. SIGTERM and SIGHUP are passed
 * on to it. Errors: "machine" (it has no clock, or less than stubs consist of); of launch();
 * "no-match" (with near names); "foreign-program", "sandboxed"; "no-snapshots" (triggers, but
 * OUTPUT is not a file); those of trace_writer_open().
 */
int record_launch(const struct record_options *options, char *const argv[],
                  struct record_result *ret, struct err *err);
/*
 * Traces process PID, which runs, until it and what it starts meanwhile have ended, or for as long
 * as OPTIONS say, or until SIGINT, SIGTERM or SIGHUP come to spoor: then leaves it as it was.
 * Errors: "machine", "no-process", "seize", "busy" (it cannot be stopped), "no-match",
 * "foreign-program", "sandboxed"; those of trace_writer_open().
 */
int record_attach(const struct record_options *options, pid_t pid, struct record_result *ret,
                  struct err *err);
