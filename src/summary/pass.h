/* The pass over the trace that makes a summary. */
#pragma once

#include <pthread.h>

#include "summary/block_sums.h"
#include "summary/listed_calls.h"
#include "summary/marks.h"
#include "summary/nodes.h"
#include "summary/plan.h"
#include "summary/session.h"
#include "summary/slowest_calls.h"
#include "summary/store.h"

enum { PASS_FANOUT = 8, PASS_LEVELS = 3 };

/* What the pass makes. With LOCK, written by the pass alone until it has ended. */
struct pass {
    struct trace_reader *reader;
    struct session_pool *sessions;
    struct names *names; /* while it runs */
    pthread_rwlock_t lock;
    uint32_t functions;
    struct plan plan;
    size_t leaf_blocks;
    uint8_t *torn;  /* by stream: 1 if that was found (plan.h) */
    bool must_plan; /* one was found since the plan was made */
    bool any_torn;
    struct store *store;
    struct slow slow;
    struct marks marks;
    struct listed_stream *listed; /* by stream */
    struct around_list *arounds;  /* by block */
    struct {
        struct node *at;
        size_t count;
    } levels[PASS_LEVELS]; /* the leaves; of PASS_FANOUT nodes each of the level below; … */
    bool has_mapped_nodes; /* their bytes are in a file */
    struct block_limits limits;
    uint64_t all_items, most_spans;
    atomic_ullong items; /* read so far */
    atomic_bool stop;
    bool complete; /* all was read */
};

void pass_init(struct pass *p, struct trace_reader *reader, struct session_pool *sessions,
               const struct summary_options *options);
/* Reads the trace, unless it is stopped. The caller sets `complete`. */
void pass_run(struct pass *p);
/* Forgets what was read. */
void pass_reset(struct pass *p);
void pass_done(struct pass *p);
