/* See walk.h. Merges the group's streams by time, and passes shown calls to the visitor. */
#include "analyze/walk.h"

#include "base/mem.h"

/* A stream of the group. */
struct input {
    uint32_t stream;
    uint32_t thread; /* its index in the group */
    struct trace_cursor *cursor;
    const struct trace_item *items; /* [next … count): decoded, not yet taken */
    size_t next, count;
    uint64_t ticks; /* of the next item */
    bool ended;     /* the thread has ended */
};

struct walk {
    const struct source *source;
    const struct visitor *visitor;
    struct names *names;
    struct view_filter *filter;
    struct calls *calls;
    struct input *inputs; /* all streams of the group */
    struct input **heap;  /* streams with items left, earliest next item first */
    uint32_t count;       /* of `heap` */
    uint32_t input_count; /* all */
    struct input *input;  /* the one whose items are being taken */
    uint64_t now_ns;
    uint64_t threshold_ns;
    uint32_t depth; /* limit */
    bool early;     /* the last item was before the span */
};

/* Kept for each open call, in call.user. */
union state {
    uint64_t user;
    struct {
        uint32_t shown : 1;
        uint32_t above : 31; /* number of shown callers */
        uint32_t value;      /* visitor.open()'s of the call, or of its nearest shown caller */
    };
};
_Static_assert(sizeof(union state) == sizeof(uint64_t), "is call.user");

/* True if the thread of calls that begin now is shown. */
static bool shows_thread(const struct walk *w) {
    return w->input_count == 1 ||
           view_filter_shows_thread(w->filter,
                                    trace_reader_thread(w->source->reader, w->input->stream));
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    struct walk *w = ctx;
    union state up = {.user = parent ? parent->user : 0}, own = {0};
    if (!parent)
        up.value = WALK_NONE;
    own.above = (up.above + up.shown) & 0x7fffffff;
    own.value = up.value;
    uint32_t function = names_index(w->names, call->id);
    own.shown = own.above < w->depth && call->depth < w->filter->recorded_depth &&
                view_filter_shows(w->filter, function) && shows_thread(w);
    if (own.shown && w->visitor->open) {
        struct walk_call shown = {.function = function,
                                  .stream = w->input->stream,
                                  .depth = own.above,
                                  .stack = call->stack,
                                  .chain = call->chain,
                                  .caller_value = up.value,
                                  .start_ns = call->start,
                                  .before = call->before};
        own.value = w->visitor->open(w->visitor->ctx, &shown);
    }
    call->user = own.user;
}

