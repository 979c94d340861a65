/* Encodes events by stream and pushes blocks of events and metadata to the sink. */
#include <string.h>

#include "base/bitmap.h"
#include "base/mem.h"
#include "trace/checkpoints.h"
#include "trace/records.h"
#include "trace/writer_state.h"

/* Pushes a block of metadata that belongs to no stream. KEY as in kept_blocks.h. */
static void push_metadata(struct trace_writer *w, struct block *block, uint32_t key) {
    pthread_mutex_lock(&w->lock);
    kept_add(&w->kept, block, key);
    sink_push(w->sink, block);
    pthread_mutex_unlock(&w->lock);
}

static struct stream *stream_new(uint32_t number) {
    struct stream *new = mem_alloc(sizeof *new);
    pthread_mutex_init(&new->lock, NULL);
    new->number = number;
    new->facts.low = UINT64_MAX;
    return new;
}

struct stream *writer_stream(struct trace_writer *w, uint32_t number) {
    while (w->streams.count <= number)
        ARRAY_PUSH(&w->streams, stream_new(w->next++));
    if (!w->streams.at[number])
        w->streams.at[number] = stream_new(w->next++);
    return w->streams.at[number];
}

/* Returns stream NUMBER, new if necessary, with its lock held. */
static struct stream *stream_find(struct trace_writer *w, uint32_t number) {
    pthread_mutex_lock(&w->lock);
    struct stream *stream = writer_stream(w, number);
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

static void push_if(const struct trace_writer *w, struct block *block) {
    if (block)
        sink_push(w->sink, block);
}

/* ---- values ---- */

static void push_values(void *ctx, struct block *block) {
    struct trace_writer *w = ctx;
    sink_push(w->sink, block);
}

static void push_types(struct trace_writer *w, const struct bytes *record) {
    struct block *block = block_new(DISK_TYPES);
    bytes_put(&block->parts[0], record->at, record->count);
    sink_push(w->sink, block);
}

/* Pushes the record of a capture, if the file does not have it. */
static void describe_capture(void *ctx, uint32_t number, const struct numbered_capture *capture) {
    struct trace_writer *w = ctx;
    pthread_mutex_lock(&w->described.lock);
    if (number / 8 >= w->described.bytes) {
        const size_t before = w->described.bytes;
        w->described.bytes = number / 4 + 64;
        w->described.bitmap = mem_resize(w->described.bitmap, w->described.bytes, 1);
        memset(w->described.bitmap + before, 0, w->described.bytes - before);
    }
    const bool is_new = !bitmap_test(w->described.bitmap, number);
    bitmap_set(w->described.bitmap, number);
    for (; w->described.types < capture->types; w->described.types++)
        push_types(w, captures_types(capture->all, w->described.types));
    pthread_mutex_unlock(&w->described.lock);
    if (is_new)
        sink_push(w->sink, record_capture(number, capture));
}

void writer_forget_captures(struct trace_writer *w) {
    w->described.types = 0;
    if (w->described.bytes)
        memset(w->described.bitmap, 0, w->described.bytes);
}

static void stream_push_values(struct trace_writer *w, struct stream *stream, uint64_t first) {
    const struct value_sink sink = {push_values, describe_capture, w};
    value_log_take(stream->values, stream->number, first, &sink);
}

void trace_writer_values(struct trace_writer *w, uint32_t stream, const struct value_batch *b) {
    struct stream *s = stream_lock(w, stream);
    if (!s->values)
        s->values = value_log_new();
    value_log_put(s->values, b);
    pthread_mutex_unlock(&s->lock);
}

/* Encodes the first of EVENTS, so few that their values fit into a block. Returns how many. */
static size_t encode_with_values(struct stream *s, const struct trace_event *events, size_t count) {
    enum { MOST = 256 };
    const uint32_t first = encoder_items(s->encoder);
    const size_t n = encoder_events(s->encoder, events, count < MOST ? count : MOST);
    value_log_match(s->values, events, n, first);
    return n;
}

/* ---- blocks of events ---- */

void stream_push(struct trace_writer *w, struct stream *stream) {
    if (!stream->encoder || encoder_empty(stream->encoder))
        return;
    uint64_t first = encoder_first(stream->encoder);
    struct block *before = checkpoints_add(w->checkpoints, stream->number, first, &stream->calls);
    sink_push(w->sink, encoder_take(stream->encoder, stream->number));
    if (stream->values)
        stream_push_values(w, stream, first);
    push_if(w, before);
    push_if(w, checkpoints_add_pauses(w->checkpoints, stream->number, &stream->calls));
}

/* Adds to the totals what STREAM's encoder has encoded since BEFORE. */
static void count_since(const struct trace_writer *w, const struct stream *stream,
                        struct trace_totals before) {
    struct trace_totals now = encoder_totals(stream->encoder);
    sink_count(w->sink, now.entries - before.entries, now.exits - before.exits,
               now.lost - before.lost);
}

/* Pushes the block of STREAM, which is locked, if it is full. Adds to the totals what was encoded
 * since BEFORE; the sink may discard the block later. */
static void end_piece(struct trace_writer *w, struct stream *stream, struct trace_totals before) {
    count_since(w, stream, before);
    if (encoder_full(stream->encoder) || (stream->values && value_log_full(stream->values)))
        stream_push(w, stream);
}

void trace_writer_events(struct trace_writer *w, uint32_t stream, const struct trace_event *events,
                         size_t count) {
    struct stream *s = stream_lock(w, stream);
    if (sink_failed(w->sink)) {
        sink_count(w->sink, 0, 0, count);
        count = 0;
    }
    if (s->open)
        stream_follow(s, events, count);
    while (count) {
        struct trace_totals before = encoder_totals(s->encoder);
        size_t n = s->values ? encode_with_values(s, events, count)
                             : encoder_events(s->encoder, events, count);
        end_piece(w, s, before);
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
        if (s->open)
            stream_follow_ring(s, at + done, n, *latest);
        more = encoder_full(s->encoder);
        end_piece(w, s, before);
        done += n;
    }
    *latest = encoder_last(s->encoder);
    pthread_mutex_unlock(&s->lock);
    return done;
}

void trace_writer_lost(struct trace_writer *w, uint32_t stream, uint64_t ticks, uint64_t count) {
    struct stream *s = stream_lock(w, stream);
    sink_count(w->sink, 0, 0, count);
    if (!sink_failed(w->sink)) {
        encoder_lost(s->encoder, ticks, count);
        if (s->open)
            part_calls_lost(s->open, ticks);
        if (encoder_full(s->encoder))
            stream_push(w, s);
    }
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
    sum.controls += now->controls;
    sum.met_inner |= now->met_inner;
    sum.pauses.count += now->pauses.count;
    for (int k = 0; k < PAUSE_CAUSES; k++)
        sum.pauses.ticks[k] += now->pauses.ticks[k];
    return sum;
}

void trace_writer_thread_end(struct trace_writer *w, uint32_t stream, uint64_t ticks) {
    struct stream *s = stream_lock(w, stream);
    encoder_thread_end(s->encoder, ticks);
    stream_push(w, s);
    stream_follow_end(s);
    s->ended = true;
    s->facts = stream_facts(s);
    encoder_free(s->encoder);
    s->encoder = NULL;
    open_calls_forget(&s->calls);
    pthread_mutex_unlock(&s->lock);
}

void trace_writer_flush(struct trace_writer *w) {
    for (uint32_t i = 0;; i++) {
        pthread_mutex_lock(&w->lock);
        bool last = i >= w->streams.count;
        struct stream *stream = last ? NULL : w->streams.at[i];
        pthread_mutex_unlock(&w->lock);
        if (last)
            return;
        if (!stream)
            continue;
        pthread_mutex_lock(&stream->lock);
        stream_push(w, stream);
        pthread_mutex_unlock(&stream->lock);
    }
}

void trace_writer_sync(struct trace_writer *w) {
    pthread_mutex_lock(&w->lock);
    struct sink *sink = w->sink;
    pthread_mutex_unlock(&w->lock);
    sink_sync(sink);
}

void trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock) {
    push_metadata(w, record_clock(clock), 0);
    pthread_mutex_lock(&w->lock);
    w->clock = clock->ticks;
    pthread_mutex_unlock(&w->lock);
}

