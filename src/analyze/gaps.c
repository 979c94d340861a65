/* See gaps.h: keeps the calls that are open at a gap as doubtful, and sees how they end. */
#include "analyze/gaps.h"

#include "analyze/walk.h"
#include "base/mem.h"

struct open_range { /* a call that may go on behind gaps FIRST to LAST of THREAD */
    struct trace_frame frame;
    uint32_t thread, first, last;
    bool goes_on;
};

struct thread_state {
    uint32_t gap;  /* the latest gap's number; 0: none */
    bool followed; /* events have followed it */
    bool begun;
};

struct stack_state {
    uint64_t highest; /* stack pointer of calls behind gap GAP */
    uint32_t gap;
};

struct gap_place {
    uint32_t thread;
    uint64_t ticks;
};

struct gaps {
    struct calls *calls;
    struct thread_state *threads;
    ARRAY(struct stack_state) stacks; /* by number */
    uint32_t thread, count;           /* the present thread; gaps so far */
    ARRAY(struct gap_place) places;   /* of gap 1 and so on */
    ARRAY(struct open_range) ranges;  /* later sorted by their first gap */
    size_t next;                      /* the first range that is not active yet */
    ARRAY(struct open_range) active;
    ARRAY(struct trace_frame) frames;
};

static void add_range(struct gaps *g, const struct trace_frame *frame, bool goes_on) {
    uint32_t gap = g->threads[g->thread].gap;
    ARRAY_PUSH(&g->ranges, ((struct open_range){*frame, g->thread, gap, gap, goes_on}));
}

/* call->user is the number of the call's range + 1. */
static void on_doubt(void *ctx, struct call *call) {
    struct gaps *g = ctx;
    if (call->user && g->ranges.at[call->user - 1].thread == g->thread) {
        g->ranges.at[call->user - 1].last = g->count;
        return;
    }
    add_range(g, &(struct trace_frame){call->id, call->sp}, false);
    call->user = g->ranges.count;
}

/* Notes that a call was at SP behind the latest gap. False: that was so before, or above SP. */
static bool raise_highest(struct gaps *g, uint32_t stack, uint64_t sp) {
    while (g->stacks.count <= stack)
        ARRAY_PUSH(&g->stacks, (struct stack_state){0});
    struct stack_state *s = &g->stacks.at[stack];
    uint32_t gap = g->threads[g->thread].gap;
    if (s->gap == gap && s->highest >= sp)
        return false;
    *s = (struct stack_state){sp, gap};
    return true;
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    raise_highest(ctx, call->stack, call->sp);
}

static void on_stray(void *ctx, const struct trace_frame *frame, uint32_t stack) {
    struct gaps *g = ctx;
    if (raise_highest(g, stack, frame->sp) && g->threads[g->thread].gap)
        add_range(g, frame, true);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    struct gaps *g = ctx;
    if (!call->doubtful)
        return;
    struct open_range *r = &g->ranges.at[call->user - 1];
    const struct thread_state *t = &g->threads[r->thread];
    bool stays = call->how == CALL_OPEN || call->how == CALL_THREAD_ENDED;
    r->goes_on = stays || call->how == CALL_RETURNED || call->how == CALL_TAIL;
    if (stays && t->gap == r->last && !t->followed)
        r->last--;
}

static void take_item(struct gaps *g, const struct trace_item *item) {
    struct thread_state *t = &g->threads[g->thread];
    if (item->kind == TRACE_EVENT) {
        t->followed |= !is_value_event(item->id);
        calls_event(g->calls, item->ticks, item->id, item->event, item->sp);
    } else if (item->kind == TRACE_FRAMES) {
        calls_frames(g->calls, item->ticks, item->frames);
    } else if (item->kind == TRACE_LOST) {
        t->gap = ++g->count;
        ARRAY_PUSH(&g->places, ((struct gap_place){g->thread, item->ticks}));
        t->followed = false;
        calls_doubt(g->calls);
    }
}

/* Opens the calls that the present thread, which has STREAM, begins with. */
static void begin_thread(struct gaps *g, const struct source *source, uint32_t stream) {
    const struct trace_frames *calls = forks_calls(source, stream);
    g->threads[g->thread].begun = true;
    if (calls)
        calls_frames(g->calls, calls->ticks, calls);
}

static void read_group(struct gaps *g, const struct source *source, struct stream_group group) {
    struct group_reader *reader = group_reader_new(source->reader, group);
    struct item_run run;
    struct err err;
    for (int rc; (rc = group_reader_next(reader, &run, &err)) != 0;) {
        if (rc < 0)
            continue;
        if (group.count > 1)
            calls_set_thread(g->calls, run.thread);
        g->thread = run.thread;
        if (!g->threads[g->thread].begun)
            begin_thread(g, source, run.stream);
        for (size_t i = 0; i < run.count; i++)
            take_item(g, &run.items[i]);
    }
    group_reader_free(reader);
    calls_finish(g->calls, 0, true);
}

static int compare_ranges(const void *a, const void *b) {
    const struct open_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

struct gaps *gaps_find(const struct source *source, struct stream_group group) {
    static const struct calls_ops ops = {on_open, on_close, on_stray, on_doubt};
    struct gaps *g = mem_alloc(sizeof *g);
    g->threads = mem_alloc(group.count * sizeof *g->threads);
    g->calls = group_calls_new(source->reader, source->names, group, &ops, g);
    read_group(g, source, group);
    calls_free(g->calls);
    g->calls = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < g->ranges.count; i++)
        if (g->ranges.at[i].goes_on && g->ranges.at[i].first <= g->ranges.at[i].last)
            g->ranges.at[kept++] = g->ranges.at[i];
    g->ranges.count = kept;
    if (kept)
        qsort(g->ranges.at, kept, sizeof *g->ranges.at, compare_ranges);
    return g;
}

uint32_t gaps_number(const struct gaps *g, uint32_t after, uint32_t thread, uint64_t ticks) {
    for (size_t i = after; i < g->places.count; i++)
        if (g->places.at[i].thread == thread && g->places.at[i].ticks == ticks)
            return (uint32_t)i + 1;
    return after + 1;
}

static int compare_frames(const void *a, const void *b) {
    const struct trace_frame *x = a, *y = b;
    return (x->sp < y->sp) - (x->sp > y->sp);
}

struct trace_frames gaps_frames(struct gaps *g, uint32_t number, uint32_t thread) {
    size_t kept = 0;
    for (; g->next < g->ranges.count && g->ranges.at[g->next].first <= number; g->next++)
        ARRAY_PUSH(&g->active, g->ranges.at[g->next]);
    g->frames.count = 0;
    for (size_t i = 0; i < g->active.count; i++) {
        if (g->active.at[i].last < number)
            continue;
        g->active.at[kept++] = g->active.at[i];
        if (g->active.at[i].thread == thread)
            ARRAY_PUSH(&g->frames, g->active.at[i].frame);
    }
    g->active.count = kept;
    if (g->frames.count)
        qsort(g->frames.at, g->frames.count, sizeof *g->frames.at, compare_frames);
    return (struct trace_frames){.count = (uint32_t)g->frames.count, .frames = g->frames.at};
}

void gaps_free(struct gaps *g) {
    if (!g)
        return;
    free(g->threads);
    ARRAY_FREE(&g->places);
    ARRAY_FREE(&g->stacks);
    ARRAY_FREE(&g->ranges);
    ARRAY_FREE(&g->active);
    ARRAY_FREE(&g->frames);
    free(g);
}
