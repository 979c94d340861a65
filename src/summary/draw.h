/* Makes the boxes of one stream (summary_spans()) from calls and from counts of calls. */
#pragma once

#include "summary/summary.h"

struct draw_cell { /* narrow calls of one depth and column */
    uint64_t column;
    uint64_t start_ns, end_ns;
    uint64_t weight; /* of `function`, above that of all others */
    uint32_t function, calls;
    uint16_t flags;
};

struct draw {
    uint64_t since_ns, until_ns, width_ns; /* of a column */
    uint32_t stream;
    ARRAY(struct draw_cell) cells; /* by depth; without calls: none is begun */
    summary_span_list *to;
    size_t first; /* the stream's in TO */
};

/* What is drawn: a call, or several that are narrow (SUMMARY_DENSE). */
struct draw_box {
    uint64_t start_ns, end_ns;
    uint64_t weight; /* the time that it takes */
    uint32_t function, calls;
    uint32_t depth;
    uint16_t flags;
};

/* RANGE ends at or before the trace. */
void draw_begin(struct draw *d, const struct summary_range *range, unsigned columns,
                summary_span_list *to);
void draw_stream(struct draw *d, uint32_t stream);
/* Those of a depth come in order of time. A box outside the range is ignored. */
void draw_add(struct draw *d, const struct draw_box *box);
/* Ends the stream: sorts its boxes. */
void draw_end_stream(struct draw *d);
void draw_done(struct draw *d);

/* The flags of a call that has ended. */
uint16_t draw_flags(const struct walk_call *call);
