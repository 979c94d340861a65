#include "session/thin.h"

#include "base/mem.h"

enum { BATCH = 4096 };
static char written_mark; /* call.user of calls whose entry is written */

struct thin {
    struct thin_options options;
    struct calls *calls;
    uint32_t stream;
    ARRAY(struct call *) open; /* in order of opening */
    struct event batch[BATCH];
    size_t count;
};

static void flush(struct thin *t) {
    if (t->count)
        trace_writer_events(t->options.writer, t->stream, t->batch, t->count);
    t->count = 0;
}

static void put(struct thin *t, uint64_t ticks, const struct call *call, enum event_kind kind) {
    t->batch[t->count++] = (struct event){ticks, call->id << 2 | kind, call->sp};
    if (t->count == BATCH)
        flush(t);
}

static bool too_deep(const struct thin *t, const struct call *call) {
    return t->options.depth && call->depth >= t->options.depth;
}

/* Writes the entries of all open calls up to and including CALL that are still unwritten. */
static void write_open(struct thin *t, const struct call *call) {
    for (size_t i = 0; i < t->open.count; i++) {
        struct call *c = t->open.at[i];
        if (!c->user && !too_deep(t, c)) {
            put(t, c->start, c, EVENT_ENTRY);
            c->user = &written_mark;
        }
        if (c == call)
            break;
    }
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct thin *t = ctx;
    if (t->options.threshold_ticks) {
        ARRAY_PUSH(&t->open, call);
    } else if (!too_deep(t, call)) {
        put(t, call->start, call, EVENT_ENTRY);
        call->user = &written_mark;
    }
}

static void forget(struct thin *t, const struct call *call) {
    for (size_t i = t->open.count; i-- > 0;) {
        if (t->open.at[i] != call)
            continue;
        for (; i + 1 < t->open.count; i++)
            t->open.at[i] = t->open.at[i + 1];
        t->open.count--;
        return;
    }
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct thin *t = ctx;
    uint64_t ticks = call->end - call->start;
    if (!call->user && !too_deep(t, call) && t->options.threshold_ticks &&
        ticks >= t->options.threshold_ticks)
        write_open(t, call);
    if (t->options.threshold_ticks)
        forget(t, call);
    if (call->user && (call->how == CALL_RETURNED || call->how == CALL_TAIL))
        put(t, call->end, call, call->how == CALL_TAIL ? EVENT_TAIL : EVENT_RETURN);
}

struct thin *thin_new(const struct thin_options *options, const struct trace_thread *thread) {
    static const struct calls_ops ops = {on_open, on_close};
    struct thin *t = mem_alloc(sizeof *t);
    t->options = *options;
    t->stream = thread->stream;
    t->calls = calls_new(thread, &ops, t);
    return t;
}

void thin_events(struct thin *t, const struct event *events, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct event *e = &events[i];
        calls_event(t->calls, e->clock, e->site >> 2, (enum event_kind)(e->site & 3), e->sp);
    }
    flush(t);
}

void thin_free(struct thin *t, uint64_t ticks) {
    if (!t)
        return;
    calls_finish(t->calls, ticks, true);
    flush(t);
    calls_free(t->calls);
    ARRAY_FREE(&t->open);
    free(t);
}
