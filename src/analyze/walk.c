/* See walk.h. Passes the shown calls of a group's streams to the visitor. */
#include "analyze/walk.h"

#include "analyze/digests.h"
#include "analyze/gaps.h"
#include "analyze/group_reader.h"
#include "analyze/inner_starts.h"
#include "analyze/walk_state.h"
#include "analyze/walk_ticks.h"
#include "trace/plain_calls.h"

static inline uint32_t function_of(struct walk *w, uint32_t id) {
    uint32_t slot = id % WALK_RECENT;
    if (w->recent[slot].id != id) {
        w->recent[slot].id = id;
        w->recent[slot].function = names_index(w->names, id);
    }
    return w->recent[slot].function;
}

/* True if the thread of calls that begin now is shown. */
static bool shows_thread(const struct walk *w) {
    return w->group.count == 1 || view_filter_shows_stream(w->filter, w->thread->stream);
}

/* Opens CALL for the visitor. PAUSED_NS: pauses of its thread until it began. Returns its value. */
static uint32_t pass_opened(struct walk *w, const struct call *call, const union state *own,
                            uint32_t caller_value, uint64_t paused_ns) {
    struct walk_call shown = {.function = function_of(w, call->id),
                              .id = call->id,
                              .stream = w->threads[call->thread].stream,
                              .depth = own->above,
                              .stack = call->stack,
                              .chain = call->chain,
                              .caller_value = caller_value,
                              .start_ns = call->start,
                              .thread_paused_ns = paused_ns,
                              .before = call->before,
                              .way_end = own->way_end,
                              .clipped = call->start < w->filter->spec.since_ns};
    return w->visitor->open(w->visitor->ctx, &shown);
}

static inline bool is_in_depth(const struct walk *w, const struct call *call, uint32_t above) {
    return above < w->depth && call->depth < w->filter->recorded_depth && shows_thread(w);
}

static __attribute__((noinline)) bool meets_condition(const struct walk *w,
                                                      const struct call *call) {
    return call_conditions_hold(w->filter->conditions, w->threads[call->thread].stream,
                                call->start);
}

/* What the filter says of CALL, in the call with the state UP. */
static inline void apply_filter(struct walk *w, const struct call *call, const union state *up,
                                union state *own) {
    unsigned verdict = view_filter_verdict(w->filter, function_of(w, call->id));
    own->within = up->within || verdict & VIEW_ROOT;
    bool chosen = verdict & VIEW_SHOWS || (verdict & VIEW_BELOW && own->within);
    chosen = chosen && is_in_depth(w, call, own->above);
    if (chosen && verdict & VIEW_CONDITION)
        chosen = meets_condition(w, call);
    own->silent = chosen && verdict & VIEW_SILENT && !w->visitor->wants_silent;
    own->way_end = (verdict & VIEW_WAY_END) != 0;
    own->passes = chosen && !own->silent;
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    struct walk *w = ctx;
    union state up = {.user = parent ? parent->user : 0}, own = {0};
    if (w->counts_ticks)
        walk_ticks_open(w, call->depth);
    if (!parent)
        up.value = WALK_NONE;
    own.above = (up.above + up.passes) & STATE_ABOVE;
    own.value = up.value;
    if (w->filter->verdicts)
        apply_filter(w, call, &up, &own);
    else
        own.passes = is_in_depth(w, call, own.above);
    own.shown = own.passes && !w->early && call->start <= w->filter->spec.until_ns;
    own.leads = own.shown & own.way_end;
    w->open_shown += own.shown;
    if (own.shown && w->visitor->open)
        own.value = pass_opened(w, call, &own, up.value, w->thread->paused_ns);
    call->user = own.user;
}

/* ---- the beginning of the span ---- */

static void note_early(void *ctx, struct call *call, struct call *parent, uint64_t paused) {
    struct walk *w = ctx;
    ARRAY_PUSH(&w->early_calls, ((struct early_call){call, parent, paused}));
}

/* Callers before callees. */
static int compare_early(const void *a, const void *b) {
    const struct call *x = ((const struct early_call *)a)->call;
    const struct call *y = ((const struct early_call *)b)->call;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->stack != y->stack ? (x->stack > y->stack) - (x->stack < y->stack)
                                : (x->depth > y->depth) - (x->depth < y->depth);
}

