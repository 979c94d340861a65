/*
 * Each stream group, mostly one thread, has a queue of lines. A call adds its entry when it opens,
 * and its exit when it closes. The front line is given out as soon as it is certain. An entry is
 * uncertain
 *   - while the call is younger than the threshold. If the call ends then, its line is removed;
 *   - with -C, until such a function is called in the call. If the call ends then, likewise;
 *   - with folded leaves, while the call is open and no certain line follows. If the call ends
 *     then, its line becomes a leaf.
 * All lines that decide this come later in the same group, so the other groups need not be read
 * meanwhile. A heap merges the queues' fronts by time.
 */
#include "analyze/lines.h"

#include <string.h>

#include "base/mem.h"

struct queued {
    struct line line;
    uint64_t paused_ns; /* an entry: pauses of all threads of the group until then, or fewer */
    uint32_t caller;    /* an entry: the line of its nearest shown caller, or WALK_NONE */
    bool leads;         /* an entry with -C: of such a function, or its call has called one */
    bool closed;        /* an entry whose call has ended: it will not change */
    bool removed;       /* not to be given out */
};

struct queue {
    struct lines *lines;
    struct walk *walk; /* NULL: not started */
    struct visitor visitor;
    struct queued *at; /* [head … end) are its lines */
    size_t head, end, room;
    uint32_t number;  /* of at[head]; lines are numbered modulo 2^32 */
    uint32_t certain; /* the last certain line's number + 1 */
    struct stream_group group;
    uint32_t depth; /* after the last line that was given out */
    bool over;      /* the group has been read to its end */
    bool ready;     /* the front is certain */
    uint64_t ns;    /* the front's time; if not ready, a lower bound of it */
};

struct lines {
    const struct source *source;
    bool fold;
    uint64_t threshold_ns;
    bool ways;           /* -C was given */
    struct queue **heap; /* earliest first */
    size_t count;
    struct changes changes;
    size_t next_change;
    struct line line; /* the line that was given out last */
};

/* ---- a queue ---- */

static struct queued *front(struct queue *t) { return t->head < t->end ? &t->at[t->head] : NULL; }

static void drop_front(struct queue *t) {
    t->head++;
    t->number++;
}

/* Returns the line's number. */
static uint32_t push(struct queue *t, const struct line *line) {
    if (t->head == t->end) {
        t->head = t->end = 0;
    } else if (t->end == t->room && t->head >= t->room / 2) {
        t->end -= t->head;
        memmove(t->at, t->at + t->head, t->end * sizeof *t->at);
        t->head = 0;
    }
    if (t->end == t->room) {
        t->room = t->room ? t->room * 2 : 16;
        t->at = mem_resize(t->at, t->room, sizeof *t->at);
    }
    bool is_late = line->kind == LINE_ENTRY && line->clipped; /* it began before the span */
    t->at[t->end] =
        (struct queued){.line = *line, .paused_ns = is_late ? 0 : walk_paused_ns(t->walk)};
    return t->number + (uint32_t)(t->end++ - t->head);
}

static void push_certain(struct queue *t, const struct line *line) {
    t->certain = push(t, line) + 1;
}

/* Line NUMBER; NULL: it was given out. */
static struct queued *line_at(struct queue *t, uint32_t number) {
    uint32_t place = number - t->number;
    return place < t->end - t->head ? &t->at[t->head + place] : NULL;
}

/* With -C: line NUMBER is the entry of such a function. */
static void mark_way(struct queue *t, uint32_t number) {
    for (struct queued *q; number != WALK_NONE && (q = line_at(t, number)); number = q->caller) {
        if (q->leads)
            break;
        q->leads = true;
    }
}

/* The entry line of CALL; NULL: it was given out. */
static struct queued *entry_of(struct queue *t, const struct walk_call *call) {
    struct queued *q = line_at(t, call->value);
    bool same = q && q->line.kind == LINE_ENTRY && !q->closed && !q->removed &&
                q->line.ns == call->start_ns && q->line.function == call->function;
    return same ? q : NULL;
}

