/* Makes the boxes of one stream (summary_spans()) from calls and from counts of calls. */
#pragma once

#include "summary/summary.h"

struct draw_row { /* one depth */
    /* Narrow calls of one column; without calls: there is none. */
    uint64_t column;
    uint64_t start_ns, end_ns;
    uint64_t weight; /* of `function`, above that of all others */
    uint32_t function, calls;
    uint16_t flags;
    summary_span_list inexact, boxes; /* wide inexact ones; all others */
};

struct draw {
    uint64_t since_ns, until_ns, width_ns; /* of a column */
    uint32_t stream;
    ARRAY(struct draw_row) rows; /* by depth */
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
                uint32_t stream);
/* Those of a depth come about in the order of their ends. A box outside the range is ignored. */
void draw_add(struct draw *d, const struct draw_box *box);
/* No box follows. Returns how many there are. */
size_t draw_end(struct draw *d);
/* Moves them to TO, and frees D's memory. */
void draw_move(struct draw *d, struct summary_span *to);

/* The flags of a call that has ended. */
uint16_t draw_flags(enum call_end how, bool before, bool inferred);
