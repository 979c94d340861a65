/*
 * Decides which threads, functions and calls a view shows.
 *
 * A function that is not shown disappears: its callees are attached to its nearest shown caller,
 * and that caller gets its own time. A call that is too deep or too short disappears with all that
 * it calls. SINCE and UNTIL select a span. Calls that overlap it are shown, with their whole
 * durations.
 *
 * Calls that record was to leave out (-D, -t) are not shown either. Some are in the trace, since
 * the recorder could not know then (ring/thin.h). For that depth, callers that are not shown count,
 * too.
 */
#pragma once

#include "analyze/names.h"
#include "base/filter.h"

/* The options of a view. */
struct view_spec {
    struct filter filter;  /* without -M: all modules */
    uint32_t depth;        /* most nested shown calls; 0: any number */
    uint64_t threshold_ns; /* duration */
    uint64_t since_ns, until_ns;
    uint32_t tid; /* 0: all threads */
};

enum view_verdict { VIEW_UNDECIDED, VIEW_SHOWS, VIEW_HIDES };

struct view_filter {
    struct view_spec spec; /* the filter in it is borrowed */
    struct filter filter;  /* for this trace */
    struct names *names;
    uint8_t *verdicts;       /* enum view_verdict, by function; NULL: all are shown */
    uint32_t recorded_depth; /* -D of the recording; UINT32_MAX: no limit */
    uint64_t recorded_ns;    /* -t of the recording */
};

/* Errors, ENOENT: "no-match" (an -F matches no instrumented function of the trace), "no-module",
 * "no-thread". */
int view_filter_new(const struct view_spec *spec, const struct trace_reader *r, struct names *names,
                    struct view_filter **ret, struct err *err);
void view_filter_free(struct view_filter *f);

bool view_filter_decide(struct view_filter *f, uint32_t function);
static inline bool view_filter_shows(struct view_filter *f, uint32_t function) {
    return !f->verdicts || f->verdicts[function] == VIEW_SHOWS ||
           (f->verdicts[function] == VIEW_UNDECIDED && view_filter_decide(f, function));
}
static inline bool view_filter_shows_thread(const struct view_filter *f,
                                            const struct trace_thread *t) {
    return !f->spec.tid || f->spec.tid == t->tid;
}

/* Patterns of FILTER with wildcards that are names of functions match these names only. */
void view_filter_note_names(struct filter *filter, struct names *names);
/* 0 if P matches an instrumented function. Otherwise -ENOENT "no-match", with similar names. WHAT
 * is what the message calls P, such as "filter". */
int view_filter_check(const char *what, const struct pattern *p, struct names *names,
                      struct err *err);
