#include "session/thin.h"

#include "base/mem.h"

enum { BATCH = 4096 };

struct record { /* an open call; call.user is its index + 1 */
    uint64_t start, sp;
    uint32_t id;
    bool wanted;  /* not too deep */
    bool written; /* its entry is in the trace */
    bool ended;   /* closed, but younger calls (of other stacks) are still open */
};

struct thin {
    struct thin_options options;
    struct calls *calls;
    uint32_t stream;
    ARRAY(struct record) open; /* in order of opening */
    size_t settled;            /* records below this one are written or unwanted */
    struct trace_event batch[BATCH];
    size_t count;
};

static void flush(struct thin *t) {
    if (t->count)
        trace_writer_events(t->options.writer, t->stream, t->batch, t->count);
    t->count = 0;
}

static void put(struct thin *t, uint64_t ticks, const struct record *r, enum event_kind kind) {
    t->batch[t->count++] = (struct trace_event){ticks, r->id << 2 | kind, r->sp};
    if (t->count == BATCH)
        flush(t);
}

/* What has shown that the call is left may not be written itself. */
static void put_unwound(struct thin *t, uint64_t ticks, const struct record *r) {
    struct record above = {.id = r->id, .sp = r->sp + 1};
    put(t, ticks, &above, EVENT_CONTROL);
}

/* Writes the entries of all open calls that are still unwritten. Those that are younger than the
 * call that asks for it belong to other stacks. */
static void write_open(struct thin *t) {
    for (; t->settled < t->open.count; t->settled++) {
        struct record *r = &t->open.at[t->settled];
        if (r->wanted && !r->ended && !r->written) {
            put(t, r->start, r, EVENT_ENTRY);
            r->written = true;
        }
    }
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct thin *t = ctx;
    bool wanted = !t->options.depth || call->depth < t->options.depth;
    struct record r = {.start = call->start, .id = call->id, .sp = call->sp, .wanted = wanted};
    ARRAY_PUSH(&t->open, r);
    call->user = (void *)(uintptr_t)t->open.count;
    if (!t->options.threshold_ticks)
        write_open(t);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct thin *t = ctx;
    size_t index = (uintptr_t)call->user - 1;
    struct record *r = &t->open.at[index];
    if (r->written || (r->wanted && call->end - call->start >= t->options.threshold_ticks))
        write_open(t);
    if (r->written && (call->how == CALL_RETURNED || call->how == CALL_TAIL))
        put(t, call->end, r, call->how == CALL_TAIL ? EVENT_TAIL : EVENT_RETURN);
    if (r->written && call->how == CALL_UNWOUND)
        put_unwound(t, call->end, r);
    r->ended = true;
    while (t->open.count && t->open.at[t->open.count - 1].ended)
        t->open.count--;
    if (t->settled > t->open.count)
        t->settled = t->open.count;
}

struct thin *thin_new(const struct thin_options *options, const struct trace_thread *thread) {
    static const struct calls_ops ops = {on_open, on_close};
    struct thin *t = mem_alloc(sizeof *t);
    t->options = *options;
    t->stream = thread->stream;
    t->calls = calls_new(thread, &ops, t);
    return t;
}

void thin_events(struct thin *t, const struct trace_event *events, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct trace_event *e = &events[i];
        calls_event(t->calls, e->ticks, e->site >> 2, (enum event_kind)(e->site & 3), e->sp);
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
