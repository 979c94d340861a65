/* See walk_state.h. Leaves out blocks by checkpoints (trace/reader.h): those before the span, and
 * behind it those in which the shown open calls go on. */
#include "analyze/group_reader.h"
#include "analyze/walk.h"
#include "analyze/walk_state.h"
#include "analyze/walk_ticks.h"
#include "base/wide.h"

/* Whether all that callees take is known in ticks, or not needed. */
static bool knows_callees(const struct walk *w) {
    const struct view_filter *f = w->filter;
    bool all = !f->verdicts && !f->spec.depth && !f->spec.threshold_ns &&
               f->recorded_depth == UINT32_MAX && !f->recorded_ns;
    return w->visitor->no_self || all;
}

bool walk_keeps_its_stack(const struct source *s, struct stream_group group) {
    const struct trace_thread *t = trace_reader_thread(s->reader, group.streams[0]);
    return group.count == 1 && !names_grow_stacks(s->names) && t->stack_high > t->stack_low &&
           !trace_reader_uses_other_stacks(s->reader, group.streams[0]) &&
           !trace_reader_has_inner_stacks(s->reader, group.streams[0]);
}

static bool has_checkpoints(const struct source *s, struct stream_group group) {
    return group.count == 1 && !names_grow_stacks(s->names) &&
           trace_reader_has_checkpoints(s->reader, group.streams[0]);
}

bool walk_may_seek(const struct source *s, struct stream_group group) {
    return !s->reads_all && has_checkpoints(s, group);
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

/* A call of a checkpoint, as it is at UNTIL. */
static struct call resumed(const struct walk *w, const struct trace_open_call *open,
                           uint64_t until) {
    struct call call = {.sp = open->sp,
                        .id = open->id,
                        .chain = open->chain,
                        .before = open->before,
                        .start = ns_of(w, open->start),
                        .child_ticks = length_ns(w, open->child_ticks)};
    set_paused(w, open->start, until, &call);
    return call;
}

struct left_out { /* what is behind FROM, up to UNTIL (ticks) */
    uint64_t from, until;
};

/* Ticks of the pauses in P that end in SPAN. OPEN: without what comes before its beginning. */
static uint64_t paused_in(const struct trace_pause *p, size_t count, struct left_out span,
                          bool open) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (p[i].ticks > span.from && p[i].ticks <= span.until)
            sum += p[i].length - (open ? walk_ticks_before(span.from, p[i].ticks, p[i].length) : 0);
    return sum;
}

/* The same as open_calls(), for walk_ticks.h. */
static void resume_ticks(struct walk *w, const struct trace_checkpoint *c, uint32_t kept,
                         struct left_out span) {
    size_t count;
    const struct trace_pause *p =
        trace_reader_pauses(w->source->reader, w->group.streams[0], &count);
    w->paused_ticks += paused_in(p, count, span, false);
    w->lengths.count = kept;
    if (kept)
        w->lengths.at[kept - 1].callees = c->calls[kept - 1].child_ticks;
    for (uint32_t i = kept; i < c->count; i++) {
        const struct trace_open_call *open = &c->calls[i];
        uint64_t paused = paused_in(p, count, (struct left_out){open->start, span.until}, true);
        ARRAY_PUSH(&w->lengths,
                   ((struct call_ticks){open->start, w->paused_ticks - paused, open->child_ticks}));
    }
}

/* Opens the calls of C behind the first KEPT. Each begins with the pauses of its thread before. */
static void open_calls(struct walk *w, const struct trace_checkpoint *c, uint32_t kept,
                       struct left_out span) {
    struct call *list = mem_alloc(c->count * sizeof *list + 1);
    uint64_t paused = paused_between(w, span.from, span.until), before = w->thread->paused_ns;
    for (uint32_t i = kept ? kept - 1 : 0; i < c->count; i++)
        list[i] = resumed(w, &c->calls[i], span.until);
    calls_resume(w->calls, kept, paused, list, kept);
    for (uint32_t i = kept; i < c->count; i++) {
        w->thread->paused_ns = before + paused - list[i].paused - list[i].late;
        calls_resume(w->calls, i, 0, list, i + 1);
    }
    w->thread->paused_ns = before + paused;
    w->paused_ns += paused;
    if (w->counts_ticks)
        resume_ticks(w, c, kept, span);
    free(list);
}

/* Goes on at checkpoint C, where the first KEPT open calls are open, too. FROM: ticks so far. */
static void go_to(struct walk *w, const struct trace_checkpoint *c, uint32_t kept, uint64_t from) {
    struct left_out span = {from, ticks_before(w, c->block)};
    uint64_t first = trace_reader_block(w->source->reader, c->block).first;
    while (w->fork_ticks < first)
        walk_skip_fork(w);
    w->now_ns = ns_of(w, span.until);
    w->ticks = span.until;
    open_calls(w, c, kept, span);
    group_reader_seek(w->reader, c->block);
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

/* ---- behind damage ---- */

static void note_open(void *ctx, struct call *call, struct call *parent, uint64_t paused) {
    struct walk *w = ctx;
    ARRAY_PUSH(&w->early_calls, ((struct early_call){call, parent, paused}));
}

/* How many of the open calls, the outermost ones, are open at C, too. */
static uint32_t count_kept(struct walk *w, const struct trace_checkpoint *c) {
    uint32_t kept = 0;
    calls_each_open(w->calls, note_open);
    for (; kept < c->count && kept < w->early_calls.count; kept++) {
        const struct call *call = w->early_calls.at[kept].call;
        const struct trace_open_call *open = &c->calls[kept];
        if (call->sp != open->sp || call->id != open->id || call->start != ns_of(w, open->start) ||
            call->depth != kept)
            break;
    }
    ARRAY_FREE(&w->early_calls);
    return kept;
}

/* Goes on at C, without BLOCK before it. */
static void leave_out(struct walk *w, size_t block, const struct trace_checkpoint *c) {
    uint64_t last = trace_reader_block(w->source->reader, block).last;
    if (!w->thread->begun)
        walk_begin_thread(w);
    if (w->fork_ticks < last)
        walk_note_forks(w, last);
    uint32_t kept = count_kept(w, c);
    calls_cut(w->calls, w->now_ns, kept);
    go_to(w, c, kept, w->ticks);
    walk_advance(w, w->now_ns, last);
}

uint64_t walk_seek_damage(struct walk *w) {
    struct trace_checkpoint c;
    uint32_t lost, stream = w->group.streams[0];
    if (!has_checkpoints(w->source, w->group) || w->thread->gap)
        return 0;
    size_t block = group_reader_damaged_block(w->reader, &lost);
    if (block == NO_BLOCK || block + 1 >= trace_reader_end_block(w->source->reader, stream))
        return 0;
    struct trace_seeker *seeker = trace_seeker_new(w->source->reader);
    bool found = trace_seeker_at(seeker, stream, block + 1, &c);
    if (found)
        leave_out(w, block, &c);
    else if (w->visitor->torn)
        w->visitor->torn(w->visitor->ctx, stream);
    trace_seeker_free(seeker);
    return found ? lost : 0;
}
