/*
 * Encodes the events of one stream into blocks.
 *
 * The encoder keeps a shadow of the thread's stack and predicts from it. A return of the top frame,
 * as most exits are, becomes the single code 0. An entry becomes its function's number in the
 * block's dictionary; its stack pointer is predicted from the step that the same caller made last.
 * Wrong predictions get explicit corrections. Only the encoder decides when frames are forgotten
 * and when another shadow is used (coroutines); the decoder follows the codes.
 *
 * Every block starts with an empty shadow and an empty dictionary, so it can be decoded alone.
 */
#pragma once

#include "trace/block.h"
#include "trace/format.h"
#include "wire/ring.h"

struct encoder;

/* OWN_LOW and OWN_BYTES: the thread's own stack; 0: unknown. */
struct encoder *encoder_new(uint64_t own_low, uint64_t own_bytes);
void encoder_free(struct encoder *e);

/* Adds EVENTS to the current block and returns how many were added. Fewer than COUNT: the block is
 * full; take it and call again. */
size_t encoder_events(struct encoder *e, const struct trace_event *events, size_t count);
/* The same for events in a ring, written until LATEST (ticks). It also stops at an event that is
 * for the ring's reader only: a wait for room, or a part of a slice. */
size_t encoder_ring(struct encoder *e, const struct event *at, size_t count, uint64_t latest);
/* Each adds one item, even if the block is full. */
void encoder_lost(struct encoder *e, uint64_t ticks, uint64_t count);
void encoder_thread_end(struct encoder *e, uint64_t ticks);

/* All that was added since encoder_new(); `bytes` is 0. */
struct trace_totals encoder_totals(const struct encoder *e);
/* What the events tell since encoder_new(). */
struct encoder_facts {
    uint64_t low, high; /* of stack pointers; UINT64_MAX, 0: no events yet */
    uint64_t missed;    /* entries with CHAIN_MISSED */
    uint64_t controls;  /* control events with stack pointers */
    struct trace_pauses pauses;
    bool met_inner; /* an event on the thread's own stack seemed to leave calls, of which one may
                       have returned later (trace_extent.inner_stacks). A call that is open where a
                       block ends is not followed. */
};
const struct encoder_facts *encoder_facts(const struct encoder *e);
/* Ticks of the present block's first item, which must exist. */
uint64_t encoder_first(const struct encoder *e);
/* How many items the present block has. */
uint32_t encoder_items(const struct encoder *e);
/* Ticks of the last item. */
uint64_t encoder_last(const struct encoder *e);
/* From the present block on, which is empty, CALLS gets each block that is taken
 * (open_calls_take()). */
struct open_calls;
void encoder_follow(struct encoder *e, struct open_calls *calls);
bool encoder_full(const struct encoder *e);
bool encoder_empty(const struct encoder *e); /* the present block has no items */
/* Returns the current block and begins a new one. NULL: it is empty. */
struct block *encoder_take(struct encoder *e, uint32_t stream);