void trace_writer_process(struct trace_writer *w, const struct trace_process *process) {
    push_metadata(w, record_process(process), process->pid);
}

/* Takes the stack of S's thread. Recordings in parts have no checkpoints: a reader would have to
 * carry them from part to part. */
static void set_stack(const struct trace_writer *w, struct stream *s,
                      const struct trace_thread *thread) {
    uint64_t bytes = thread->stack_high - thread->stack_low;
    if (!s->begun && !w->early_frames && !w->parts)
        open_calls_init(&s->calls, thread->stack_low, thread->stack_high);
    if (thread->maker || (s->begun && (s->own_low != thread->stack_low || s->own_bytes != bytes)))
        open_calls_forget(&s->calls);
    s->begun = true;
    s->own_low = thread->stack_low;
    s->own_bytes = bytes;
}

void trace_writer_thread(struct trace_writer *w, const struct trace_thread *thread) {
    struct trace_thread in_file = *thread;
    pthread_mutex_lock(&w->lock);
    if (w->parts && thread->maker)
        in_file.maker = writer_add_fork(w, thread);
    struct stream *s = writer_stream(w, thread->stream);
    pthread_mutex_lock(&s->lock);
    set_stack(w, s, thread);
    in_file.stream = s->number;
    if (w->parts)
        stream_set_thread(s, thread);
    sink_push(w->sink, record_thread(&in_file));
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&w->lock);
}

