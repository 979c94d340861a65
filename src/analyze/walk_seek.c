/* See walk_state.h. Leaves out blocks by checkpoints (trace/reader.h): those before the span, and
 * behind it those in which the shown open calls go on. */
#include "analyze/group_reader.h"
#include "analyze/walk.h"
#include "analyze/walk_state.h"
#include "base/wide.h"

/* Whether all that callees take is known in ticks, or not needed. */
static bool knows_callees(const struct walk *w) {
    const struct view_filter *f = w->filter;
    bool all = !f->verdicts && !f->spec.depth && !f->spec.threshold_ns &&
               f->recorded_depth == UINT32_MAX && !f->recorded_ns;
    return w->visitor->no_self || all;
}

bool walk_may_seek(const struct source *s, struct stream_group group) {
    return !s->reads_all && group.count == 1 && !names_grow_stacks(s->names) &&
           trace_reader_has_checkpoints(s->reader, group.streams[0]);
}

static uint64_t ns_of(const struct walk *w, uint64_t ticks) {
    return trace_scale_ns(&w->scale, ticks);
}

static uint64_t length_ns(const struct walk *w, uint64_t ticks) {
    return wide_shift_right(wide_product(ticks, w->scale.scale), SCALE_BITS);
}

/* The pause as walk.c takes it. */
static uint64_t pause_ns(const struct walk *w, const struct trace_pause *p) {
    uint64_t end = ns_of(w, p->ticks), start = ns_of(w, p->ticks - p->length);
    return end > start ? end - start : 0;
}

/* Pauses that end behind FROM, and at UNTIL or earlier (ticks). */
static uint64_t paused_between(const struct walk *w, uint64_t from, uint64_t until) {
    uint64_t sum = 0;
    size_t count;
    const struct trace_pause *p =
        trace_reader_pauses(w->source->reader, w->group.streams[0], &count);
    for (const struct trace_pause *end = p + count; p < end; p++)
        if (p->ticks > from && p->ticks <= until)
            sum += pause_ns(w, p);
    return sum;
}

/* Sets the pauses of CALL, which began at START, until UNTIL (ticks). */
static void set_paused(const struct walk *w, uint64_t start, uint64_t until, struct call *call) {
    size_t count;
    const struct trace_pause *p =
        trace_reader_pauses(w->source->reader, w->group.streams[0], &count);
    for (const struct trace_pause *end_pause = p + count; p < end_pause; p++) {
        if (p->ticks <= start || p->ticks > until)
            continue;
        uint64_t length = pause_ns(w, p), end = ns_of(w, p->ticks);
        uint64_t late = call->start + length > end ? call->start + length - end : 0;
        late = late < length ? late : length;
        call->paused += length - late;
        call->late += late;
    }
}

/* The time of the last item before BLOCK. */
static uint64_t ticks_before(const struct walk *w, size_t block) {
    return trace_reader_block(w->source->reader, block - 1).last;
}

/* Goes on at checkpoint C, where the first KEPT open calls are open, too. FROM: ticks so far. */
static void go_to(struct walk *w, const struct trace_checkpoint *c, uint32_t kept, uint64_t from) {
    uint64_t until = ticks_before(w, c->block), paused = paused_between(w, from, until);
    struct call *list = mem_alloc(c->count * sizeof *list + 1);
    for (uint32_t i = kept ? kept - 1 : 0; i < c->count; i++) {
        const struct trace_open_call *open = &c->calls[i];
        list[i] = (struct call){.sp = open->sp,
                                .id = open->id,
                                .chain = open->chain,
                                .before = open->before,
                                .start = ns_of(w, open->start),
                                .child_ticks = length_ns(w, open->child_ticks)};
        set_paused(w, open->start, until, &list[i]);
    }
    uint64_t first = trace_reader_block(w->source->reader, c->block).first;
    while (w->fork_ticks < first)
        walk_skip_fork(w);
    w->now_ns = ns_of(w, until);
    w->thread->paused_ns += paused;
    w->paused_ns += paused;
    calls_resume(w->calls, kept, paused, list, c->count);
    group_reader_seek(w->reader, c->block);
    free(list);
}

/* Whether a call of C may be shown. */
static bool shows_any(const struct walk *w, const struct trace_checkpoint *c) {
    bool shows = false;
    for (uint32_t i = 0; i < c->count && !shows; i++)
        shows = view_filter_verdict(w->filter, names_index(w->names, c->calls[i].id)) & VIEW_SHOWS;
    return shows;
}

void walk_seek_begin(struct walk *w, uint64_t ticks) {
    struct trace_checkpoint c;
    uint32_t stream = w->group.streams[0];
    if (!walk_may_seek(w->source, w->group))
        return;
    w->seeker = trace_seeker_new(w->source->reader);
    if (!ticks || !trace_seeker_before(w->seeker, stream, ticks - 1, &c) ||
        c.block == trace_reader_first_block(w->source->reader, stream) ||
        (!knows_callees(w) && shows_any(w, &c)))
        return;
    w->thread->begun = true;
    go_to(w, &c, 0, 0);
}

/* ---- behind the span ---- */

static void note_shown(void *ctx, struct call *call, struct call *parent, uint64_t paused) {
    struct walk *w = ctx;
    (void)parent;
    (void)paused;
    union state own = {.user = call->user};
    if (own.shown)
        w->innermost = (struct open_call_key){call->depth, call->id, call->sp, call->start};
}

void walk_seek_end(struct walk *w) {
    struct trace_checkpoint c;
    uint32_t stream = w->group.streams[0];
    if (!w->seeker || w->early || !w->open_shown || w->thread->gap || !knows_callees(w))
        return;
    size_t block = group_reader_block(w->reader);
    if (block == NO_BLOCK || block == trace_reader_first_block(w->source->reader, stream) ||
        ns_of(w, trace_reader_block(w->source->reader, block).first) <= w->filter->spec.until_ns)
        return;
    calls_each_open(w->calls, note_shown);
    if (trace_seeker_last_open(w->seeker, stream, block, &w->innermost, &c) && c.block > block)
        go_to(w, &c, w->innermost.depth + 1, ticks_before(w, block));
}
