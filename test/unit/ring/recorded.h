/* Traces that a test writes and reads back. */
#pragma once

#include "../trace/support.h"

struct recorded_gap {
    size_t before; /* number of items before it */
    uint64_t ticks, lost;
};

struct recorded_pause {
    size_t before; /* number of items before it */
    uint64_t begin, end;
    uint32_t id;
};

struct recorded {
    ARRAY(struct trace_item) items; /* the events of one stream, in order, without pauses */
    ARRAY(struct recorded_pause) pauses;
    ARRAY(struct recorded_gap) gaps;
    uint64_t lost;
    bool ended;
};

/* Finishes the trace at PATH and reads STREAM. */
void recorded_read(struct trace_writer *w, const char *path, uint32_t stream, struct recorded *ret);
void recorded_done(struct recorded *r);

/* Declares a thread, so that its stream can be read. */
void recorded_thread(struct trace_writer *w, uint32_t stream);
