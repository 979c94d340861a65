/* Statistics of functions: CONTRACT.md's "report". */
#pragma once

#include "analyze/caller_groups.h"
#include "analyze/histogram.h"
#include "analyze/walk.h"

struct function_stats {
    uint64_t calls;
    uint64_t total_ns; /* of all periods in which a call was open, by the threads where they began;
                          not if all were brief */
    uint64_t self_ns;
    uint64_t min_ns, max_ns;
    uint64_t unwound, inferred; /* the latter are among the former */
    uint64_t before; /* calls that began untraced: they count in total and self time alone */
    struct histogram durations;
    struct period {        /* private: in which calls of one thread are open */
        uint64_t since_ns; /* the first of them began then */
        uint32_t open;     /* how many are */
        bool lasting;      /* one that was not brief has ended since then */
    } period;              /* of the present thread */
};

struct stats;
/* GROUPS: what is a function in the following is one of these instead; NULL: it is one. */
struct stats *stats_new(const struct source *source, const struct caller_groups *groups);
void stats_free(struct stats *s);
/* Adds what one group holds, to each in EACH, by number among the group's streams, the calls that
 * began in that stream. */
void stats_add_stream_group(struct stats *const *each, struct stream_group group);
void stats_add_all(struct stats *s);
/* Forgets what was added. */
void stats_clear(struct stats *s);

/* The functions with calls, those that began untraced included, in the order of their first ones.
 */
size_t stats_function_count(const struct stats *s);
uint32_t stats_function(const struct stats *s, size_t i);
const struct function_stats *stats_of(const struct stats *s, uint32_t function);
/* The duration that PERCENT (1 … 100) of the calls did not exceed; errs by less than 1 %. 0: there
 * are none. */
uint64_t stats_percentile(const struct function_stats *f, unsigned percent);
