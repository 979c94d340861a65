/*
 * Follows one thread's ring, which is overwritten, and notices when a trigger fires. Calls are
 * those of trace/calls.h. While no call of a function with a trigger is open, only the ids of
 * events are looked at. Drainer only.
 */
#pragma once

#include "ring/lanes.h"
#include "ring/open_stack.h"
#include "select/triggers.h"

struct watch;

struct watched {      /* what came since the last look */
    unsigned fill;    /* in percent of the ring; 0: nothing */
    unsigned hits;    /* how often triggers fired */
    const char *why;  /* the first trigger, as typed */
    uint64_t skipped; /* events overwritten before the look */
};

struct watch *watch_new(const struct lane_handle *handle);
void watch_free(struct watch *w);
/* What a snapshot of W's ring, which begins with the event at position AT and TICKS, needs besides:
 * the call that has fired a trigger last, and all callers that are still open. */
struct watch_memory {
    bool known;                             /* no other call is open */
    ARRAY(struct trace_event) events;       /* before TICKS, in order of time */
    ARRAY(struct trace_frame) still_opened; /* of the thread's lane_handle.opened */
};
void watch_recall(const struct watch *w, const struct lane_handle *handle, uint64_t at,
                  uint64_t ticks, struct watch_memory *ret);
/* Skipped events may have ended open calls: those calls are not measured. Pauses do not count for a
 * call's length. */
void watch_look(struct watch *w, struct lane_handle *handle, const struct trigger_table *table,
                struct watched *ret);
