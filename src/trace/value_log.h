/*
 * The values of one stream's events on their way into blocks (doc/trace-format.md, "values").
 * Values come before their events. Those whose event never comes, since -D or -t leave it out, are
 * dropped when a later event comes.
 */
#pragma once

#include "base/mem.h"
#include "trace/block.h"
#include "trace/captures.h"
#include "trace/format.h"

struct value_log;

/* What was captured for one event. */
struct event_values {
    uint64_t ticks;  /* of the event */
    uint32_t number; /* of the capture */
    const struct numbered_capture *capture;
    const uint64_t *words; /* by number (wire/ring.h) */
    const uint64_t *there; /* bitmap: words that were read */
};

/* The values of some events, in the order of these, on their way to a log. */
struct value_batch {
    ARRAY(struct waiting_values) list;
    ARRAY(uint64_t) words; /* a bitmap and words of each */
};
struct waiting_values {
    uint64_t ticks;
    const struct numbered_capture *capture;
    uint32_t number;
    size_t at; /* of the bitmap */
};
void value_batch_put(struct value_batch *b, const struct event_values *values);
void value_batch_done(struct value_batch *b);

struct value_log *value_log_new(void);
void value_log_free(struct value_log *log); /* may be NULL */
void value_log_put(struct value_log *log, const struct value_batch *b);
/* EVENTS became the items from number FIRST on of the stream's present block. */
void value_log_match(struct value_log *log, const struct trace_event *events, size_t count,
                     uint32_t first);
/* Whether the present block has so many values that it should end. */
bool value_log_full(const struct value_log *log);
/* The block STREAM of events that begins at TICKS is complete: calls PUSH with each block of its
 * values. CAPTURE is called before with each capture that these blocks have, perhaps more than
 * once. */
struct value_sink {
    void (*push)(void *ctx, struct block *block);
    void (*capture)(void *ctx, uint32_t number, const struct numbered_capture *capture);
    void *ctx;
};
void value_log_take(struct value_log *log, uint32_t stream, uint64_t ticks,
                    const struct value_sink *sink);

/* The record of a capture. */
struct block *record_capture(uint32_t number, const struct numbered_capture *n);