static void open_early(struct walk *w, const struct early_call *e) {
    union state own = {.user = e->call->user}, up = {.user = e->parent ? e->parent->user : 0};
    own.value = e->parent ? up.value : WALK_NONE;
    own.shown = own.passes && e->call->start <= w->filter->spec.until_ns;
    own.leads = own.shown && own.way_end;
    w->open_shown += own.shown;
    uint64_t paused = w->threads[e->call->thread].paused_ns, in_call = e->paused + e->call->late;
    if (own.shown && w->visitor->open)
        own.value =
            pass_opened(w, e->call, &own, own.value, paused > in_call ? paused - in_call : 0);
    e->call->user = own.user;
}

static void begin_span(struct walk *w) {
    w->early = false;
    calls_each_open(w->calls, note_early);
    if (w->early_calls.count)
        qsort(w->early_calls.at, w->early_calls.count, sizeof *w->early_calls.at, compare_early);
    for (size_t i = 0; i < w->early_calls.count; i++)
        open_early(w, &w->early_calls.at[i]);
    ARRAY_FREE(&w->early_calls);
}

/* ---- closing ---- */

static bool is_short(const struct walk *w, const struct call *call) {
    uint64_t duration = call_ticks(call);
    if (call->how == CALL_OPEN && w->settled_ns > call->end)
        duration += w->settled_ns - call->end;
    return !call->before && (duration < w->threshold_ns || duration < w->filter->recorded_ns);
}

/* With -C: tells the caller of CALL that it leads to such a function, if CALL does. False: CALL
 * does not. */
static __attribute__((noinline)) bool pass_way_on(const union state *own, struct call *parent) {
    if (!own->leads)
        return false;
    if (parent) {
        union state up = {.user = parent->user};
        up.leads = 1;
        parent->user = up.user;
    }
    return true;
}

struct closing {
    bool brief;
    uint64_t callees; /* ticks, if the walk counts them */
};

static void pass_closed(struct walk *w, const struct call *call, const struct call *parent,
                        const struct closing *closing) {
    const struct view_spec *spec = &w->filter->spec;
    union state own = {.user = call->user}, up = {.user = parent ? parent->user : 0};
    uint32_t function = function_of(w, call->id);
    const struct walk_thread *began = &w->threads[call->thread];
    bool missed = call->how == CALL_MISSED;
    bool unseen = call->how == CALL_UNWOUND || call->how == CALL_THREAD_ENDED;
    bool stays = call->how == CALL_OPEN || call->how == CALL_THREAD_ENDED;
    uint64_t duration = call_ticks(call);
    struct walk_call shown = {.function = function,
                              .id = call->id,
                              .stream = began->stream,
                              .end_stream = stays ? began->stream : w->thread->stream,
                              .depth = own.above,
                              .stack = call->stack,
                              .chain = call->chain,
                              .value = own.value,
                              .caller_value = parent ? up.value : WALK_NONE,
                              .caller_id = parent ? parent->id : UINT32_MAX,
                              .start_ns = call->start,
                              .thread_paused_ns = began->paused_ns - call->late,
                              .before = call->before,
                              .clipped = call->start < spec->since_ns || call->end > spec->until_ns,
                              .end_ns = call->end,
                              .duration_ns = duration,
                              .self_ns =
                                  duration > call->child_ticks ? duration - call->child_ticks : 0,
                              .paused_ns = call->paused,
                              .how = call->how,
                              .inferred = missed || (unseen && !names_exact(w->names, function)),
                              .brief = closing->brief};
    shown.clipped_self_ns =
        w->counts_ticks ? walk_ticks_self(&w->scale, duration, closing->callees) : shown.self_ns;
    if (shown.clipped)
        shown.self_ns = shown.clipped_self_ns;
    w->visitor->close(w->visitor->ctx, &shown);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    struct walk *w = ctx;
    union state own = {.user = call->user};
    bool brief = is_short(w, call);
    if (w->filter->spec.ways.count)
        brief |= !pass_way_on(&own, parent);
    uint64_t self = call_ticks(call);
    self = self > call->child_ticks ? self - call->child_ticks : 0;
    bool hidden = (!own.passes && !own.silent) || brief;
    if (hidden && parent)
        parent->child_ticks -= self; /* now the parent's own time */
    uint64_t callees = w->counts_ticks ? walk_ticks_close(w, call->depth, hidden) : 0;
    w->open_shown -= own.shown;
    if (own.shown && w->visitor->close)
        pass_closed(w, call, parent, &(struct closing){brief, callees});
}