static void remove_line(struct queue *t, struct queued *q) {
    q->removed = true;
    while (t->head < t->end && t->at[t->end - 1].removed)
        t->end--;
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct queue *t = ctx;
    struct line line = {.kind = LINE_ENTRY,
                        .stream = call->stream,
                        .function = call->function,
                        .id = call->id,
                        .depth = call->depth,
                        .stack = call->stack,
                        .chain = call->chain,
                        .ns = call->start_ns,
                        .before = call->before,
                        .clipped = call->clipped};
    uint32_t number = push(t, &line);
    line_at(t, number)->caller = call->caller_value;
    if (call->way_end)
        mark_way(t, number);
    bool is_way = !t->lines->ways || call->way_end;
    if (is_way && (!t->lines->threshold_ns || call->before))
        t->certain = number + 1;
    return number;
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct queue *t = ctx;
    struct queued *q = entry_of(t, call);
    if (call->brief) {
        if (q)
            remove_line(t, q);
        return;
    }
    struct line line = {.kind = LINE_EXIT,
                        .stream = call->end_stream,
                        .began = call->stream,
                        .function = call->function,
                        .id = call->id,
                        .depth = call->depth,
                        .stack = call->stack,
                        .chain = call->chain,
                        .ns = call->end_ns,
                        .end_ns = call->end_ns,
                        .duration_ns = call->duration_ns,
                        .paused_ns = call->paused_ns,
                        .how = call->how,
                        .inferred = call->inferred,
                        .before = call->before,
                        .clipped = call->clipped};
    bool leaf = t->lines->fold && q && q == &t->at[t->end - 1] && call->stream == call->end_stream;
    if (q)
        q->closed = true;
    if (!leaf) {
        push_certain(t, &line);
        return;
    }
    line.kind = LINE_LEAF;
    line.ns = call->start_ns;
    q->line = line;
    t->certain = call->value + 1;
}

static void on_lost(void *ctx, uint32_t stream, uint64_t ns, uint64_t count) {
    struct queue *t = ctx;
    struct line line = {.kind = LINE_LOST, .stream = stream, .ns = ns, .lost = count};
    push_certain(t, &line);
}

static void on_pause(void *ctx, const struct walk_pause *pause) {
    struct line line = {.kind = LINE_PAUSE,
                        .stream = pause->stream,
                        .ns = pause->end_ns,
                        .duration_ns = pause->length_ns,
                        .in_call = pause->in_call,
                        .cause = pause->cause};
    push_certain(ctx, &line);
}

static void on_mark(void *ctx, const struct walk_mark *mark) {
    struct line line = {.kind = LINE_MARK,
                        .stream = mark->stream,
                        .function = mark->function,
                        .id = mark->id,
                        .ns = mark->ns};
    push_certain(ctx, &line);
}

static bool is_certain(const struct queue *t, const struct queued *q) {
    if (q->line.kind != LINE_ENTRY || q->closed)
        return true;
    uint64_t paused = walk_paused_ns(t->walk) - q->paused_ns;
    bool is_short = walk_now_ns(t->walk) - q->line.ns < t->lines->threshold_ns + paused;
    if ((is_short && !q->line.before) || (t->lines->ways && !q->leads))
        return false;
    return !t->lines->fold || (int32_t)(t->certain - t->number) > 1;
}

/* Reads on until the front is certain. False: there are no more lines. */
static bool advance(struct queue *t) {
    if (!t->walk)
        t->walk = walk_new(t->lines->source, t->group, &t->visitor);
    for (;;) {
        struct queued *q = front(t);
        if (q && q->removed) {
            drop_front(t);
        } else if (q && is_certain(t, q)) {
            t->ns = q->line.ns;
            return true;
        } else if (t->over) {
            return false;
        } else {
            t->over = !walk_step(t->walk);
        }
    }
}

/* ---- all of them ---- */

static bool before(const struct queue *a, const struct queue *b) {
    return a->ns < b->ns || (a->ns == b->ns && a->group.streams[0] < b->group.streams[0]);
}

