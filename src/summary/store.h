/*
 * Calls to draw. Calls longer than the threshold are kept one by one, by stream, in the order of
 * their ends. All others are counted: each block of events has, for each depth, the time from the
 * first to the last of its calls (by their ends). It also has a function that takes most of that
 * time. The threshold starts at 0. It is the least power of two for which at most STORE_SPANS calls
 * are kept; a larger one, if a trace's beginning has many more long calls than the rest.
 *
 * Not for several threads at once.
 */
#pragma once

#include "summary/draw.h"

enum { STORE_SPANS = 3 << 19, STORE_CHUNK = 1024 };

struct kept_span {
    uint64_t start_ns, end_ns;
    uint32_t function;
    uint16_t depth, flags;
};

struct dense { /* counted calls of one depth in one block */
    uint64_t start_ns, end_ns;
    float weight; /* ns of `function`, above those of all others (draw.c) */
    uint32_t function, calls;
    uint32_t depth;
};

struct span_chunk {
    struct kept_span *at; /* STORE_CHUNK spans; all chunks but the last one are full */
    uint64_t least_start_ns;
    bool is_mapped; /* in a file */
};

/* Without room: in a file. */
struct dense_list {
    struct dense *at; /* by depth, ascending */
    uint32_t count, room;
};

struct stream_store {
    ARRAY(struct span_chunk) chunks;
    size_t spans;
    uint32_t depth; /* the most open calls */
    size_t block;   /* the present one */
};

/* The number of spans in chunk K. */
static inline size_t store_chunk_spans(const struct stream_store *t, size_t k) {
    size_t left = t->spans - k * STORE_CHUNK;
    return left < STORE_CHUNK ? left : STORE_CHUNK;
}

struct store {
    const struct trace_reader *reader;
    struct stream_store *streams;
    struct dense_list *dense; /* by block */
    size_t stream_count, block_count;
    uint64_t threshold_ns;
    uint64_t spans, most_spans; /* in all streams; the limit */
    double share;               /* of the trace that was read; 1: not known */
};

/* MOST_SPANS: STORE_SPANS, or less in tests. */
struct store *store_new(const struct trace_reader *reader, uint64_t most_spans);
void store_free(struct store *s);
/* Adds a call of STREAM, or several (SUMMARY_DENSE) that end in one block. In order of their ends.
 */
void store_add(struct store *s, uint32_t stream, const struct draw_box *box);
/* Draws STREAM's calls; D has the range. */
void store_draw(const struct store *s, uint32_t stream, struct draw *d);
