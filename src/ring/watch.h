/*
 * Follows one thread's ring, which is overwritten, and notices when a trigger fires. Calls are
 * those of trace/calls.h. While no call of a function with a trigger is open, only the ids of
 * events are looked at. Drainer only.
 */
#pragma once

#include "ring/lanes.h"
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
/* Skipped events may have ended open calls: those calls are not measured. Pauses do not count for a
 * call's length. */
void watch_look(struct watch *w, struct lane_handle *handle, const struct trigger_table *table,
                struct watched *ret);
