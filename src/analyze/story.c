#include "analyze/story.h"

#include <errno.h>

#include "base/mem.h"

struct record { /* an open call; call.user is its index + 1 in its thread's array */
    uint64_t start;
    uint32_t id;
    uint32_t depth; /* shown calls above it */
    bool shown;     /* as far as its function, depth and start tell */
    bool told;      /* its entry */
    bool ended;     /* closed, but younger calls (of other stacks) are still open */
};

struct story;
struct thread {
    struct story *story;
    struct calls *calls;
    uint32_t stream;
    ARRAY(struct record) open;
    size_t settled; /* records below this one are told, or will not be */
    uint64_t last;  /* ticks of the newest item */
};

struct story {
    const struct shown *shown;
    const struct shown_options *options;
    uint64_t since, until, threshold; /* ticks */
    story_step *step;
    void *ctx;
    struct thread **threads; /* by stream; NULL until its first item */
    bool over;
};

static void tell(struct thread *t, const struct step *step) {
    if (!t->story->over && !t->story->step(t->story->ctx, step))
        t->story->over = true;
}

/* Tells the entries of all open calls up to record LAST that are not told yet. */
static void tell_open(struct thread *t, size_t last) {
    for (; t->settled <= last; t->settled++) {
        struct record *r = &t->open.at[t->settled];
        if (!r->shown || r->ended || r->told)
            continue;
        r->told = true;
        tell(t, &(struct step){.kind = STEP_ENTRY,
                               .stream = t->stream,
                               .id = r->id,
                               .depth = r->depth,
                               .ticks = r->start});
    }
}

static uint32_t depth_below(const struct thread *t, const struct call *parent) {
    if (!parent)
        return 0;
    const struct record *r = &t->open.at[(uintptr_t)parent->user - 1];
    return r->depth + r->shown;
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    struct thread *t = ctx;
    const struct story *s = t->story;
    struct record r = {.start = call->start, .id = call->id, .depth = depth_below(t, parent)};
    r.shown = shown_function(s->shown, call->id) && call->start <= s->until &&
              (!s->options->depth || r.depth < s->options->depth);
    ARRAY_PUSH(&t->open, r);
    call->user = (void *)(uintptr_t)t->open.count;
    if (!s->threshold && call->start >= s->since)
        tell_open(t, t->open.count - 1);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct thread *t = ctx;
    const struct story *s = t->story;
    size_t index = (uintptr_t)call->user - 1;
    struct record *r = &t->open.at[index];
    if (r->shown && !r->told && call->end >= s->since && call->end - call->start >= s->threshold)
        tell_open(t, index);
    if (r->told)
        tell(t, &(struct step){.kind = STEP_EXIT,
                               .stream = t->stream,
                               .id = r->id,
                               .depth = r->depth,
                               .ticks = call->end,
                               .start = r->start,
                               .how = call->how});
    r->ended = true;
    while (t->open.count && t->open.at[t->open.count - 1].ended)
        t->open.count--;
    if (t->settled > t->open.count)
        t->settled = t->open.count;
}

static struct thread *thread_of(struct story *s, const struct trace_reader *reader,
                                uint32_t stream) {
    static const struct calls_ops ops = {on_open, on_close};
    if (!s->threads[stream]) {
        struct thread *t = mem_alloc(sizeof *t);
        t->story = s;
        t->stream = stream;
        t->calls = calls_new(trace_reader_thread(reader, stream), &ops, t);
        s->threads[stream] = t;
    }
    return s->threads[stream];
}

static uint32_t told_depth(const struct thread *t) {
    size_t i = t->open.count;
    while (i > 0 && !(t->open.at[i - 1].told && !t->open.at[i - 1].ended))
        i--;
    return i ? t->open.at[i - 1].depth + 1 : 0;
}

static void take(struct thread *t, const struct trace_item *item) {
    t->last = item->ticks;
    switch (item->kind) {
    case TRACE_EVENT:
        calls_event(t->calls, item->ticks, item->id, item->event, item->sp);
        break;
    case TRACE_THREAD_END:
        calls_finish(t->calls, item->ticks, true);
        break;
    case TRACE_LOST:
        calls_lost(t->calls, item->ticks, item->lost);
        tell(t, &(struct step){.kind = STEP_LOST,
                               .stream = t->stream,
                               .depth = told_depth(t),
                               .ticks = item->ticks,
                               .lost = item->lost});
    }
}

static int tell_all(struct story *s, struct trace_reader *reader, struct err *err) {
    struct trace_merge *merge;
    struct trace_item item;
    int rc = trace_merge_open(reader, &merge, err), damage = 0;
    if (rc < 0)
        return rc;
    while (!s->over && (rc = trace_merge_next(merge, &item, err)) != 0) {
        if (rc < 0)
            damage = rc;
        else if (shown_stream(s->shown, item.stream) && item.ticks <= s->until)
            take(thread_of(s, reader, item.stream), &item);
    }
    trace_merge_free(merge);
    return damage;
}

/* What is still open ends with its stream, or with the span that is shown. */
static void end_threads(struct story *s, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct thread *t = s->threads[i];
        if (!t)
            continue;
        calls_finish(t->calls, t->last, false);
        calls_free(t->calls);
        ARRAY_FREE(&t->open);
        free(t);
    }
    free(s->threads);
}

int story_tell(struct trace_reader *reader, const struct shown *shown, story_step *step, void *ctx,
               struct err *err) {
    const struct shown_ticks *span = shown_ticks(shown);
    size_t count = trace_reader_stream_count(reader);
    struct story s = {.shown = shown,
                      .options = shown_options(shown),
                      .since = span->since,
                      .until = span->until,
                      .threshold = span->threshold,
                      .step = step,
                      .ctx = ctx,
                      .threads = mem_alloc(count * sizeof(struct thread *))};
    int rc = tell_all(&s, reader, err);
    end_threads(&s, count);
    return rc;
}
