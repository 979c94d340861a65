/*
 * What has changed while a trace was recorded: pauses, other functions chosen, processes that were
 * left. Times are nanoseconds since the trace's start.
 */
#pragma once

#include "analyze/view_filter.h"
#include "base/mem.h"

struct change {
    enum trace_change_kind kind; /* TRACE_PAUSED, TRACE_CHOSEN or TRACE_LEFT */
    uint32_t pid;                /* 0: all processes */
    uint64_t ns;
    uint64_t end_ns; /* of a pause; otherwise the same as ns */
    bool open;       /* of a pause: it lasted as long as the trace */
    const struct trace_change *record;
};

struct changes {
    ARRAY(struct change) list; /* in order of time */
    size_t pauses, choices;
};

/* RET's records are R's. */
void changes_read(const struct trace_reader *r, struct changes *ret);
/* Those that FILTER shows: inside of its span, in processes of which it shows threads. A pause that
 * lies in it in part is cut off where it begins. */
void changes_show(struct changes *c, const struct view_filter *filter,
                  const struct trace_reader *r);
/* In how much of the time some process was paused. */
uint64_t changes_paused_ns(const struct changes *c);
void changes_done(struct changes *c);
