/* Statistics of functions, for `spoor report`. */
#pragma once

#include "analyze/caller_groups.h"
#include "analyze/histogram.h"
#include "analyze/spread.h"
#include "analyze/walk.h"

struct function_stats {
    uint64_t calls;
    uint64_t total_ns; /* of all periods with an open call, by the thread in which the calls began;
                          periods with brief calls only do not count, nor do pauses */
    uint64_t self_ns;
    uint64_t paused_ns;         /* of pauses in those periods */
    uint64_t min_ns, max_ns;    /* of measured calls: not cut, not open */
    uint64_t unwound, inferred; /* inferred calls are unwound calls, too */
    uint64_t cut;               /* calls that ended in a gap: their length is not known */
    uint64_t open;              /* calls that were open when the recording ended: likewise */
    uint64_t clipped;           /* calls that began before the span, or ended behind it */
    uint64_t before;      /* calls that began untraced: they count only in total and self time */
    struct spread spread; /* of measured calls; if it is wanted */
    struct histogram durations;
    struct period {         /* private: a time in which one thread has an open call */
        uint64_t since_ns;  /* when the first one began */
        uint64_t paused_ns; /* the thread's pauses until then */
        uint32_t open;      /* number of open calls */
        bool lasting;       /* a call that was not brief has ended in it */
    } period;               /* of the thread that is being read */
};

struct stats;
/* GROUPS: count by group; then "function" below is a group's number. NULL: count by function. */
struct stats *stats_new(const struct source *source, const struct caller_groups *groups);
/* Averages and deviations will be asked for. Before anything is added. */
void stats_want_spreads(struct stats *s);
void stats_free(struct stats *s);
/* Adds the calls of the stream group INDEX. EACH[i] gets those that began in its ith stream. */
void stats_add_stream_group(struct stats *const *each, size_t index);
/* Adds those of the stream group INDEX, whatever its streams. */
void stats_add_group(struct stats *s, size_t index);
void stats_add_all(struct stats *s);
/* Adds calls that ended elsewhere: a call of FUNCTION that is over, whose total time is *CALL's, if
 * it counts (IS_OUTERMOST); calls of digests; and their total time. */
struct digest_function;
struct digest_rare;
void stats_add_call(struct stats *s, const struct walk_call *call, bool is_outermost);
void stats_add_digest(struct stats *s, uint32_t function, const struct digest_function *from,
                      const struct digest_rare *rare);
void stats_add_total(struct stats *s, uint32_t function, uint64_t total_ns);
/* Removes all that was added. */
void stats_clear(struct stats *s);

/* The number of threads with calls, by the functions above that read streams. */
uint32_t stats_thread_count(const struct stats *s);
/* The functions with calls, also calls that began untraced. The order says nothing. */
size_t stats_function_count(const struct stats *s);
uint32_t stats_function(const struct stats *s, size_t i);
const struct function_stats *stats_of(const struct stats *s, uint32_t function);
/* The calls whose whole length is known. */
static inline uint64_t stats_measured(const struct function_stats *f) {
    return f->calls - f->cut - f->open;
}
/* The duration that PERCENT (1 … 100) of the measured calls did not exceed; errs by less than 1 %.
 * 0: none. */
uint64_t stats_percentile(const struct function_stats *f, unsigned percent);
/* Of the durations of the measured calls; 0: none. */
uint64_t stats_average(const struct function_stats *f);
uint64_t stats_deviation(const struct function_stats *f);
