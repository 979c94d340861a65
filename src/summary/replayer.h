/* The state of one thread that reads blocks again (replay.h), for its hooks. */
#pragma once

#include "analyze/digest_stats.h"
#include "analyze/walk_ticks.h"
#include "summary/replay.h"

struct replayer {
    struct summary *summary;
    uint64_t since_ns, until_ns; /* of the range */
    struct digest_reader reader;
    struct digest digest; /* unused results */
    struct replayer *next;
    /* The present block: */
    uint32_t stream;
    const struct listed_stream *listed;
    const struct around_list *arounds;
    uint32_t step; /* of its STEP_CALLS, the present one */
    /* The calls around the present step, the outermost first: */
    ARRAY(uint32_t) chain, pending;
    uint32_t chain_stream;
    void (*enter)(struct replayer *r, const struct listed *l);
    void (*leave)(struct replayer *r, const struct listed *l);
    /* Functions: */
    struct digest_stats *sums;
    uint64_t *totals;
    uint32_t *outer; /* calls of the chain, by function */
    /* The call graph: */
    struct tree tree;
    ARRAY(uint32_t) nodes; /* of the chain */
    uint32_t root, base;
    const struct session *session;
    bool several;
    /* Single calls: */
    void *ctx;
    void (*each)(void *ctx, const struct replayed *call);
    uint32_t function;
    enum event_kind exit;
    struct replayed held; /* the last one; whether it was unwound is not known yet */
    bool holds;
};

/* Whether a call that has begun or ended outside of the range is clipped there. */
static inline bool replayer_clips(const struct replayer *r, uint64_t start_ns, uint64_t end_ns) {
    return start_ns < r->since_ns || end_ns > r->until_ns;
}

/* The own time of F's call, which took DURATION. */
static inline uint64_t replayer_self(const struct replayer *r, const struct digest_frame *f,
                                     uint64_t duration) {
    return replayer_clips(r, f->start_ns, f->start_ns + duration)
               ? walk_ticks_self(&r->reader.scale, duration, f->callees)
               : duration - f->callees_ns;
}

/* The call around the present step; NULL: none. */
static inline const struct listed *replayer_around(const struct replayer *r) {
    uint32_t i = r->step < r->arounds->count ? r->arounds->at[r->step] : LISTED_NONE;
    return i < r->listed->calls.count ? &r->listed->calls.at[i] : NULL;
}

/* Calls enter() and leave() until the chain is that of the present step. */
void replayer_move(struct replayer *r);
/* Reads BLOCK with HOOKS. */
typedef void replay_hooks(struct replayer *r);
void replayer_read(struct replayer *r, const struct plan_block *block, replay_hooks *hooks);

/* Runs BODY for each I < COUNT on all processors, each time with a replayer; then DONE with each
 * replayer, one after the other, and frees it. INIT prepares a replayer. */
struct replay_work {
    struct summary *summary;
    const struct summary_range *range;
    void *ctx;
    void (*init)(struct replayer *r, void *ctx);
    void (*body)(struct replayer *r, void *ctx, size_t index);
    void (*done)(struct replayer *r, void *ctx);
};
int replay_run(const struct replay_work *work, size_t count);
