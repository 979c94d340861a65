/*
 * Begins new parts of a recording that is cut into parts (--max-size).
 *
 *     part N     … events | extents, frames, end                (parts.h completes it)
 *     part N+1   session, part | kept metadata, threads, frames, clock | part | events …
 *                                └── repeats what parts before have said ─┘
 *
 * All streams are locked meanwhile. So each event is in one part, and in its stream all that is
 * behind is in later parts. No thread of a program waits for this unless its ring is full.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trace/records.h"
#include "trace/writer_state.h"

typedef ARRAY(uint32_t) number_list;

/* ---- which streams go on ---- */

static bool goes_on(const struct stream *s) { return s && s->has_thread && !s->ended; }

static int compare_numbers(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort(number_list *list) {
    if (list->count)
        qsort(list->at, list->count, sizeof *list->at, compare_numbers);
}

static size_t occurrences(const number_list *sorted, uint32_t number) {
    size_t first = SEARCH(i, sorted->count, sorted->at[i] < number), end = first;
    while (end < sorted->count && sorted->at[end] == number)
        end++;
    return end - first;
}

/* The processes of all streams that go on, one entry for each stream. */
static number_list running(const struct trace_writer *w) {
    number_list pids = {0};
    for (size_t i = 0; i < w->streams.count; i++)
        if (goes_on(w->streams.at[i]))
            ARRAY_PUSH(&pids, w->streams.at[i]->thread.pid);
    sort(&pids);
    return pids;
}

/* Forgets the metadata of processes all of whose threads have ended. PIDS: running(). */
static void forget_processes(struct trace_writer *w, const number_list *pids) {
    number_list gone = {0};
    for (size_t i = 0; i < w->streams.count; i++) {
        const struct stream *s = w->streams.at[i];
        if (s && s->has_thread && s->ended && !occurrences(pids, s->thread.pid))
            ARRAY_PUSH(&gone, s->thread.pid);
    }
    sort(&gone);
    kept_forget(&w->kept, gone.at, gone.count);
    ARRAY_FREE(&gone);
}

/* Frees streams that have ended, and numbers the others anew. Returns their old numbers, + 1. */
static number_list renumber(struct trace_writer *w) {
    number_list before = {0};
    for (size_t i = 0; i < w->streams.count; i++) {
        struct stream *s = w->streams.at[i];
        if (s && s->ended) {
            pthread_mutex_unlock(&s->lock);
            stream_free(s);
            w->streams.at[i] = s = NULL;
        }
        if (!s)
            continue;
        ARRAY_PUSH(&before, s->number + 1);
        s->number = (uint32_t)before.count - 1;
        stream_restart(s);
    }
    w->next = (uint32_t)before.count;
    return before;
}

/* ---- what a part begins with ---- */

static void push_frames(const struct trace_writer *w, struct stream *s, bool alone) {
    size_t count;
    frame_list calls = {0};
    uint64_t latest = part_calls_latest(s->open);
    uint64_t ticks = !w->late && w->clock > latest ? w->clock : latest;
    part_calls_pass(s->open, ticks);
    part_calls_list(s->open, alone, &calls);
    if (calls.count)
        sink_push(w->sink, record_frames(&(struct trace_frames){s->number, ticks,
                                                                (uint32_t)calls.count, calls.at}));
    ARRAY_FREE(&calls);
    const struct trace_frames *due = part_calls_due(s->open, &count);
    for (size_t i = 0; i < count; i++) {
        struct trace_frames frames = due[i];
        frames.stream = s->number;
        sink_push(w->sink, record_frames(&frames));
    }
}

static void push_thread(const struct trace_writer *w, const struct stream *s) {
    struct trace_thread thread = s->thread;
    const struct stream *maker = thread.maker ? w->streams.at[thread.maker - 1] : NULL;
    thread.stream = s->number;
    thread.maker = maker ? maker->number + 1 : 0;
    sink_push(w->sink, record_thread(&thread));
}

static void push_streams(const struct trace_writer *w, const number_list *pids) {
    for (size_t i = 0; i < w->streams.count; i++)
        if (w->streams.at[i] && w->streams.at[i]->has_thread)
            push_thread(w, w->streams.at[i]);
    for (size_t i = 0; i < w->streams.count; i++) {
        struct stream *s = w->streams.at[i];
        if (s && s->open)
            push_frames(w, s, occurrences(pids, s->thread.pid) == 1);
    }
}

static void push_kept(const struct trace_writer *w) {
    for (size_t i = 0; i < w->kept.blocks.count; i++) {
        sink_push(w->sink, block_copy(w->kept.blocks.at[i].block));
        if (!i) /* the session */
            sink_push(w->sink, record_part(&(struct trace_part){.number = parts_number(w->parts)}));
    }
}

static void begin_part(struct trace_writer *w, const struct trace_clock *clock) {
    number_list pids = running(w);
    forget_processes(w, &pids);
    number_list before = renumber(w);
    push_kept(w);
    push_streams(w, &pids);
    sink_push(w->sink, record_clock(clock));
    sink_push(w->sink, record_part(&(struct trace_part){parts_number(w->parts), true,
                                                        (uint32_t)before.count, before.at}));
    parts_set_repeated(w->parts, sink_size(w->sink));
    ARRAY_FREE(&before);
    ARRAY_FREE(&pids);
}

/* ---- the turn ---- */

static void lock_streams(struct trace_writer *w) {
    for (size_t i = 0; i < w->streams.count; i++)
        if (w->streams.at[i])
            pthread_mutex_lock(&w->streams.at[i]->lock);
}

static void unlock_streams(struct trace_writer *w) {
    for (size_t i = 0; i < w->streams.count; i++)
        if (w->streams.at[i])
            pthread_mutex_unlock(&w->streams.at[i]->lock);
}

/* The calls that are open in S last at least until TICKS. Those on stacks that other threads may
 * use are not known. */
static void push_last_frames(const struct trace_writer *w, struct stream *s, uint64_t ticks) {
    frame_list all = {0}, own = {0};
    part_calls_list(s->open, true, &all);
    part_calls_list(s->open, false, &own);
    if (own.count && own.count == all.count && ticks >= part_calls_latest(s->open))
        sink_push(w->sink, record_frames(&(struct trace_frames){s->number, ticks,
                                                                (uint32_t)own.count, own.at}));
    ARRAY_FREE(&all);
    ARRAY_FREE(&own);
}

static void end_part(struct trace_writer *w, const struct trace_clock *clock) {
    for (size_t i = 0; i < w->streams.count; i++)
        if (w->streams.at[i])
            stream_push(w, w->streams.at[i]);
    sink_push(w->sink, record_clock(clock));
    writer_push_extents(w);
    for (size_t i = 0; i < w->streams.count; i++)
        if (goes_on(w->streams.at[i]))
            push_last_frames(w, w->streams.at[i], clock->ticks);
    writer_push_end(w, &(struct trace_end){.ticks = clock->ticks, .goes_on = true});
}

/* NEXT is open under another name. All is locked. */
static int turn_to(struct trace_writer *w, struct sink *next, const struct trace_clock *clock,
                   struct err *err) {
    struct sink *old = w->sink;
    if (parts_number(w->parts) == 1)
        sink_keep_old_now(old);
    int rc = sink_exchange_names(old, next, err);
    if (rc)
        return rc;
    writer_settle_forks(w);
    end_part(w, clock);
    parts_close(w->parts, old);
    w->sink = next;
    if (w->memory)
        sink_limit(next, parts_memory(w->parts, w->memory));
    writer_forget_captures(w);
    begin_part(w, clock);
    return 0;
}

void trace_writer_turn(struct trace_writer *w, const struct trace_clock *clock) {
    if (!w->parts)
        return;
    pthread_mutex_lock(&w->lock);
    uint64_t size = sink_failed(w->sink) ? 0 : sink_size(w->sink);
    pthread_mutex_unlock(&w->lock);
    if (!parts_is_full(w->parts, size))
        return;
    struct sink *next;
    struct err err;
    int rc = parts_open_next(w->parts, &next, &err);
    pthread_mutex_lock(&w->lock);
    lock_streams(w);
    bool is_open = rc == 0;
    if (is_open)
        rc = turn_to(w, next, clock, &err);
    if (rc)
        sink_fail(w->sink, &err);
    unlock_streams(w);
    pthread_mutex_unlock(&w->lock);
    if (is_open && rc) {
        sink_close(next, false, NULL);
        sink_remove(next);
        sink_free(next);
    }
}

int trace_writer_cut(struct trace_writer *w, uint64_t most_bytes, struct err *err) {
    const char *name = sink_name(w->sink);
    if (!name)
        return err_set(err, EINVAL, "no-parts", "--max-size needs a file as output");
    pthread_mutex_lock(&w->lock);
    w->parts = parts_new(w->sink, name, most_bytes);
    w->kept.all = w->kept.replaces = true;
    sink_push(w->sink, record_part(&(struct trace_part){1, true, 0, NULL}));
    pthread_mutex_unlock(&w->lock);
    return 0;
}

int writer_finish_parts(struct trace_writer *w, int rc, struct trace_totals *totals,
                        struct err *err) {
    struct trace_parts parts;
    struct err earlier;
    int failed = parts_finish(w->parts, &parts, &earlier);
    *totals = parts_add_totals(w->parts, *totals);
    totals->parts = parts;
    if (rc || !failed)
        return rc;
    if (err)
        *err = earlier;
    return failed;
}
