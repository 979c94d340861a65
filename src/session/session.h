/*
 * Recording: applies plans to processes, undoes them, drains rings into a trace.
 * The calling thread becomes the tracer; draining and writing have their own.
 */
#ifndef SPOOR_SESSION_SESSION_H
#define SPOOR_SESSION_SESSION_H

#include <sys/types.h>

#include "base/err.h"
#include "base/glob.h"
#include "base/types.h"
#include "plan/plan.h"
#include "trace/writer.h"
#include "wire/ring.h"

struct trigger { /* --trigger */
    const struct pattern *pattern;
    bool at_exit; /* when a call that took longer than that ends; else at each entry */
    uint64_t longer_ns;
    const char *text; /* as typed */
};

struct session_options {
    const char *output;
    const struct pattern *const *filters;
    size_t filter_count; /* -F */
    const struct pattern *const *excludes;
    size_t exclude_count; /* -N */
    const char *const *modules;
    size_t module_count;   /* -M; none: main executables */
    bool libcalls;         /* calls of main executables into libraries; then no -M means none */
    uint32_t depth;        /* -D: 0 no limit */
    uint64_t threshold_ns; /* -t: 0 none */
    uint32_t stack_frames; /* --stack: callers of a call that are recorded, at most; 0: none are */
    const struct pattern *const *stack_filters; /* of functions that match these; none: of all */
    size_t stack_filter_count;
    enum overflow overflow;
    uint64_t ring_bytes;            /* per thread, power of two, ≥ 4096; 0: the default */
    const struct trigger *triggers; /* with OVERFLOW_OVERWRITE only */
    size_t trigger_count;
    uint32_t snapshot_limit;  /* how many snapshots triggers may cause */
    uint64_t snapshot_gap_ns; /* they come no closer than that */
    bool follow;
    uint32_t
        trap_limit; /* a function that comes to its traps more often within a second loses them */
    enum tier tier; /* the only one, for tests; TIER_NONE: any */
    uint64_t duration_ns; /* attach: leave after that long; 0: no limit */
    uint64_t events;      /* attach: leave after about so many; 0: no limit */
    /* Called about every 200 ms while recording; may be NULL. */
    void (*progress)(void *ctx, const struct trace_totals *totals);
    /* One line for the user about something that is not fatal. */
    void (*warn)(void *ctx, const char *text);
    /* One line about something that has failed, though the recording goes on, or that is left in a
     * process; may be NULL. */
    void (*complain)(void *ctx, const char *text);
    void *ctx;
};

struct session_result {
    int exit_status; /* of the launched program, 128 + N when killed by signal N */
    uint64_t functions_seen, functions_instrumented;
    struct trace_totals totals;
    uint64_t duration_ns;
    uint32_t snapshots; /* made: OUTPUT.1 and so on */
    uint64_t attach_ns,
        leave_ns;    /* attach: for how long the program stood, at most; leave 0: it has ended */
    bool left;       /* attach: something of ours is still in a process, which was said */
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
int session_record(const struct session_options *options, char *const argv[],
                   struct session_result *ret, struct err *err);
/*
 * Traces process PID, which runs, until it and what it starts meanwhile have ended, or for as long
 * as OPTIONS say, or until SIGINT, SIGTERM or SIGHUP come to spoor: then leaves it as it was.
 * Errors: "machine", "no-process", "seize", "busy" (it cannot be stopped), "no-match",
 * "foreign-program", "sandboxed"; those of trace_writer_open().
 */
int session_attach(const struct session_options *options, pid_t pid, struct session_result *ret,
                   struct err *err);

#endif