/* ---- forks ---- */

static void await_fork(struct walk *w) {
    w->fork_ticks = w->next_fork < w->fork_count ? w->forks[w->next_fork].ticks : UINT64_MAX;
}

/* Notes the open calls with which FORK's child begins. */
static void note_fork(struct walk *w, struct fork *fork) {
    uint32_t thread = 0;
    while (w->group.streams[thread] != fork->maker)
        thread++;
    if (fork->known)
        return;
    if (w->thread->gap && w->thread == &w->threads[thread])
        walk_open_behind_gap(w);
    struct trace_frame *frames;
    uint32_t count = calls_copied(w->calls, thread, !fork->shares, &frames);
    fork->calls = (struct trace_frames){fork->child, fork->ticks, count, frames};
    fork->known = true;
}

void walk_skip_fork(struct walk *w) {
    w->next_fork++;
    await_fork(w);
}

void walk_note_forks(struct walk *w, uint64_t ticks) {
    for (; w->fork_ticks < ticks; await_fork(w))
        note_fork(w, &w->forks[w->next_fork++]);
}

/* The present thread has no more items. */
static void note_last_forks(struct walk *w) {
    for (size_t i = w->next_fork; i < w->fork_count; i++)
        if (w->forks[i].maker == w->thread->stream)
            note_fork(w, &w->forks[i]);
}

/* ---- items ---- */

void walk_advance(struct walk *w, uint64_t ns, uint64_t ticks) {
    w->now_ns = ns > w->now_ns ? ns : w->now_ns;
    w->ticks = ticks > w->ticks ? ticks : w->ticks;
    if (w->early && w->now_ns >= w->filter->spec.since_ns)
        begin_span(w);
}

void walk_begin_thread(struct walk *w) {
    const struct trace_frames *calls = forks_calls(w->source, w->thread->stream);
    struct walk_thread *t = w->thread;
    t->begun = true;
    t->inner_starts = inner_starts_find(w->source->reader, t->stream, &t->inner_count);
    if (t->inner_count && w->visitor->digests)
        digests_refuse(w->visitor->digests, t->stream);
    if (!calls || !calls->count)
        return;
    walk_advance(w, trace_reader_ns(w->source->reader, calls->ticks), calls->ticks);
    calls_frames(w->calls, w->now_ns, calls);
}

struct walk *walk_new(const struct source *source, struct stream_group group,
                      const struct visitor *visitor) {
    uint64_t since_ns = source->filter->spec.since_ns;
    return walk_new_at(source, group, visitor,
                       since_ns ? trace_reader_ticks(source->reader, since_ns) : 0);
}

/* No block of events is read here. */
struct walk *walk_new_at(const struct source *source, struct stream_group group,
                         const struct visitor *visitor, uint64_t ticks) {
    static const struct calls_ops ops = {.on_open = on_open, .on_close = on_close};
    const struct view_spec *spec = &source->filter->spec;
    struct walk *w = mem_alloc(sizeof *w);
    w->source = source;
    w->visitor = visitor;
    w->names = source->names;
    w->filter = source->filter;
    w->group = group;
    w->threshold_ns = spec->threshold_ns;
    if (!trace_reader_complete(source->reader))
        w->settled_ns = trace_reader_ns(source->reader, trace_reader_settled(source->reader));
    w->depth = spec->depth ? spec->depth : UINT32_MAX;
    w->early = spec->since_ns != 0;
    w->threads = mem_alloc(group.count * sizeof *w->threads);
    for (uint32_t i = 0; i < group.count; i++)
        w->threads[i].stream = group.streams[i];
    w->thread = w->threads;
    w->scale = trace_reader_scale(source->reader);
    bool clips = view_has_span(spec) || visitor->wants_clipped;
    w->counts_ticks = clips && !visitor->no_self && walk_keeps_its_stack(source, group);
    for (int i = 0; i < WALK_RECENT; i++)
        w->recent[i].id = UINT32_MAX; /* no event has it */
    w->reader = group_reader_new(source->reader, group);
    w->calls = group_calls_new(source->reader, source->names, group, &ops, w);
    w->forks = forks_by(source->forks, group.streams[0], &w->fork_count);
    await_fork(w);
    walk_seek_begin(w, ticks);
    return w;
}

