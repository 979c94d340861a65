/*
 * Statistics of functions as bytes, of the calls that begin and end in one block, of some blocks. A
 * node has two parts: sums, and total times (which are known later).
 *
 *     sums     { function, bytes of the entry, self, min, max − min, unwound, sum, squares (2),
 *                { bucket } … }
 *     bucket   steps from the one before and calls: steps + 16 · (calls − 1) in one byte, if that
 * is less than 240 and steps are less than 16; else 0xff, steps, calls totals   { function, ns }
 *
 * All are numbers as of trace/varint.h.
 */
#pragma once

#include "analyze/digest_stats.h"
#include "analyze/stats.h"
#include "trace/block.h"

enum { NODE_MARGIN = 16 }; /* bytes that can be read behind a node */
struct node {
    const uint8_t *at; /* NULL: none */
    size_t size;
};

/* Appends what FROM has. */
void node_put_sums(struct bytes *to, const struct digest_stats *from);
/* Appends those of TOTALS[0 … COUNT − 1], by function, that are not 0. */
void node_put_totals(struct bytes *to, const uint64_t *totals, uint32_t count);
/* Makes a node of what FROM has, and empties it. The node is freed by free(). */
struct node node_make(struct bytes *from);

/* The number of calls of FUNCTION in SUMS, and the longest. */
uint64_t node_calls(struct node sums, uint32_t function, uint64_t *ret_most_ns);

/* Adds nodes to statistics of COUNT functions. */
struct node_adder {
    uint32_t count;
    struct stats *stats;       /* or: */
    struct digest_stats *sums; /* and their totals */
    uint64_t *totals;
    struct digest_function scratch;
};
void node_add_sums(struct node_adder *a, struct node sums);
void node_add_totals(struct node_adder *a, struct node totals);
void node_adder_done(struct node_adder *a);
