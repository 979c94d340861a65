/* What changed while a trace was recorded: pauses, other functions chosen, processes that spoor
 * left. Times are nanoseconds since the trace's start. */
#pragma once

#include "analyze/view_filter.h"
#include "base/mem.h"

struct change {
    enum trace_change_kind kind; /* TRACE_PAUSED, TRACE_CHOSEN or TRACE_LEFT */
    uint32_t pid;                /* 0: all processes */
    uint64_t ns;
    uint64_t end_ns; /* a pause's end; otherwise the same as ns */
    bool open;       /* a pause that lasted to the end of the trace */
    const struct trace_change *record;
};

struct changes {
    ARRAY(struct change) list; /* ascending by time */
    size_t pauses, choices;
};

/* R must outlive RET, which points to R's records. */
void changes_read(const struct trace_reader *r, struct changes *ret);
/* Keeps the changes that FILTER shows: inside its span, in processes of which it shows threads.
 * Cuts off a pause where the span begins and ends. */
void changes_show(struct changes *c, const struct view_filter *filter,
                  const struct trace_reader *r);
/* For how long some process was paused. */
uint64_t changes_paused_ns(const struct changes *c);
void changes_done(struct changes *c);
