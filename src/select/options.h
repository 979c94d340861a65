/* The options of a recording, as the user has given them. */
#pragma once

#include "base/filter.h"
#include "base/report.h"
#include "plan/plan.h"
#include "trace/writer.h"
#include "wire/ring.h"

struct trigger {          /* --trigger */
    struct filter filter; /* one -F; captures: its condition, of letter T, if it has one */
    bool at_exit; /* fires when a call ends that took longer than longer_ns; else at each entry */
    uint64_t longer_ns;
    const char *text; /* as typed */
};

typedef ARRAY(struct trigger) trigger_list;

/* --stack */
struct stack_options {
    uint32_t frames;      /* most callers that are recorded of a call; 0: none */
    struct filter filter; /* callers of these functions only; empty: of all */
};

struct record_options {
    const char *output;    /* with %p, %c, %t and %% (record/output_name.h) */
    bool output_given;     /* false: if another spoor writes it, a new name is chosen */
    bool start_paused;     /* nothing is patched before 'spoor ctl PID resume' */
    struct filter filter;  /* without -M: main executables; with libcalls: no module */
    bool libcalls;         /* traces calls of main executables into libraries */
    uint32_t depth;        /* -D: 0 no limit */
    uint64_t threshold_ns; /* -t: 0 no limit */
    struct stack_options stacks;
    enum overflow overflow;
    uint64_t ring_bytes;      /* per thread, power of two, ≥ 4096; 0: the default */
    uint64_t memory_bytes;    /* in which blocks wait (trace_writer_limit()); 0: the default */
    uint64_t max_bytes;       /* of the trace: it is cut into parts (trace_writer_cut()); 0: any */
    bool auto_args;           /* captures arguments and results of all traced functions */
    uint32_t strings;         /* most bytes of a captured text */
    const char *formats_file; /* of the user, "none", or NULL */
    struct formats *formats;  /* of captured objects; NULL: none */
    trigger_list triggers;    /* with OVERFLOW_OVERWRITE only */
    trigger_list during;      /* --while: functions; empty: always */
    uint32_t snapshot_limit;  /* snapshots that triggers may cause */
    uint64_t snapshot_gap_ns; /* the least time between two of them */
    bool follow;
    uint32_t trap_limit;  /* hits within a second after which a function loses its traps */
    bool cache;           /* keeps plans, and uses kept ones */
    uint64_t cache_bytes; /* the most that the cache may hold */
    enum tier tier;       /* the only tier to use, for tests; TIER_NONE: any */
    uint64_t duration_ns; /* detach after this time; 0: no limit */
    uint32_t events;      /* attach: detach after about this many; 0: no limit */
    /* Called about every 200 ms while recording, with report.ctx; may be NULL. */
    void (*progress)(void *ctx, const struct trace_totals *totals);
    struct report report;
};
