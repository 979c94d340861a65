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
#ifndef SPOOR_ANALYZE_FILTER_H
#define SPOOR_ANALYZE_FILTER_H

#include "analyze/names.h"

/* What was asked for. Patterns and texts must outlive the filter. */
struct filter_spec {
    const struct pattern *const *shown; /* functions; none: all */
    size_t shown_count;
    const struct pattern *const *hidden; /* wins */
    size_t hidden_count;
    const char *const *modules; /* globs on file names; none: all */
    size_t module_count;
    uint32_t depth;        /* shown calls above each other; 0: any number */
    uint64_t threshold_ns; /* duration */
    uint64_t since_ns, until_ns;
    uint32_t tid; /* 0: all threads */
};

enum filter_verdict { FILTER_UNDECIDED, FILTER_SHOWS, FILTER_HIDES };

struct filter {
    struct filter_spec spec;
    struct names *names;
    uint8_t *verdicts;       /* enum filter_verdict, by function; NULL: all are shown */
    uint32_t recorded_depth; /* of the recording; UINT32_MAX: no limit */
    uint64_t recorded_ns;
};

/* Errors, ENOENT: "no-match" (a pattern of SHOWN fits no function of the trace, or none that was
 * instrumented), "no-module", "no-thread". */
int filter_new(const struct filter_spec *spec, const struct trace_reader *r, struct names *names,
               struct filter **ret, struct err *err);
void filter_free(struct filter *f);

bool filter_decide(struct filter *f, uint32_t function);
static inline bool filter_shows(struct filter *f, uint32_t function) {
    return !f->verdicts || f->verdicts[function] == FILTER_SHOWS ||
           (f->verdicts[function] == FILTER_UNDECIDED && filter_decide(f, function));
}
static inline bool filter_shows_thread(const struct filter *f, const struct trace_thread *t) {
    return !f->spec.tid || f->spec.tid == t->tid;
}

/* Whether P fits some function: 0, or -ENOENT "no-match" with the names that come near, WHAT being
 * what P is called there ("filter"). */
int filter_check(const char *what, const struct pattern *p, struct names *names, struct err *err);

#endif
