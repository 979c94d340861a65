/*
 * What the pass makes of a block (analyze/digest.h): statistics of functions; long calls and the
 * slowest of each function, one by one; for each depth the number of all other calls.
 */
#pragma once

#include <stdatomic.h>

#include "analyze/digest_stats.h"

enum block_single {
    SINGLE_LONG = 1, /* longer than the threshold */
    SINGLE_SLOW = 2  /* not faster than the function's limit */
};

/* Limits of the calls that are why; they only rise. */
struct block_limits {
    atomic_ullong threshold_ns;
    atomic_ullong *slow_ns; /* by function */
};

struct block_sums { /* a part (digests.h) */
    const struct block_limits *limits;
    struct digest_stats *stats;
    const struct digest_frame *frames; /* of the reader */
    struct trace_scale scale;
    const uint32_t *functions;         /* the same, by id's number in the block */
    ARRAY(struct digest_level) levels; /* of the present step, by depth; without calls: none */
    ARRAY(struct digest_call) calls;   /* of the present step */
    uint64_t threshold_ns;
    uint32_t depth_count; /* levels in use */
    enum event_kind exit;
    enum block_single why; /* the last call that ended was */
};

struct block_sums *block_sums_new(uint32_t function_count, const struct block_limits *limits);
/* For struct digest_ops. */
void block_sums_free(void *part);
void block_sums_read(void *part, struct digest_reader *r, struct digest *to);