static void take_pause(struct walk *w, const struct trace_item *item) {
    const struct view_spec *spec = &w->filter->spec;
    uint64_t start = trace_reader_ns(w->source->reader, item->ticks - item->sp);
    struct walk_pause pause = {.stream = w->thread->stream,
                               .end_ns = w->now_ns,
                               .length_ns = w->now_ns > start ? w->now_ns - start : 0,
                               .cause = (item->id - PAUSE_EVENT) & ~(uint32_t)PAUSE_IN_CALL,
                               .in_call = item->id & PAUSE_IN_CALL,
                               .thread_paused_ns = w->thread->paused_ns};
    if (!pause.in_call) {
        calls_pause(w->calls, pause.end_ns, pause.length_ns);
        w->thread->paused_ns += pause.length_ns;
        w->paused_ns += pause.length_ns;
        if (w->counts_ticks)
            walk_ticks_pause(w, item->ticks, item->sp);
    }
    if (w->visitor->pause && !w->early && w->now_ns <= spec->until_ns)
        w->visitor->pause(w->visitor->ctx, &pause);
}

static void pass_lost(struct walk *w, uint64_t count) {
    if (w->visitor->lost && !w->early && w->now_ns <= w->filter->spec.until_ns)
        w->visitor->lost(w->visitor->ctx, w->thread->stream, w->now_ns, count);
}

static void take_gap(struct walk *w, const struct trace_item *item) {
    calls_gap(w->calls, w->now_ns);
    if (!w->gaps)
        w->gaps = gaps_find(w->source, w->group);
    w->gap_count =
        gaps_number(w->gaps, w->gap_count, (uint32_t)(w->thread - w->threads), item->ticks);
    w->thread->gap = w->gap_count;
    pass_lost(w, item->lost);
}

void walk_open_behind_gap(struct walk *w) {
    struct trace_frames frames =
        gaps_frames(w->gaps, w->thread->gap, (uint32_t)(w->thread - w->threads));
    w->thread->gap = 0;
    if (frames.count)
        calls_frames(w->calls, w->now_ns, &frames);
}

/* Calls that the mark shows to have ended are closed by now. */
static void pass_mark(struct walk *w, const struct trace_item *item) {
    struct walk_mark mark = {.stream = w->thread->stream,
                             .id = item->id,
                             .ns = w->now_ns,
                             .thread_paused_ns = w->thread->paused_ns};
    if (!w->visitor->mark || item->id >= OWN_EVENTS || w->early ||
        w->now_ns > w->filter->spec.until_ns || !view_filter_shows_stream(w->filter, mark.stream))
        return;
    mark.function = function_of(w, item->id);
    if (names_is_mark(w->names, mark.function) &&
        view_filter_verdict(w->filter, mark.function) & VIEW_SHOWS)
        w->visitor->mark(w->visitor->ctx, &mark);
}

static void take_event(struct walk *w, const struct trace_item *item) {
    struct walk_thread *t = w->thread;
    t->events++; /* not those of take_plain(): no inner start follows them */
    if (t->next_inner < t->inner_count && t->inner_starts[t->next_inner] == t->events) {
        t->next_inner++;
        calls_begin_inner(w->calls);
    }
    if (item->event == EVENT_CONTROL && is_pause_event(item->id))
        take_pause(w, item);
    else
        calls_event(w->calls, w->now_ns, item->id, item->event, item->sp);
    if (item->event == EVENT_CONTROL)
        pass_mark(w, item);
}

void walk_take_item(struct walk *w, const struct trace_item *item) {
    if (w->thread->gap && item->kind != TRACE_LOST)
        walk_open_behind_gap(w);
    if (item->kind == TRACE_EVENT)
        take_event(w, item);
    else if (item->kind == TRACE_FRAMES)
        calls_frames(w->calls, w->now_ns, item->frames);
    else if (item->kind == TRACE_THREAD_END)
        w->thread->ended = true;
    else
        take_gap(w, item);
}

static bool finish(struct walk *w) {
    bool ended = true;
    for (uint32_t i = 0; i < w->group.count; i++)
        ended &= w->threads[i].ended;
    w->over = true;
    calls_finish(w->calls, w->now_ns, ended);
    return false;
}

