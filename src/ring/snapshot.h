/*
 * A snapshot: copies of rings, made while their threads run, and the trace written from them.
 */
#pragma once

#include "ring/lanes.h"
#include "ring/trigger_watch.h"
#include "trace/writer.h"

struct ring_image { /* a copy of one thread's ring */
    struct trace_thread thread;
    char name[THREAD_NAME_ROOM];
    struct event *events, *first; /* allocated; the first whole one */
    size_t count;
    uint64_t at; /* position of the first (rings.h): what was before is lost */
    struct epochs epochs;
    struct trace_frames opened; /* calls open before the first; none if something is lost */
    bool shared;                /* lane_handle.shared */
    struct pauses pauses;       /* between the events */
    uint64_t lost;              /* events before the first, unless `memory` makes up for them */
    uint64_t overwritten;       /* likewise, if it does */
    struct watch_memory memory; /* with --trigger: calls that the ring does not hold */
    const struct captures *captures; /* lane_handle.values.captures */
    struct callers *callers;         /* lane_handle.callers; NULL: not recorded */
    bool ended;
    uint64_t end_ticks; /* if ended */
};

/* Copies the newest MOST_BYTES of HANDLE's ring. Drainer only. */
struct ring_image ring_image_take(struct lane_handle *handle, uint64_t most_bytes);
/* How many events it holds, without slots of slices. */
uint64_t ring_image_events(const struct ring_image *image);
void ring_image_done(struct ring_image *image);

struct snapshot {
    uint32_t number;
    const char *reason;
    struct trace_clock clock; /* when it was taken */
    ARRAY(struct ring_image) images;
};
void snapshot_free(struct snapshot *s);

struct snapshot_options {
    struct trace_writer *writer; /* the recording's, for trace_writer_branch() */
    const char *output;          /* the number is appended */
    uint32_t depth;
    uint64_t threshold_ticks;
};

struct snapshot_facts {
    uint64_t events, threads; /* threads with events */
    uint64_t span_ticks;      /* from the first to the last of them */
};

/* Writes S, and frees its images meanwhile. Errors: of trace_writer_open(), "write", "rename". */
int snapshot_write(struct snapshot *s, const struct snapshot_options *options,
                   struct snapshot_facts *ret, struct err *err);
