/*
 * Decides which threads, functions and calls a view shows.
 *
 * A function that is not shown disappears: its callees are attached to its nearest shown caller,
 * and that caller gets its own time, unless the function is *silent* (--hide). A call that is too
 * deep or too short disappears with all that it calls; with -C, so does a call in which no -C
 * function is called. With --callees the functions of -F are roots: all is shown that is called in
 * their calls. SINCE and UNTIL select a span. Calls that overlap it are shown, with their whole
 * durations.
 *
 * Calls that record was to leave out (-D, -t) are not shown either. Some are in the trace, since
 * the recorder could not know then (ring/thin.h). For that depth, callers that are not shown count,
 * too.
 */
#pragma once

#include "analyze/call_conditions.h"
#include "analyze/names.h"
#include "base/filter.h"

#define VIEW_PERCENT ((uint64_t)1 << 63)
/* NS, which may be a part of R's duration, rounded down, as nanoseconds. */
uint64_t view_moment_ns(const struct trace_reader *r, uint64_t ns);
/* The options of a view. */
struct view_spec {
    struct filter filter;          /* without -M: all modules */
    pattern_list ways;             /* -C: only these functions, and calls that lead to them */
    pattern_list hidden;           /* --hide */
    condition_texts where;         /* --where */
    bool callees;                  /* --callees: also what is called in calls of -F */
    uint32_t depth;                /* most nested shown calls; 0: any number */
    uint64_t threshold_ns;         /* duration */
    uint64_t since_ns, until_ns;   /* or VIEW_PERCENT + millionths of a percent of the duration */
    uint32_t tid, pid;             /* 0: all threads, all processes */
    ARRAY(const char *) processes; /* --process: globs on their names; none: all */
};
static inline bool view_has_span(const struct view_spec *spec) {
    return spec->since_ns || spec->until_ns != UINT64_MAX;
}

enum view_verdict { /* bits; 0: not decided */
                    VIEW_DECIDED = 1,
                    VIEW_SHOWS = 2,
                    VIEW_BELOW = 4,    /* shown in calls of roots */
                    VIEW_ROOT = 8,     /* of -F, with --callees */
                    VIEW_WAY_END = 16, /* of -C */
                    VIEW_SILENT =
                        32, /* if it would be shown: it is not, but its time is not its caller's */
                    VIEW_CONDITION = 64 /* of --where: it is shown if its condition holds */
};

struct view_filter {
    struct view_spec spec;              /* the filter in it is borrowed; times are nanoseconds */
    struct filter filter, ways, hidden; /* for this trace; of ways and hidden the functions */
    struct call_conditions *conditions; /* NULL: there are none */
    struct names *names;
    uint8_t *verdicts;       /* enum view_verdict, by function; NULL: all are shown */
    uint8_t *streams;        /* by stream: 1 if it is shown; NULL: all are */
    uint32_t recorded_depth; /* -D of the recording; UINT32_MAX: no limit */
    uint64_t recorded_ns;    /* -t of the recording */
};

/* Errors, ENOENT: "no-match" (an -F matches no instrumented function of the trace), "no-module",
 * "no-thread", "no-process", "no-file"; EINVAL "spec". Conditions are to be judged before calls are
 * read (judge_calls()). */
int view_filter_new(const struct view_spec *spec, const struct trace_reader *r, struct names *names,
                    struct view_filter **ret, struct err *err);
void view_filter_free(struct view_filter *f);

uint8_t view_filter_decide(struct view_filter *f, uint32_t function);
static inline unsigned view_filter_verdict(struct view_filter *f, uint32_t function) {
    if (!f->verdicts)
        return VIEW_SHOWS;
    return f->verdicts[function] ? f->verdicts[function] : view_filter_decide(f, function);
}
static inline bool view_filter_shows_stream(const struct view_filter *f, uint32_t stream) {
    return !f->streams || f->streams[stream];
}

/* Patterns of FILTER with wildcards that are names of functions match these names only. */
void view_filter_note_names(struct filter *filter, struct names *names);
/* 0 if P matches an instrumented function. Otherwise -ENOENT "no-match", with similar names. WHAT
 * is what the message calls P, such as "filter". */
int view_filter_check(const char *what, const struct pattern *p, struct names *names,
                      struct err *err);
