/*
 * Which threads, functions and calls a view shows.
 *
 * A function that is not shown vanishes; what it calls is attached to its nearest shown caller, and
 * its own time belongs to that caller. A call that is too deep or too short vanishes with all that
 * it calls. SINCE and UNTIL cut out a span: calls that overlap it are shown, and times count inside
 * it only: a call that began before begins with it, one that goes on is still open at its end.
 *
 * What record was to leave out (-D, -t) is not shown either: it may be there, where that could not
 * be told while recording (ring/thin.h). There callers that are not shown count for depth.
 */
#pragma once

#include "analyze/names.h"
#include "base/filter.h"

/* The options of a view. */
struct view_spec {
    struct filter filter;  /* without -M: all modules */
    uint32_t depth;        /* shown calls above each other; 0: any number */
    uint64_t threshold_ns; /* duration */
    uint64_t since_ns, until_ns;
    uint32_t tid; /* 0: all threads */
};

enum view_verdict { VIEW_UNDECIDED, VIEW_SHOWS, VIEW_HIDES };

struct view_filter {
    struct view_spec spec; /* its filter is borrowed */
    struct names *names;
    uint8_t *verdicts;       /* enum view_verdict, by function; NULL: all are shown */
    uint32_t recorded_depth; /* of the recording; UINT32_MAX: no limit */
    uint64_t recorded_ns;
};

/* Errors, ENOENT: "no-match" (an -F matches no function of the trace, or none that was
 * instrumented), "no-module", "no-thread". */
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

/* Whether P fits some function: 0, or -ENOENT "no-match" with the names that come near, WHAT being
 * what P is called there ("filter"). */
int view_filter_check(const char *what, const struct pattern *p, struct names *names,
                      struct err *err);
