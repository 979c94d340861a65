/*
 * What a viewer asks of a trace, of any size: boxes to draw, statistics of a range, single calls.
 *
 * One pass over the trace, in threads of its own, makes the summary. Queries answer from the first
 * moment on: from what the pass has so far (boxes), or by reading the range (all others). All
 * numbers are those of `report` and `graph` with --since and --until; only boxes may be inexact,
 * and tell so.
 *
 * Times are nanoseconds since the trace's start. Functions and streams have the numbers of names.h
 * and reader.h. All functions but summary_start() and summary_free() may be called in any thread.
 */
#pragma once

#include <stdatomic.h>

#include "analyze/changes.h"
#include "analyze/histogram.h"
#include "analyze/stats.h"
#include "analyze/tree.h"

struct summary;

struct summary_options {
    const char *path;    /* of the trace */
    bool keep;           /* the summary is read from a file, or written to one */
    unsigned workers;    /* threads that read the trace; 0: one for each processor */
    uint64_t most_spans; /* calls that are kept one by one; 0: 1.5 Mi */
    size_t leaf_blocks;  /* the least blocks with statistics of their own; 0: 16 */
};

/* Begins the pass. READER is borrowed, and must not change. */
struct summary *summary_start(struct trace_reader *reader, const struct summary_options *options);
/* Stops the pass. No query runs any more. */
void summary_free(struct summary *s);

struct summary_state {
    uint64_t items, all_items; /* read so far */
    bool complete;
    bool from_file;        /* it was kept by an earlier run */
    uint64_t threshold_ns; /* calls of this length and shorter are not kept one by one */
    uint64_t spans;        /* calls that are kept */
};
struct summary_state summary_state(struct summary *s);
/* Waits until the pass has ended. */
void summary_wait(struct summary *s);

/* What a query is about. It returns -ECANCELED soon after *cancel is set. */
struct summary_range {
    uint64_t since_ns, until_ns; /* both included */
    const uint8_t *streams;      /* by stream: 1 if it is asked for; NULL: all */
    const atomic_bool *cancel;   /* or NULL */
    uint32_t most_paths; /* of a call graph; further ones are joined (TREE_REST). 0: no limit */
    void (*on_progress)(void *ctx, size_t items); /* so many more were read; any thread; or NULL */
    void *ctx;
};

/* ---- boxes ---- */

enum summary_flag {
    SUMMARY_DENSE = 1,    /* stands for several calls; `function` is one that takes most time, if
                             one takes more than all others */
    SUMMARY_BEFORE = 2,   /* began before it was traced */
    SUMMARY_CUT = 4,      /* ended in a gap */
    SUMMARY_UNWOUND = 8,  /* by an exception, or its end is inferred */
    SUMMARY_OPEN = 16,    /* still open at the end */
    SUMMARY_INEXACT = 32, /* of calls below the threshold: they are somewhere in the box */
};

struct summary_span {
    uint64_t start_ns, end_ns;
    uint32_t function, stream;
    uint32_t calls;
    uint16_t depth, flags; /* depth: callers of the same stack, at most 65 535 */
};
typedef ARRAY(struct summary_span) summary_span_list;

/* Boxes of all calls that overlap the range, by stream, depth, and start; wide dense ones before
 * others of their depth. A call as wide as a column has a box of its own. Narrower ones share a box
 * for each column. At most 2 · COLUMNS + 4 boxes a stream and depth. EXACT: no box is inexact. */
int summary_spans(struct summary *s, const struct summary_range *range, unsigned columns,
                  bool exact, summary_span_list *ret);
/* Calls of FUNCTION alone, all with depth 0. Exact. */
int summary_frames(struct summary *s, const struct summary_range *range, unsigned columns,
                   uint32_t function, summary_span_list *ret);
/* Events in COLUMNS columns of each stream, from the heads of blocks; RET[stream · COLUMNS + i]. */
void summary_density(struct summary *s, uint64_t since_ns, uint64_t until_ns, unsigned columns,
                     uint32_t *ret);
