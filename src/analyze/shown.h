/*
 * Which calls a view shows: -F -N -M -D -t --since --until --tid.
 *
 * Functions that are left out vanish, and their children belong to the nearest
 * caller that is shown. Depth counts shown calls only. A call is shown when it
 * overlaps the time span.
 */
#ifndef SPOOR_ANALYZE_SHOWN_H
#define SPOOR_ANALYZE_SHOWN_H

#include "analyze/names.h"
#include "base/glob.h"

struct shown_options {
    const struct pattern *const *filters;
    size_t filter_count;
    const struct pattern *const *excludes;
    size_t exclude_count;
    const char *const *modules;
    size_t module_count;
    uint32_t depth;              /* 0: no limit */
    uint64_t threshold_ns;       /* 0: none */
    uint64_t since_ns, until_ns; /* since the trace's start; UINT64_MAX: to the end */
    uint32_t tid;                /* 0: all */
};

struct filter;
struct shown;
/* NAMES and what OPTIONS points to must outlive the result. Errors, −ENOENT, with near names:
 * "no-match" (a filter fits no function of the trace, or none that was instrumented), "no-module",
 * "no-thread". */
int shown_new(const struct trace_reader *reader, struct names *names,
              const struct shown_options *options, struct shown **ret, struct err *err);
void shown_free(struct shown *shown);
bool shown_function(const struct shown *shown, uint32_t id);
bool shown_stream(const struct shown *shown, uint32_t stream);
/* The same as the walks of walk.h take it. */
struct filter *shown_filter(const struct shown *shown);
const struct shown_options *shown_options(const struct shown *shown);
/* The span and the threshold in the trace's ticks, for inner loops. */
struct shown_ticks {
    uint64_t since, until, threshold;
};
const struct shown_ticks *shown_ticks(const struct shown *shown);

#endif
