/* Encodes events by stream and pushes blocks of events and metadata to the sink. */
#include "trace/writer.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "trace/checkpoints.h"
#include "trace/encode.h"
#include "trace/records.h"
#include "trace/sink.h"

struct stream {
    pthread_mutex_t lock;
    uint64_t own_low, own_bytes; /* the thread's own stack; 0: unknown */
    bool begun;                  /* it has a thread, frames or events */
    struct open_calls calls;
    struct encoder_facts facts; /* of encoders that are freed */
    struct encoder *encoder;    /* NULL before the first and after the last event */
};

struct trace_writer {
    struct sink *sink;
    struct checkpoints *checkpoints;
    pthread_mutex_t lock;           /* guards all fields below */
    ARRAY(struct stream *) streams; /* streams are freed with the writer only */
    _Atomic bool early_frames;      /* there were some of an unknown stream */
    bool keep_metadata;             /* trace_writer_keep() was called */
    ARRAY(struct block *) kept;     /* copies; the session and the first clock are always kept */
    bool clock_kept;
    uint64_t memory; /* trace_writer_limit(); 0: the default */
};

/* Whether a branch of W begins with BLOCK. */
static bool must_keep(struct trace_writer *w, const struct block *block) {
    bool first_clock = block->head.type == DISK_CLOCK && !w->clock_kept;
    w->clock_kept |= first_clock;
    return first_clock || block->head.type == DISK_SESSION ||
           (w->keep_metadata && block->head.type != DISK_CLOCK);
}

/* Pushes a block of metadata that belongs to no stream. */
static void push_metadata(struct trace_writer *w, struct block *block) {
    pthread_mutex_lock(&w->lock);
    if (must_keep(w, block))
        ARRAY_PUSH(&w->kept, block_copy(block));
    pthread_mutex_unlock(&w->lock);
    sink_push(w->sink, block);
}

/* Returns stream NUMBER, new if necessary, with its lock held. */
static struct stream *stream_find(struct trace_writer *w, uint32_t number) {
    pthread_mutex_lock(&w->lock);
    while (w->streams.count <= number) {
        struct stream *new = mem_alloc(sizeof *new);
        pthread_mutex_init(&new->lock, NULL);
        new->facts.low = UINT64_MAX;
        ARRAY_PUSH(&w->streams, new);
    }
    struct stream *stream = w->streams.at[number];
    pthread_mutex_unlock(&w->lock);
    pthread_mutex_lock(&stream->lock);
    return stream;
}

/* The same, with an encoder. */
static struct stream *stream_lock(struct trace_writer *w, uint32_t number) {
    struct stream *stream = stream_find(w, number);
    if (stream->encoder)
        return stream;
    stream->begun = true;
    stream->encoder = encoder_new(stream->own_low, stream->own_bytes);
    if (stream->calls.known)
        encoder_follow(stream->encoder, &stream->calls);
    return stream;
}

static void push_if(struct trace_writer *w, struct block *block) {
    if (block)
        sink_push(w->sink, block);
}

/* Pushes the current block of STREAM, which is locked. */
static void stream_push(struct trace_writer *w, struct stream *stream, uint32_t number) {
    if (!stream->encoder || encoder_empty(stream->encoder))
        return;
    uint64_t first = encoder_first(stream->encoder);
    struct block *before = checkpoints_add(w->checkpoints, number, first, &stream->calls);
    sink_push(w->sink, encoder_take(stream->encoder, number));
    push_if(w, before);
    push_if(w, checkpoints_add_pauses(w->checkpoints, number, &stream->calls));
}

/* Adds to the totals what STREAM's encoder has encoded since BEFORE. */
static void count_since(struct trace_writer *w, const struct stream *stream,
                        struct trace_totals before) {
    struct trace_totals now = encoder_totals(stream->encoder);
    sink_count(w->sink, now.entries - before.entries, now.exits - before.exits,
               now.lost - before.lost);
}

/* Pushes the block of STREAM, which is locked, if it is full. Adds to the totals what was encoded
 * since BEFORE; the sink may discard the block later. */
static void end_piece(struct trace_writer *w, struct stream *stream, uint32_t number,
                      struct trace_totals before) {
    count_since(w, stream, before);
    if (encoder_full(stream->encoder))
        stream_push(w, stream, number);
}

void trace_writer_events(struct trace_writer *w, uint32_t stream, const struct trace_event *events,
                         size_t count) {
    if (sink_failed(w->sink)) {
        sink_count(w->sink, 0, 0, count);
        return;
    }
    struct stream *s = stream_lock(w, stream);
    while (count) {
        struct trace_totals before = encoder_totals(s->encoder);
        size_t n = encoder_events(s->encoder, events, count);
        end_piece(w, s, stream, before);
        events += n;
        count -= n;
    }
    pthread_mutex_unlock(&s->lock);
}