/* The most calls that are open at once in STREAM, as far as the pass has come. */
uint32_t summary_depth(struct summary *s, uint32_t stream);

/* ---- statistics ---- */

/* Those of `report --since --until`, with spreads. The caller frees *RET by stats_free(). */
int summary_functions(struct summary *s, const struct summary_range *range, struct stats **ret);
/* The call graph of `graph --since --until`, as of tree_read(). The caller ends RET by tree_done().
 */
int summary_graph(struct summary *s, const struct summary_range *range, struct tree *ret);
/* An estimate of the same in half a second: long calls are exact, short ones are those of some
 * blocks, scaled up. *RET_SHARE of the blocks were read; 1: it is exact. */
int summary_graph_quick(struct summary *s, const struct summary_range *range, struct tree *ret,
                        double *ret_share);

/* ---- single calls ---- */

struct summary_call {
    uint64_t start_ns, end_ns, duration_ns, self_ns;
    uint64_t clipped_self_ns; /* private */
    uint32_t function, stream, depth;
    uint32_t end_stream; /* where it ended */
    uint32_t caller;     /* function; WALK_NONE: none, or not known */
    enum call_end how;
    bool before, inferred;
};
typedef ARRAY(struct summary_call) summary_call_list;
/* C as a walk (analyze/walk.h) shows it. NAMES are the walk's. */
struct summary_call summary_call_of(const struct walk_call *c, struct names *names);

enum summary_order { SUMMARY_SLOWEST, SUMMARY_BY_TIME };
struct summary_calls_query {
    uint32_t function;
    enum summary_order order;
    uint64_t least_ns, most_ns; /* of durations, both included */
    size_t first, limit;        /* so many are left out; at most so many are returned */
};
/* The calls of a function that overlap the range. Calls that were cut or had begun before have no
 * known duration: they are listed by time only, and if no duration is asked for. *RET_MORE: there
 * are more. */
int summary_calls(struct summary *s, const struct summary_range *range,
                  const struct summary_calls_query *query, summary_call_list *ret, bool *ret_more);
/* The first call of FUNCTION that starts after AT, and the last one that starts before. 1: *RET is
 * set; 0: there is none. RANGE has the streams. */
int summary_next(struct summary *s, const struct summary_range *range, uint32_t function,
                 uint64_t at_ns, struct summary_call *ret);
int summary_previous(struct summary *s, const struct summary_range *range, uint32_t function,
                     uint64_t at_ns, struct summary_call *ret);

/* ---- marks ---- */

enum summary_mark_kind { MARK_LOST, MARK_PAUSE, MARK_CUT, MARK_PROBE, MARK_CHANGE, MARK_DEATH };
struct summary_mark {
    enum summary_mark_kind kind;
    uint32_t stream; /* WALK_NONE: of no thread, or not known of which */
    uint64_t start_ns, end_ns;
    uint64_t count;         /* MARK_LOST: events; MARK_CUT: calls */
    bool in_call;           /* MARK_PAUSE: in a blocking system call: it is part of durations */
    enum pause_cause cause; /* MARK_PAUSE */
    uint32_t function;      /* MARK_PROBE: the place, as in names.h */
    uint32_t joined;        /* how many this one stands for */
    const struct trace_change *change; /* MARK_CHANGE; the reader's */
    const struct trace_death *death;   /* MARK_DEATH; the reader's */
};
typedef ARRAY(struct summary_mark) summary_mark_list;
struct summary_marks_query {
    size_t limit;
    bool last;        /* the last ones of the range are wanted, not the first ones */
    unsigned columns; /* marks that are alike and lie in one of so many columns of the range become
                         one; 0: none do */
};
/* The marks of the range so far, in order of time. *RET_COUNT: how many there are without a limit.
 */
void summary_marks(struct summary *s, const struct summary_range *range,
                   const struct summary_marks_query *query, summary_mark_list *ret,
                   size_t *ret_count);
