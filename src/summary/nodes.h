/*
 * Statistics of functions as bytes, of the calls that begin and end in one block, of some blocks.
 * All are numbers as of trace/varint.h:
 *
 *     sums     { function, bytes of the entry, self, min, max − min, unwound, sum, squares (2),
 *                { bucket } … }, compressed
 *     bucket   steps from the one before and calls: steps + 16 · (calls − 1) in one byte, if that
 * is less than 240 and steps are less than 16; else 0xff, steps, calls totals   { function, total
 * time, calls, max }
 */
#pragma once

#include "analyze/digest_stats.h"
#include "analyze/stats.h"
#include "trace/block.h"

enum { NODE_MARGIN = 16 }; /* bytes that can be read behind totals */
struct node {              /* zeroed: none */
    const uint8_t *sums, *totals;
    size_t sums_size, raw_size, totals_size; /* bytes; RAW_SIZE: of sums that are not compressed */
};

/* A node of the sums of FROM, and of total times by function. */
struct node node_make(const struct digest_stats *from, const uint64_t *totals);
void node_free(struct node *node);

/* The number of calls of FUNCTION, and the longest. */
uint64_t node_calls(const struct node *node, uint32_t function, uint64_t *ret_most_ns);

/* Adds nodes to statistics of COUNT functions. */
struct node_adder {
    uint32_t count;
    struct stats *stats;       /* or: */
    struct digest_stats *sums; /* and, if it is not NULL: */
    uint64_t *totals;
    struct digest_function scratch;
};
void node_add(struct node_adder *a, const struct node *node);
void node_adder_done(struct node_adder *a);
