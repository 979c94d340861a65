/* Statistics of functions: CONTRACT.md's "report". */
#ifndef SPOOR_ANALYZE_STATS_H
#define SPOOR_ANALYZE_STATS_H

#include "analyze/histogram.h"
#include "analyze/walk.h"

struct function_stats {
    uint64_t calls;
    uint64_t
        total_ns; /* of all periods in which a call was open, by thread; not if all were brief */
    uint64_t self_ns;
    uint64_t min_ns, max_ns;
    uint64_t unwound, inferred; /* the latter are among the former */
    uint64_t before; /* calls that began untraced: they count in total and self time alone */
    struct histogram durations;
    uint64_t busy_since_ns; /* private: the present thread's outermost open call began then */
    uint32_t open;          /* private: how many are */
    bool lasting;           /* private: one that was not brief has ended since then */
};

struct stats;
struct stats *stats_new(const struct source *source);
void stats_free(struct stats *s);
/* Adds what one stream holds. */
void stats_add_stream(struct stats *s, uint32_t stream);
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

#endif