void trace_writer_module(struct trace_writer *w, const struct trace_module *module) {
    uint32_t key = module->function_count ? module->first_id + 1 : 0;
    push_metadata(w, record_module(module), key);
    for (uint32_t next = 0; next < module->function_count;)
        push_metadata(w, record_functions(module, &next), key);
}

void trace_writer_map(struct trace_writer *w, const struct trace_map *map) {
    push_metadata(w, record_map(map), map->pid);
}

static void push_frames(struct trace_writer *w, const struct trace_frames *frames) {
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

void trace_writer_frames(struct trace_writer *w, const struct trace_frames *frames) {
    if (!w->parts) {
        push_frames(w, frames);
        return;
    }
    struct trace_frames in_file = *frames;
    struct stream *s = stream_find(w, frames->stream);
    in_file.stream = s->number;
    if (s->open)
        part_calls_frames(s->open, frames);
    sink_push(w->sink, record_frames(&in_file));
    pthread_mutex_unlock(&s->lock);
}

void trace_writer_chains(struct trace_writer *w, const struct trace_chains *chains) {
    if (w->parts)
        push_metadata(w, record_chains(chains), 0);
    else
        sink_push(w->sink, record_chains(chains));
}

void trace_writer_change(struct trace_writer *w, const struct trace_change *change) {
    push_metadata(w, record_change(change), change->pid);
}

void trace_writer_death(struct trace_writer *w, const struct trace_death *death) {
    sink_push(w->sink, record_death(death));
}

int trace_writer_error(struct trace_writer *w, struct err *err) {
    pthread_mutex_lock(&w->lock);
    int rc = sink_error(w->sink, err);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

struct trace_totals trace_writer_totals(struct trace_writer *w) {
    pthread_mutex_lock(&w->lock);
    struct trace_totals sum = sink_totals(w->sink);
    pthread_mutex_unlock(&w->lock);
    return w->parts ? parts_add_totals(w->parts, sum) : sum;
}

static int writer_new(const char *path, struct trace_writer **ret, struct err *err) {
    struct sink *sink;
    int rc = sink_open(path, true, &sink, err);
    if (rc)
        return rc;
    *ret = mem_alloc(sizeof **ret);
    (*ret)->sink = sink;
    (*ret)->checkpoints = checkpoints_new();
    pthread_mutex_init(&(*ret)->lock, NULL);
    pthread_mutex_init(&(*ret)->described.lock, NULL);
    return 0;
}

int trace_writer_open(const char *path, const struct trace_session *session,
                      struct trace_writer **ret, struct err *err) {
    int rc = writer_new(path, ret, err);
    if (rc == 0) {
        sink_keep_old((*ret)->sink);
        (*ret)->late = session->depth || session->threshold_ns;
        push_metadata(*ret, record_session(session), 0);
    }
    return rc;
}

void trace_writer_limit(struct trace_writer *w, uint64_t bytes) {
    pthread_mutex_lock(&w->lock);
    w->memory = bytes;
    sink_limit(w->sink, w->parts ? parts_memory(w->parts, bytes) : bytes);
    pthread_mutex_unlock(&w->lock);
}

void trace_writer_keep(struct trace_writer *w) {
    pthread_mutex_lock(&w->lock);
    w->kept.all = true;
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
    for (size_t i = 0; i < w->kept.blocks.count; i++)
        sink_push((*ret)->sink, block_copy(w->kept.blocks.at[i].block));
    pthread_mutex_unlock(&w->lock);
    return 0;
}

void stream_restart(struct stream *s) {
    encoder_free(s->encoder);
    s->encoder = NULL;
    s->facts = (struct encoder_facts){.low = UINT64_MAX};
}

void stream_free(struct stream *s) {
    if (!s)
        return;
    stream_forget(s);
    encoder_free(s->encoder);
    value_log_free(s->values);
    open_calls_done(&s->calls);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void writer_free(struct trace_writer *w) {
    for (size_t i = 0; i < w->streams.count; i++)
        stream_free(w->streams.at[i]);
    ARRAY_FREE(&w->streams);
    kept_done(&w->kept);
    parts_free(w->parts);
    free(w->described.bitmap);
    pthread_mutex_destroy(&w->described.lock);
    pthread_mutex_destroy(&w->lock);
    checkpoints_free(w->checkpoints);
    sink_free(w->sink);
    free(w);
}

void writer_push_extents(const struct trace_writer *w) {
    ARRAY(struct trace_extent) list = {0};
    for (uint32_t i = 0; i < w->streams.count; i++) {
        const struct stream *s = w->streams.at[i];
        if (!s)
            continue;
        struct encoder_facts facts = stream_facts(s);
        bool any = facts.low <= facts.high;
        ARRAY_PUSH(&list, ((struct trace_extent){s->number, any ? facts.low : 0,
                                                 any ? facts.high : 0, facts.met_inner}));
    }
    for (size_t at = 0, n; at < list.count; at += n) {
        n = list.count - at < DISK_EXTENTS_MAX ? list.count - at : DISK_EXTENTS_MAX;
        sink_push(w->sink, record_extents(list.at + at, n));
    }
    ARRAY_FREE(&list);
}

void writer_push_end(struct trace_writer *w, const struct trace_end *end) {
    struct trace_end complete = *end;
    for (size_t i = 0; i < w->streams.count; i++) {
        if (!w->streams.at[i])
            continue;
        struct encoder_facts facts = stream_facts(w->streams.at[i]);
        complete.missed += facts.missed;
        w->controls += facts.controls;
        complete.pauses.count += facts.pauses.count;
        for (int k = 0; k < PAUSE_CAUSES; k++)
            complete.pauses.ticks[k] += facts.pauses.ticks[k];
    }
    complete.waiting_bytes = sink_totals(w->sink).waiting_bytes;
    sink_push(w->sink, record_end(&complete));
}

int trace_writer_finish(struct trace_writer *w, const struct trace_end *end,
                        struct trace_totals *ret_totals, struct err *err) {
    trace_writer_flush(w);
    push_if(w, checkpoints_take(w->checkpoints));
    push_if(w, checkpoints_take_pauses(w->checkpoints));
    writer_push_extents(w);
    writer_push_end(w, end);
    int rc = sink_close(w->sink, true, err);
    struct trace_totals totals = sink_totals(w->sink);
    if (w->parts)
        rc = writer_finish_parts(w, rc, &totals, err);
    totals.controls = w->controls;
    if (ret_totals)
        *ret_totals = totals;
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
