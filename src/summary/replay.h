/*
 * Reads single blocks of regular streams (plan.h), after the pass: the calls that begin and end in
 * them, as digests see them. What is around these calls, the pass has noted (listed_calls.h).
 * Blocks are read on all processors.
 */
#pragma once

#include "summary/state.h"

/* A call that began and ended in the block; or a listed one. */
struct replayed {
    uint64_t start_ns, end_ns, duration_ns, self_ns;
    uint32_t function, stream, depth;
    uint32_t caller; /* function; WALK_NONE */
    enum call_end how;
    bool before, inferred;
};

/* The blocks that overlap RANGE in the streams that it asks for. */
/* An ARRAY of blocks to read. They are this share of those in a range; 0: all of them. */
typedef struct {
    struct plan_block *at;
    size_t count, room;
    double share;
} replay_blocks;
replay_blocks replay_blocks_of(const struct summary *s, const struct summary_range *range);

/* Adds to STATS what the blocks' calls add to RANGE. */
int replay_functions(struct summary *s, const struct summary_range *range,
                     const replay_blocks *blocks, struct stats *stats);
/* The same of the call graph. SESSION shows the range. */
int replay_graph(struct summary *s, const struct summary_range *range, const replay_blocks *blocks,
                 const struct session *session, struct tree *tree);

/* Calls EACH with CTXS[i] for the calls of blocks.at[FIRST[i] … FIRST[i + 1] − 1], I < COUNT, in
 * the order of their ends in each block. FUNCTION: only its calls; WALK_NONE: all. */
struct replay_shares {
    const replay_blocks *blocks;
    const size_t *first;
    size_t count;
    void **ctxs;
    void (*each)(void *ctx, const struct replayed *call);
    uint32_t function;
};
int replay_calls(struct summary *s, const struct summary_range *range,
                 const struct replay_shares *shares);
/* A listed call of STREAM. */
struct replayed replay_listed(const struct summary *s, uint32_t stream, uint32_t number);