size_t trace_writer_ring(struct trace_writer *w, uint32_t stream, const struct event *at,
                         size_t count, uint64_t *latest) {
    struct stream *s = stream_lock(w, stream);
    size_t done = 0;
    for (bool more = true; more && done < count;) {
        struct trace_totals before = encoder_totals(s->encoder);
        size_t n = encoder_ring(s->encoder, at + done, count - done, *latest);
        more = encoder_full(s->encoder);
        end_piece(w, s, stream, before);
        done += n;
    }
    *latest = encoder_last(s->encoder);
    pthread_mutex_unlock(&s->lock);
    return done;
}

void trace_writer_lost(struct trace_writer *w, uint32_t stream, uint64_t ticks, uint64_t count) {
    sink_count(w->sink, 0, 0, count);
    if (sink_failed(w->sink))
        return;
    struct stream *s = stream_lock(w, stream);
    encoder_lost(s->encoder, ticks, count);
    if (encoder_full(s->encoder))
        stream_push(w, s, stream);
    pthread_mutex_unlock(&s->lock);
}

/* What the events of STREAM tell. */
static struct encoder_facts stream_facts(const struct stream *s) {
    struct encoder_facts sum = s->facts;
    if (!s->encoder)
        return sum;
    const struct encoder_facts *now = encoder_facts(s->encoder);
    sum.low = now->low < sum.low ? now->low : sum.low;
    sum.high = now->high > sum.high ? now->high : sum.high;
    sum.missed += now->missed;
    sum.met_inner |= now->met_inner;
    sum.pauses.count += now->pauses.count;
    for (int k = 0; k < PAUSE_CAUSES; k++)
        sum.pauses.ticks[k] += now->pauses.ticks[k];
    return sum;
}

void trace_writer_thread_end(struct trace_writer *w, uint32_t stream, uint64_t ticks) {
    struct stream *s = stream_lock(w, stream);
    encoder_thread_end(s->encoder, ticks);
    stream_push(w, s, stream);
    s->facts = stream_facts(s);
    encoder_free(s->encoder);
    s->encoder = NULL;
    open_calls_forget(&s->calls);
    pthread_mutex_unlock(&s->lock);
}

void trace_writer_flush(struct trace_writer *w) {
    for (uint32_t i = 0;; i++) {
        pthread_mutex_lock(&w->lock);
        struct stream *stream = i < w->streams.count ? w->streams.at[i] : NULL;
        pthread_mutex_unlock(&w->lock);
        if (!stream)
            return;
        pthread_mutex_lock(&stream->lock);
        stream_push(w, stream, i);
        pthread_mutex_unlock(&stream->lock);
    }
}

void trace_writer_sync(struct trace_writer *w) { sink_sync(w->sink); }

void trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock) {
    push_metadata(w, record_clock(clock));
}

void trace_writer_process(struct trace_writer *w, const struct trace_process *process) {
    push_metadata(w, record_process(process));
}

void trace_writer_thread(struct trace_writer *w, const struct trace_thread *thread) {
    struct stream *s = stream_find(w, thread->stream);
    uint64_t bytes = thread->stack_high - thread->stack_low;
    if (!s->begun && !w->early_frames)
        open_calls_init(&s->calls, thread->stack_low, thread->stack_high);
    if (thread->maker || (s->begun && (s->own_low != thread->stack_low || s->own_bytes != bytes)))
        open_calls_forget(&s->calls);
    s->begun = true;
    s->own_low = thread->stack_low;
    s->own_bytes = bytes;
    pthread_mutex_unlock(&s->lock);
    sink_push(w->sink, record_thread(thread));
}

void trace_writer_module(struct trace_writer *w, const struct trace_module *module) {
    push_metadata(w, record_module(module));
    for (uint32_t next = 0; next < module->function_count;)
        push_metadata(w, record_functions(module, &next));
}

void trace_writer_map(struct trace_writer *w, const struct trace_map *map) {
    push_metadata(w, record_map(map));
}

void trace_writer_frames(struct trace_writer *w, const struct trace_frames *frames) {
    pthread_mutex_lock(&w->lock);
    bool has_stream = frames->stream < w->streams.count;
    w->early_frames |= !has_stream;
    pthread_mutex_unlock(&w->lock);
    if (has_stream) {
        struct stream *s = stream_find(w, frames->stream);
        s->begun = true;
        open_calls_frames(&s->calls, frames);
        pthread_mutex_unlock(&s->lock);
    }
    sink_push(w->sink, record_frames(frames));
}

void trace_writer_chains(struct trace_writer *w, const struct trace_chains *chains) {
    sink_push(w->sink, record_chains(chains));
}

