/*
 * struct trace_writer, shared by the files that implement it:
 *   writer.c           events and metadata to blocks
 *   part_open_calls.c  which calls are open in the streams of a recording that is cut into parts
 *   next_part.c        begins a new part of such a recording
 *
 * Locks are taken in this order: the writer's, streams' in order of their numbers, the sink's.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "trace/encode.h"
#include "trace/kept_blocks.h"
#include "trace/open_calls.h"
#include "trace/part_calls.h"
#include "trace/parts.h"
#include "trace/sink.h"
#include "trace/value_log.h"
#include "trace/writer.h"

struct forked { /* a stream that begins with the calls that are open here at `start` */
    uint32_t child;
    uint64_t start;
    bool known; /* `calls` were the open ones at START, as far as they began in this stream */
    frame_list calls;
    uint64_t reached; /* those that began before are above this address (part_calls.h) */
};

struct stream {
    pthread_mutex_t lock;
    uint32_t number;             /* in the file */
    uint64_t own_low, own_bytes; /* the thread's own stack; 0: unknown */
    bool begun;                  /* it has a thread, frames or events */
    struct open_calls calls;     /* for checkpoints; not known in a recording of several parts */
    struct encoder_facts facts;  /* of encoders that are freed */
    struct encoder *encoder;     /* NULL before the first and after the last event */
    struct value_log *values;    /* NULL: there were none so far */
    _Atomic bool ended;
    /* In a recording of several parts: */
    struct trace_thread thread; /* if has_thread; its name is owned */
    bool has_thread;
    struct part_calls *open; /* NULL: there is no thread, or no event so far */
    ARRAY(struct forked) forked;
    size_t forked_known; /* the first ones are known */
};

struct trace_writer {
    pthread_mutex_t lock; /* guards all fields below */
    struct checkpoints *checkpoints;
    struct sink *sink;              /* a thread with the lock of a stream may use it, too */
    ARRAY(struct stream *) streams; /* NULL: it ended in an earlier part */
    _Atomic bool early_frames;      /* there were some of an unknown stream */
    struct kept kept;
    uint64_t memory;     /* trace_writer_limit(); 0: the default */
    struct parts *parts; /* NULL: the trace is one file */
    uint64_t controls;   /* in the parts that are complete */
    struct {
        pthread_mutex_t lock; /* a thread with the lock of a stream may take it */
        uint8_t *bitmap;      /* captures by number, whose records are in the file */
        uint32_t types;       /* records of types that are in the file */
        size_t bytes;
    } described;
    bool late;      /* entries may be written long after they happened (-D, -t) */
    uint32_t next;  /* the next stream's number in the file */
    uint64_t clock; /* ticks of the latest clock record */
};

/* Stream NUMBER, new if necessary. W is locked. */
struct stream *writer_stream(struct trace_writer *w, uint32_t number);
/* Pushes the current block of STREAM, which is locked. */
void stream_push(struct trace_writer *w, struct stream *stream);
/* The next file has no record of a capture yet. All streams are locked. */
void writer_forget_captures(struct trace_writer *w);
/* STREAM, which is locked, begins anew: nothing was encoded so far. */
void stream_restart(struct stream *stream);
void stream_free(struct stream *stream);
/* Push what ends a file. All streams are locked, or no other thread uses W. */
void writer_push_extents(const struct trace_writer *w);
void writer_push_end(struct trace_writer *w, const struct trace_end *end);

/* ---- part_open_calls.c: STREAM is locked ---- */

/* Takes the thread's record. */
void stream_set_thread(struct stream *stream, const struct trace_thread *thread);
/* THREAD's process begins with the calls that are open in its maker's stream. W is locked. Returns
 * the maker as the record in the file has it. */
uint32_t writer_add_fork(struct trace_writer *w, const struct trace_thread *thread);
/* STREAM->open is there. The events are about to be encoded, or just were. */
void stream_follow(struct stream *stream, const struct trace_event *events, size_t count);
void stream_follow_ring(struct stream *stream, const struct event *at, size_t count,
                        uint64_t latest);
/* No events come any more. */
void stream_follow_end(struct stream *stream);
/* All streams are locked, and so is W. Gives the calls that makers had open to the streams that
 * began with them. */
void writer_settle_forks(struct trace_writer *w);
void stream_forget(struct stream *stream);

/* ---- next_part.c ---- */

/* The newest part is complete, with *TOTALS and the result RC: likewise all others. */
int writer_finish_parts(struct trace_writer *w, int rc, struct trace_totals *totals,
                        struct err *err);