/* A call that the span cuts may have been as long as -t of the recording demands. */
static bool is_brief(const struct walk *w, const struct call *call) {
    const struct view_spec *spec = &w->filter->spec;
    uint64_t duration = call->end - call->start;
    bool is_cut = (spec->since_ns && call->start <= spec->since_ns) || call->end >= spec->until_ns;
    if (call->before || w->early)
        return w->early;
    return duration < w->threshold_ns || (duration < w->filter->recorded_ns && !is_cut);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    struct walk *w = ctx;
    union state own = {.user = call->user};
    uint64_t duration = call->end - call->start;
    bool brief = is_brief(w, call);
    if ((!own.shown || brief) && parent)
        parent->child_ticks -= duration - call->child_ticks; /* now the parent's own time */
    if (!own.shown || !w->visitor->close)
        return;
    union state up = {.user = parent ? parent->user : 0};
    uint32_t function = names_index(w->names, call->id);
    bool missed = call->how == CALL_MISSED;
    bool unseen = call->how == CALL_UNWOUND || call->how == CALL_THREAD_ENDED;
    bool stays = call->how == CALL_OPEN || call->how == CALL_THREAD_ENDED;
    uint32_t stream = w->inputs[call->thread].stream;
    struct walk_call shown = {.function = function,
                              .stream = stream,
                              .end_stream = stays ? stream : w->input->stream,
                              .depth = own.above,
                              .stack = call->stack,
                              .chain = call->chain,
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

/* ---- the streams of a group, merged by time ---- */

static bool before(const struct input *a, const struct input *b) {
    return a->ticks < b->ticks || (a->ticks == b->ticks && a->stream < b->stream);
}

static void sift_down(struct walk *w, uint32_t i) {
    struct input *moved = w->heap[i];
    for (uint32_t child; (child = 2 * i + 1) < w->count; i = child) {
        if (child + 1 < w->count && before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!before(w->heap[child], moved))
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = moved;
}

/* The stream with the next item after the first one's; NULL: there is no other. */
static const struct input *second(const struct walk *w) {
    if (w->count < 2)
        return NULL;
    bool right = w->count > 2 && before(w->heap[2], w->heap[1]);
    return w->heap[right ? 2 : 1];
}

static void use_input(struct walk *w, struct input *input) {
    if (w->input_count > 1)
        calls_set_thread(w->calls, input->thread);
    w->input = input;
}

/* No block is read here: the reader knows the time of each stream's first item. */
struct walk *walk_new(const struct source *source, struct stream_group group,
                      const struct visitor *visitor) {
    static const struct calls_ops ops = {on_open, on_close};
    const struct view_spec *spec = &source->filter->spec;
    struct walk *w = mem_alloc(sizeof *w);
    w->source = source;
    w->visitor = visitor;
    w->names = source->names;
    w->filter = source->filter;
    w->threshold_ns = spec->threshold_ns;
    w->depth = spec->depth ? spec->depth : UINT32_MAX;
    w->now_ns = spec->since_ns; /* earlier events count as happening then */
    w->inputs = mem_alloc(group.count * sizeof *w->inputs);
    w->heap = mem_alloc(group.count * sizeof *w->heap);
    for (uint32_t i = 0; i < group.count; i++) {
        const struct trace_thread *thread = trace_reader_thread(source->reader, group.streams[i]);
        w->inputs[i] = (struct input){.stream = group.streams[i], .thread = i};
        w->inputs[i].ticks = trace_reader_first_ticks(source->reader, group.streams[i]);
        w->heap[i] = &w->inputs[i];
        if (i)
            calls_add_thread(w->calls, thread);
        else
            w->calls = calls_new(thread, &ops, w);
    }
    if (names_grow_stacks(w->names))
        calls_expect_split_stacks(w->calls);
    w->count = w->input_count = group.count;
    for (uint32_t i = w->count / 2; i-- > 0;)
        sift_down(w, i);
    use_input(w, w->heap[0]);
    return w;
}

/* Ends the calls on the thread's own stack. Its other stacks may continue in other threads. */
static void end_input(struct walk *w, struct input *input) {
    trace_cursor_free(input->cursor);
    input->cursor = NULL;
    w->heap[0] = w->heap[--w->count];
    if (!w->count)
        return;
    calls_finish_thread(w->calls, w->now_ns, input->ended);
    sift_down(w, 0);
}

static bool finish(struct walk *w, uint64_t ns) {
    bool ended = true;
    w->now_ns = ns;
    for (uint32_t i = 0; i < w->input_count; i++) {
        ended &= w->inputs[i].ended;
        trace_cursor_free(w->inputs[i].cursor);
        w->inputs[i].cursor = NULL;
    }
    w->count = 0;
    calls_finish(w->calls, ns, ended);
    return false;
}

/* Reads more items of INPUT. False: it has ended. */
static bool refill(struct walk *w, struct input *input) {
    struct err err;
    if (!input->cursor)
        trace_cursor_open(w->source->reader, input->stream, &input->cursor, NULL);
    ptrdiff_t count = trace_cursor_batch(input->cursor, &input->items, &err);
    if (count < 0)
        calls_gap(w->calls);
    if (count < 0 && w->source->on_damage)
        w->source->on_damage(w->source->ctx, &err);
    input->next = 0;
    input->count = count > 0 ? (size_t)count : 0;
    if (count > 0)
        input->ticks = input->items[0].ticks;
    if (count > 0 && w->source->on_progress)
        w->source->on_progress(w->source->ctx, (size_t)count);
    return count != 0;
}

static void take_item(struct walk *w, const struct trace_item *item) {
    if (item->kind == TRACE_EVENT) {
        calls_event(w->calls, w->now_ns, item->id, item->event, item->sp);
    } else if (item->kind == TRACE_FRAMES) {
        calls_frames(w->calls, w->now_ns, item->frames);
    } else if (item->kind == TRACE_THREAD_END) {
        w->input->ended = true;
    } else {
        if (w->visitor->lost && !w->early)
            w->visitor->lost(w->visitor->ctx, w->input->stream, w->now_ns, item->lost);
    }
}

/* Takes INPUT's items up to time UNTIL. False: the span is over. */
static bool take_items(struct walk *w, struct input *input, uint64_t until) {
    const struct view_spec *spec = &w->filter->spec;
    const struct trace_item *item = input->items + input->next, *end = input->items + input->count;
    for (; item < end && item->ticks <= until; item++) {
        uint64_t ns = trace_reader_ns(w->source->reader, item->ticks);
        if (ns > spec->until_ns) {
            w->early = false; /* open calls have lasted for the whole span */
            return finish(w, spec->until_ns);
        }
        w->early = ns < spec->since_ns;
        w->now_ns = ns > w->now_ns ? ns : w->now_ns; /* a damaged file may step back */
        take_item(w, item);
    }
    input->next = (size_t)(item - input->items);
    if (item < end)
        input->ticks = item->ticks;
    return true;
}

bool walk_step(struct walk *w) {
    if (!w->count)
        return false;
    struct input *input = w->heap[0];
    if (input != w->input)
        use_input(w, input);
    if (input->next == input->count) {
        if (!refill(w, input)) {
            end_input(w, input);
            return w->count || finish(w, w->now_ns);
        }
    }
    const struct input *other = second(w);
    if (!take_items(w, input, other ? other->ticks : UINT64_MAX))
        return false;
    if (other)
        sift_down(w, 0);
    return true;
}

uint64_t walk_now_ns(const struct walk *w) { return w->now_ns; }
bool walk_is_early(const struct walk *w) { return w->early; }

void walk_free(struct walk *w) {
    if (!w)
        return;
    for (uint32_t i = 0; i < w->input_count; i++)
        trace_cursor_free(w->inputs[i].cursor);
    calls_free(w->calls);
    free(w->inputs);
    free(w->heap);
    free(w);
}

bool walk_shows(const struct source *source, struct stream_group group) {
    bool shown = false;
    for (uint32_t i = 0; i < group.count; i++)
        shown |= view_filter_shows_thread(source->filter,
                                          trace_reader_thread(source->reader, group.streams[i]));
    return shown;
}

void walk_stream_group(const struct source *source, struct stream_group group,
                       const struct visitor *visitor) {
    if (!walk_shows(source, group))
        return;
    struct walk *w = walk_new(source, group, visitor);
    while (walk_step(w))
        continue;
    walk_free(w);
}

void walk_all(const struct source *source, const struct visitor *visitor) {
    for (size_t i = 0; i < stream_groups_count(source->stream_groups); i++)
        walk_stream_group(source, stream_groups_at(source->stream_groups, i), visitor);
}