void trace_writer_change(struct trace_writer *w, const struct trace_change *change) {
    push_metadata(w, record_change(change));
}

void trace_writer_death(struct trace_writer *w, const struct trace_death *death) {
    sink_push(w->sink, record_death(death));
}

int trace_writer_error(struct trace_writer *w, struct err *err) { return sink_error(w->sink, err); }

struct trace_totals trace_writer_totals(struct trace_writer *w) {
    return sink_totals(w->sink);
}

static int writer_new(const char *path, struct trace_writer **ret, struct err *err) {
    struct sink *sink;
    int rc = sink_open(path, &sink, err);
    if (rc)
        return rc;
    *ret = mem_alloc(sizeof **ret);
    (*ret)->sink = sink;
    (*ret)->checkpoints = checkpoints_new();
    pthread_mutex_init(&(*ret)->lock, NULL);
    return 0;
}

int trace_writer_open(const char *path, const struct trace_session *session,
                      struct trace_writer **ret, struct err *err) {
    int rc = writer_new(path, ret, err);
    if (rc == 0) {
        sink_keep_old((*ret)->sink);
        push_metadata(*ret, record_session(session));
    }
    return rc;
}

void trace_writer_limit(struct trace_writer *w, uint64_t bytes) {
    sink_limit(w->sink, bytes);
    pthread_mutex_lock(&w->lock);
    w->memory = bytes;
    pthread_mutex_unlock(&w->lock);
}

void trace_writer_keep(struct trace_writer *w) {
    pthread_mutex_lock(&w->lock);
    w->keep_metadata = true;
    pthread_mutex_unlock(&w->lock);
}

int trace_writer_branch(struct trace_writer *w, const char *path, struct trace_writer **ret,
                        struct err *err) {
    int rc = writer_new(path, ret, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&w->lock);
    if (w->memory)
        sink_limit((*ret)->sink, w->memory);
    for (size_t i = 0; i < w->kept.count; i++)
        sink_push((*ret)->sink, block_copy(w->kept.at[i]));
    pthread_mutex_unlock(&w->lock);
    return 0;
}

static void writer_free(struct trace_writer *w) {
    for (size_t i = 0; i < w->streams.count; i++) {
        encoder_free(w->streams.at[i]->encoder);
        open_calls_done(&w->streams.at[i]->calls);
        pthread_mutex_destroy(&w->streams.at[i]->lock);
        free(w->streams.at[i]);
    }
    ARRAY_FREE(&w->streams);
    for (size_t i = 0; i < w->kept.count; i++)
        block_free(w->kept.at[i]);
    ARRAY_FREE(&w->kept);
    pthread_mutex_destroy(&w->lock);
    checkpoints_free(w->checkpoints);
    sink_free(w->sink);
    free(w);
}

static void push_extents(struct trace_writer *w) {
    ARRAY(struct trace_extent) list = {0};
    for (uint32_t i = 0; i < w->streams.count; i++) {
        struct encoder_facts facts = stream_facts(w->streams.at[i]);
        bool any = facts.low <= facts.high;
        ARRAY_PUSH(&list, ((struct trace_extent){i, any ? facts.low : 0, any ? facts.high : 0,
                                                 facts.met_inner}));
    }
    for (size_t at = 0, n; at < list.count; at += n) {
        n = list.count - at < DISK_EXTENTS_MAX ? list.count - at : DISK_EXTENTS_MAX;
        sink_push(w->sink, record_extents(list.at + at, n));
    }
    ARRAY_FREE(&list);
}

int trace_writer_finish(struct trace_writer *w, const struct trace_end *end,
                        struct trace_totals *ret_totals, struct err *err) {
    struct trace_end complete = *end;
    trace_writer_flush(w);
    push_if(w, checkpoints_take(w->checkpoints));
    push_if(w, checkpoints_take_pauses(w->checkpoints));
    push_extents(w);
    for (size_t i = 0; i < w->streams.count; i++) {
        struct encoder_facts facts = stream_facts(w->streams.at[i]);
        complete.missed += facts.missed;
        complete.pauses.count += facts.pauses.count;
        for (int k = 0; k < PAUSE_CAUSES; k++)
            complete.pauses.ticks[k] += facts.pauses.ticks[k];
    }
    complete.waiting_bytes = sink_totals(w->sink).waiting_bytes;
    sink_push(w->sink, record_end(&complete));
    int rc = sink_close(w->sink, true, err);
    if (ret_totals)
        *ret_totals = sink_totals(w->sink);
    writer_free(w);
    return rc;
}

void trace_writer_remove(struct trace_writer *w) {
    sink_remove(w->sink);
    trace_writer_abandon(w);
}

void trace_writer_abandon(struct trace_writer *w) {
    if (!w)
        return;
    sink_close(w->sink, false, NULL);
    writer_free(w);
}
