/*
 * The values of events: arguments, results. Reads blocks of values only when they are asked for.
 */
#pragma once

#include "trace/reader.h"
#include "types/types.h"
#include "values/capture.h"

/* Whether the trace has values; how many captures it describes. */
bool trace_reader_has_values(const struct trace_reader *r);
size_t trace_reader_capture_count(const struct trace_reader *r);
/* Values are read late: ON_DAMAGE is called, by the thread that reads, for each block of values
 * that is left out, perhaps more than once for one block. */
void trace_reader_watch_values(struct trace_reader *r,
                               void (*on_damage)(void *ctx, const struct err *err), void *ctx);
/* Their types. The graph lives as long as R; one thread at a time uses it. */
struct types *trace_reader_types(const struct trace_reader *r);
/* Capture I of those. *RET_ID: the event id of its function. Of its values only what a reader needs
 * is set: name, type, at, shift, width, format, pointee, missing, bytes, string, unit, most,
 * length_of; `from` is FROM_NOTHING, FROM_CONSTANT (with `constant`) or, if it was recorded,
 * FROM_REGISTER. */
const struct capture *trace_reader_capture(const struct trace_reader *r, size_t i,
                                           uint32_t *ret_id);

/* What was captured at one event. Valid until the next call with the same reader of values. */
struct trace_occurrence {
    const struct capture *capture;
    const struct captured *values; /* capture->count of them */
};

/* Looks values up in one stream after the other; for one thread. Fast where ticks ascend. */
struct trace_values;
struct trace_values *trace_values_new(struct trace_reader *r);
void trace_values_free(struct trace_values *v); /* may be NULL */
/* The values of the event of STREAM at TICKS with ID and KIND. False: there are none. */
struct trace_event_key {
    uint32_t stream, id;
    enum event_kind kind;
    uint64_t ticks;
};
bool trace_values_find(struct trace_values *v, const struct trace_event_key *event,
                       struct trace_occurrence *ret);
/* Occurrence I of BLOCK (trace_reader_block()), in the order of events, and of which event it is.
 * False: there are no more. */
bool trace_values_at(struct trace_values *v, size_t block, size_t i, struct trace_event_key *event,
                     struct trace_occurrence *ret);