/* The plain events (plain_calls.h) from ITEM on, as long as nothing else comes between. Returns the
 * item behind them. */
static const struct trace_item *take_plain(struct walk *w, const struct trace_item *item,
                                           const struct trace_item *end) {
    struct walk_thread *t = w->thread;
    uint64_t until_ns = w->filter->spec.until_ns, fork_ticks = w->fork_ticks;
    if (w->early || t->gap || t->next_inner < t->inner_count)
        return item;
    for (; item < end && item->kind == TRACE_EVENT && item->ticks <= fork_ticks; item++) {
        uint64_t ns = trace_scale_ns(&w->scale, item->ticks);
        struct call *call = NULL;
        ns = ns > w->now_ns ? ns : w->now_ns;
        if (ns > until_ns)
            break;
        if (item->event == EVENT_ENTRY)
            call = calls_enter(w->calls, ns, item->id, item->sp);
        else if (item->event != EVENT_CONTROL)
            call = calls_leave(w->calls, ns, item->event, item->sp);
        if (!call)
            break;
        w->now_ns = ns;
        w->ticks = item->ticks > w->ticks ? item->ticks : w->ticks;
        if (item->event == EVENT_ENTRY)
            on_open(w, call, calls_plain_parent(call));
        else
            on_close(w, call, calls_plain_parent(call));
    }
    return item;
}

/* False: the span is over, and so are all calls in it. */
static bool take_run(struct walk *w, const struct item_run *run) {
    const struct view_spec *spec = &w->filter->spec;
    const struct trace_item *end = run->items + run->count;
    for (const struct trace_item *item = run->items; item < end; item++) {
        item = take_plain(w, item, end);
        if (item == end)
            break;
        uint64_t ns = trace_scale_ns(&w->scale, item->ticks);
        walk_advance(w, ns, item->ticks);
        if (item->ticks > w->fork_ticks)
            walk_note_forks(w, item->ticks);
        if (ns > spec->until_ns && !w->open_shown)
            return finish(w);
        walk_take_item(w, item);
    }
    return true;
}

/* A block cannot be read on. */
static void take_damage(struct walk *w, const struct err *err) {
    if (w->source->on_damage)
        w->source->on_damage(w->source->ctx, err);
    uint64_t lost = walk_seek_damage(w);
    if (lost)
        pass_lost(w, lost);
}

bool walk_step(struct walk *w) {
    struct item_run run;
    struct err err;
    if (w->over || (w->source->stop && *w->source->stop))
        return false;
    walk_seek_end(w);
    if (w->visitor->digests && walk_take_digest(w))
        return true;
    int rc = group_reader_next(w->reader, &run, &err);
    if (!rc)
        return finish(w);
    if (rc < 0) {
        take_damage(w, &err);
        return true;
    }
    if (w->group.count > 1)
        calls_set_thread(w->calls, run.thread);
    w->thread = &w->threads[run.thread];
    if (!w->thread->begun)
        walk_begin_thread(w);
    if (w->source->on_progress && run.count)
        w->source->on_progress(w->source->ctx, run.count);
    if (run.ended)
        note_last_forks(w);
    if (run.ended && w->group.count > 1) /* its other stacks may go on in other threads */
        calls_finish_thread(w->calls, w->now_ns, w->thread->ended);
    return take_run(w, &run);
}

size_t walk_next_block(struct walk *w) { return group_reader_next_block(w->reader); }
uint64_t walk_now_ns(const struct walk *w) { return w->now_ns; }
uint64_t walk_paused_ns(const struct walk *w) { return w->paused_ns; }

void walk_free(struct walk *w) {
    if (!w)
        return;
    group_reader_free(w->reader);
    gaps_free(w->gaps);
    trace_seeker_free(w->seeker);
    calls_free(w->calls);
    for (uint32_t i = 0; i < w->group.count; i++)
        free(w->threads[i].inner_starts);
    ARRAY_FREE(&w->lengths);
    free(w->threads);
    free(w);
}

bool walk_shows(const struct source *source, struct stream_group group) {
    bool shown = false;
    for (uint32_t i = 0; i < group.count; i++)
        shown |= view_filter_shows_stream(source->filter, group.streams[i]);
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