static void sift_down(struct lines *l, size_t i) {
    struct queue *moved = l->heap[i];
    for (size_t child; (child = 2 * i + 1) < l->count; i = child) {
        if (child + 1 < l->count && before(l->heap[child + 1], l->heap[child]))
            child++;
        if (!before(l->heap[child], moved))
            break;
        l->heap[i] = l->heap[child];
    }
    l->heap[i] = moved;
}

static void queue_free(struct queue *t) {
    walk_free(t->walk);
    free(t->at);
    free(t);
}

/* A lower bound for the times of GROUP's lines. */
static uint64_t start_of(const struct source *source, struct stream_group group) {
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < group.count; i++) {
        uint64_t ticks = trace_reader_thread(source->reader, group.streams[i])->start;
        first = ticks < first ? ticks : first;
    }
    return trace_reader_ns(source->reader, first);
}

/* Groups are read only when their time comes. So ended and later threads take no memory. */
struct lines *lines_new(const struct source *source, bool fold_leaves) {
    struct lines *l = mem_alloc(sizeof *l);
    size_t count = stream_groups_count(source->stream_groups);
    l->source = source;
    l->fold = fold_leaves;
    const struct view_filter *filter = source->filter;
    l->threshold_ns = filter->spec.threshold_ns > filter->recorded_ns ? filter->spec.threshold_ns
                                                                      : filter->recorded_ns;
    l->ways = filter->spec.ways.count;
    l->heap = mem_alloc(count * sizeof *l->heap);
    for (size_t i = 0; i < count; i++) {
        struct stream_group group = stream_groups_at(source->stream_groups, i);
        if (!walk_shows(source, group))
            continue;
        struct queue *t = mem_alloc(sizeof *t);
        t->lines = l;
        t->group = group;
        t->visitor = (struct visitor){.ctx = t,
                                      .no_self = true,
                                      .open = on_open,
                                      .close = on_close,
                                      .lost = on_lost,
                                      .pause = on_pause};
        t->ns = start_of(source, group);
        l->heap[l->count++] = t;
    }
    for (size_t i = l->count / 2; i-- > 0;)
        sift_down(l, i);
    changes_read(source->reader, &l->changes);
    changes_show(&l->changes, source->filter, source->reader);
    return l;
}

void lines_want_marks(struct lines *l) {
    for (size_t i = 0; i < l->count; i++)
        l->heap[i]->visitor.mark = on_mark;
}

/* Makes the first queue's front certain, which may move other queues before it. */
static void settle(struct lines *l) {
    struct queue *t = l->heap[0];
    t->ready = advance(t);
    if (!t->ready) {
        queue_free(t);
        l->heap[0] = l->heap[--l->count];
    }
    if (l->count)
        sift_down(l, 0);
}

static void give_out(struct queue *t, struct line *line) {
    *line = front(t)->line;
    if (line->kind == LINE_LOST || line->kind == LINE_PAUSE || line->kind == LINE_MARK)
        line->depth = t->depth;
    t->depth = line->depth + (line->kind == LINE_ENTRY);
    t->ready = false;
    drop_front(t);
}

/* Gives out the next change if it is earlier than each thread's next line. */
static bool give_change(struct lines *l) {
    if (l->next_change == l->changes.list.count)
        return false;
    const struct change *change = &l->changes.list.at[l->next_change];
    if (l->count && l->heap[0]->ns <= change->ns)
        return false;
    l->line = (struct line){.kind = LINE_CHANGE, .ns = change->ns, .change = change};
    l->next_change++;
    return true;
}

const struct line *lines_next(struct lines *l) {
    while (!give_change(l)) {
        struct queue *t = l->count ? l->heap[0] : NULL;
        if (!t)
            return NULL;
        if (t->ready) {
            give_out(t, &l->line);
            break;
        }
        settle(l);
    }
    return &l->line;
}

void lines_free(struct lines *l) {
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        queue_free(l->heap[i]);
    changes_done(&l->changes);
    free(l->heap);
    free(l);
}
