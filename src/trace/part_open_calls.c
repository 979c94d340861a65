/*
 * Which calls are open in the streams of a recording that is cut into parts.
 *
 * A forked process begins with calls of its maker. Its record comes before the maker has gone on.
 * So the maker's stream notes what is open there when it comes to the time of the fork. The child's
 * stream gets these calls when a part ends, less those that it has left by then.
 */
#include <string.h>

#include "trace/writer_state.h"

void stream_set_thread(struct stream *s, const struct trace_thread *thread) {
    bool same = s->has_thread && s->thread.stack_low == thread->stack_low &&
                s->thread.stack_high == thread->stack_high;
    free((void *)s->thread.name);
    s->thread = *thread;
    s->thread.name = mem_strdup(thread->name ? thread->name : "");
    s->has_thread = true;
    if (same)
        return;
    part_calls_free(s->open);
    s->open = part_calls_new(thread);
}

static void forked_done(struct forked *f) { ARRAY_FREE(&f->calls); }

/* Forgets children that have ended. */
static void forget_ended(const struct trace_writer *w, struct stream *maker) {
    size_t left = 0, known = 0;
    for (size_t i = 0; i < maker->forked.count; i++) {
        struct forked *f = &maker->forked.at[i];
        const struct stream *child = w->streams.at[f->child];
        if (!child || child->ended) {
            forked_done(f);
            continue;
        }
        known += i < maker->forked_known;
        maker->forked.at[left++] = *f;
    }
    maker->forked.count = left;
    maker->forked_known = known;
}

uint32_t writer_add_fork(struct trace_writer *w, const struct trace_thread *thread) {
    struct stream *maker = writer_stream(w, thread->maker - 1);
    writer_stream(w, thread->stream);
    pthread_mutex_lock(&maker->lock);
    size_t count = maker->forked.count;
    if (count >= 64 && !(count & (count - 1)))
        forget_ended(w, maker);
    if (maker->open && !maker->ended)
        ARRAY_PUSH(&maker->forked,
                   ((struct forked){.child = thread->stream, .start = thread->start}));
    uint32_t number = maker->number + 1;
    pthread_mutex_unlock(&maker->lock);
    return number;
}

/* STREAM has come to the time of its next fork. */
static void note_fork(struct stream *s) {
    struct forked *f = &s->forked.at[s->forked_known++];
    part_calls_list(s->open, true, &f->calls);
    f->reached = part_calls_reached(s->open);
    f->known = true;
}

void stream_follow(struct stream *s, const struct trace_event *events, size_t count) {
    while (s->forked_known < s->forked.count && count) {
        uint64_t start = s->forked.at[s->forked_known].start;
        size_t n = 0;
        while (n < count && events[n].ticks < start)
            n++;
        part_calls_events(s->open, events, n);
        events += n;
        count -= n;
        if (count)
            note_fork(s);
    }
    part_calls_events(s->open, events, count);
}

void stream_follow_ring(struct stream *s, const struct event *at, size_t count, uint64_t latest) {
    if (s->forked_known == s->forked.count) {
        part_calls_ring(s->open, at, count, latest);
        return;
    }
    for (size_t i = 0; i < count; i++)
        stream_follow(
            s, &(struct trace_event){event_ticks(&at[i], latest), at[i].site, event_sp(&at[i])}, 1);
}

void stream_follow_end(struct stream *s) {
    while (s->forked_known < s->forked.count)
        note_fork(s);
}

/* The stream began with CALLS at the time START. So did the streams that it has forked, except for
 * calls that it had left by then. */
static void begin_with(struct stream *s, uint64_t start, const frame_list *calls) {
    part_calls_frames(s->open,
                      &(struct trace_frames){s->number, start, (uint32_t)calls->count, calls->at});
    for (size_t i = 0; i < s->forked_known; i++) {
        struct forked *f = &s->forked.at[i];
        frame_list all = {0};
        for (size_t k = 0; k < calls->count; k++)
            if (calls->at[k].sp > f->reached)
                ARRAY_PUSH(&all, calls->at[k]);
        ARRAY_MOVE(&all, &f->calls);
        f->calls = all;
    }
}

/* Makers have smaller numbers than the processes that they make. */
void writer_settle_forks(struct trace_writer *w) {
    for (size_t i = 0; i < w->streams.count; i++) {
        struct stream *maker = w->streams.at[i];
        if (!maker)
            continue;
        forget_ended(w, maker);
        for (size_t k = 0; k < maker->forked_known; k++) {
            struct forked *f = &maker->forked.at[k];
            struct stream *child = w->streams.at[f->child];
            if (child->open)
                begin_with(child, f->start, &f->calls);
            child->thread.maker = 0;
            forked_done(f);
        }
        maker->forked.count -= maker->forked_known;
        if (maker->forked.count)
            memmove(maker->forked.at, maker->forked.at + maker->forked_known,
                    maker->forked.count * sizeof *maker->forked.at);
        maker->forked_known = 0;
    }
}

void stream_forget(struct stream *s) {
    for (size_t i = 0; i < s->forked.count; i++)
        forked_done(&s->forked.at[i]);
    ARRAY_FREE(&s->forked);
    part_calls_free(s->open);
    free((void *)s->thread.name);
}
