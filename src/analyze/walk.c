#include "analyze/walk.h"

#include "base/mem.h"

struct walk {
    const struct source *source;
    const struct visitor *visitor;
    struct names *names;
    struct filter *filter;
    struct trace_cursor *cursor;
    struct calls *calls;
    uint64_t now_ns;
    uint64_t threshold_ns;
    uint32_t depth; /* limit */
    bool early;     /* what is read lies before the span */
    bool ended;     /* the thread has */
};

/* What is kept of an open call, in call.user. */
union state {
    void *user;
    struct {
        uint32_t shown : 1;
        uint32_t above : 31; /* shown callers */
        uint32_t value;      /* of the call, or of its nearest shown caller */
    };
};
_Static_assert(sizeof(union state) == sizeof(void *), "fits a pointer");

static void on_open(void *ctx, struct call *call, struct call *parent) {
    struct walk *w = ctx;
    union state up = {.user = parent ? parent->user : NULL}, own = {0};
    if (!parent)
        up.value = WALK_NONE;
    own.above = (up.above + up.shown) & 0x7fffffff;
    own.value = up.value;
    uint32_t function = names_index(w->names, call->id);
    own.shown = own.above < w->depth && filter_shows(w->filter, function);
    if (own.shown && w->visitor->open) {
        struct walk_call shown = {.function = function,
                                  .depth = own.above,
                                  .stack = call->stack,
                                  .caller_value = up.value,
                                  .start_ns = call->start,
                                  .before = call->before};
        own.value = w->visitor->open(w->visitor->ctx, &shown);
    }
    call->user = own.user;
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    struct walk *w = ctx;
    union state own = {.user = call->user};
    uint64_t duration = call->end - call->start;
    bool brief = (duration < w->threshold_ns && !call->before) || w->early;
    if ((!own.shown || brief) && parent)
        parent->child_ticks -= duration - call->child_ticks; /* that time becomes its own */
    if (!own.shown || !w->visitor->close)
        return;
    union state up = {.user = parent ? parent->user : NULL};
    uint32_t function = names_index(w->names, call->id);
    bool missed = call->how == CALL_MISSED;
    bool unseen = call->how == CALL_UNWOUND || call->how == CALL_ENDED;
    struct walk_call shown = {.function = function,
                              .depth = own.above,
                              .stack = call->stack,
                              .value = own.value,
                              .caller_value = parent ? up.value : WALK_NONE,
                              .start_ns = call->start,
                              .before = call->before,
                              .end_ns = call->end,
                              .self_ns = duration - call->child_ticks,
                              .how = call->how,
                              .inferred = missed || (unseen && !names_exact(w->names, function)),
                              .brief = brief};
    w->visitor->close(w->visitor->ctx, &shown);
}

struct walk *walk_new(const struct source *source, uint32_t stream, const struct visitor *visitor) {
    static const struct calls_ops ops = {on_open, on_close};
    const struct filter_spec *spec = &source->filter->spec;
    struct walk *w = mem_alloc(sizeof *w);
    w->source = source;
    w->visitor = visitor;
    w->names = source->names;
    w->filter = source->filter;
    w->threshold_ns = spec->threshold_ns;
    w->depth = spec->depth ? spec->depth : UINT32_MAX;
    w->now_ns = spec->since_ns; /* what lies before happens then */
    w->calls = calls_new(trace_reader_thread(source->reader, stream), &ops, w);
    if (names_grow_stacks(w->names))
        calls_expect_pieces(w->calls);
    trace_cursor_open(source->reader, stream, &w->cursor, NULL);
    return w;
}

static bool finish(struct walk *w, uint64_t ns) {
    w->now_ns = ns;
    calls_finish(w->calls, ns, w->ended);
    trace_cursor_free(w->cursor);
    w->cursor = NULL;
    return false;
}

static void take_item(struct walk *w, const struct trace_item *item) {
    if (item->kind == TRACE_EVENT) {
        calls_event(w->calls, w->now_ns, item->id, item->event, item->sp);
    } else if (item->kind == TRACE_FRAMES) {
        calls_frames(w->calls, w->now_ns, item->frames);
    } else if (item->kind == TRACE_THREAD_END) {
        w->ended = true;
    } else {
        if (w->visitor->lost && !w->early)
            w->visitor->lost(w->visitor->ctx, w->now_ns, item->lost);
    }
}

bool walk_step(struct walk *w) {
    const struct filter_spec *spec = &w->filter->spec;
    const struct trace_item *items;
    struct err err;
    if (!w->cursor)
        return false;
    ptrdiff_t count = trace_cursor_batch(w->cursor, &items, &err);
    if (count < 0 && w->source->on_damage)
        w->source->on_damage(w->source->ctx, &err);
    if (count == 0)
        return finish(w, w->now_ns);
    for (ptrdiff_t i = 0; i < count; i++) {
        uint64_t ns = trace_reader_ns(w->source->reader, items[i].ticks);
        if (ns > spec->until_ns) {
            w->early = false; /* what is open has been so all the span */
            return finish(w, spec->until_ns);
        }
        w->early = ns < spec->since_ns;
        w->now_ns = ns > w->now_ns ? ns : w->now_ns; /* a damaged file may step back */
        take_item(w, &items[i]);
    }
    if (count > 0 && w->source->on_progress)
        w->source->on_progress(w->source->ctx, (size_t)count);
    return true;
}

uint64_t walk_now_ns(const struct walk *w) { return w->now_ns; }
bool walk_is_early(const struct walk *w) { return w->early; }

void walk_free(struct walk *w) {
    if (!w)
        return;
    calls_free(w->calls);
    trace_cursor_free(w->cursor);
    free(w);
}

void walk_stream(const struct source *source, uint32_t stream, const struct visitor *visitor) {
    if (!filter_shows_thread(source->filter, trace_reader_thread(source->reader, stream)))
        return;
    struct walk *w = walk_new(source, stream, visitor);
    while (walk_step(w))
        continue;
    walk_free(w);
}

void walk_all(const struct source *source, const struct visitor *visitor) {
    size_t count = trace_reader_stream_count(source->reader);
    for (size_t i = 0; i < count; i++)
        walk_stream(source, (uint32_t)i, visitor);
}
