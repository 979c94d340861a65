/* Boxes to draw (summary.h): from the store, or of calls that are read. A stream's are made by one
 * thread. */
#include <errno.h>

#include "base/workers.h"
#include "summary/replay.h"
#include "summary/walks.h"

struct drawing {
    struct summary *summary;
    const struct summary_range *range;
    uint32_t function;        /* WALK_NONE: all; else all have depth 0 */
    struct draw *draws;       /* by stream */
    ARRAY(uint32_t) streams;  /* that are asked for */
    size_t *counts;           /* of their boxes */
    struct summary_span **to; /* where these go */
};

static struct summary_range clamp(const struct summary *s, const struct summary_range *range) {
    struct summary_range r = *range;
    r.until_ns = r.until_ns < s->duration_ns ? r.until_ns : s->duration_ns;
    r.since_ns = r.since_ns < r.until_ns ? r.since_ns : r.until_ns;
    return r;
}

static void begin(struct drawing *d, unsigned columns) {
    size_t count = trace_reader_stream_count(d->summary->reader);
    d->draws = mem_alloc(count * sizeof *d->draws + 1);
    for (uint32_t i = 0; i < count; i++) {
        draw_begin(&d->draws[i], d->range, columns, i);
        if (summary_asks_for(d->range, i))
            ARRAY_PUSH(&d->streams, i);
    }
}

static void end_stream(void *arg, size_t i) {
    struct drawing *d = arg;
    d->counts[i] = draw_end(&d->draws[d->streams.at[i]]);
}

static void move_stream(void *arg, size_t i) {
    struct drawing *d = arg;
    draw_move(&d->draws[d->streams.at[i]], d->to[i]);
}

static void end(struct drawing *d, summary_span_list *ret) {
    AUTO_FREE size_t *counts = mem_alloc(d->streams.count * sizeof *counts + 1);
    AUTO_FREE struct summary_span **to = mem_alloc(d->streams.count * sizeof *to + 1);
    d->counts = counts;
    d->to = to;
    workers_run(d->streams.count, end_stream, d);
    for (size_t i = 0; i < d->streams.count; i++)
        ret->count += counts[i];
    ARRAY_RESERVE(ret, ret->count + 1);
    for (size_t i = 0, at = 0; i < d->streams.count; at += counts[i++])
        to[i] = ret->at + at;
    workers_run(d->streams.count, move_stream, d);
    ARRAY_FREE(&d->streams);
    free(d->draws);
}

/* ---- from the store ---- */

static void draw_stored(void *arg, size_t i) {
    struct drawing *d = arg;
    uint32_t stream = d->streams.at[i];
    store_draw(d->summary->pass.store, stream, &d->draws[stream]);
}

/* ---- calls that are read ---- */

/* Draws regular streams' calls: those of blocks, and listed ones between them. */
struct listed_drawing {
    struct drawing *drawing;
    uint32_t stream;
    ARRAY(uint32_t) listed; /* numbers, in the order of ends */
    size_t next;
};

static void draw_call(struct drawing *d, const struct replayed *c) {
    bool one = d->function != WALK_NONE;
    if (one && c->function != d->function)
        return;
    draw_add(&d->draws[c->stream],
             &(struct draw_box){c->start_ns, c->end_ns, c->end_ns - c->start_ns, c->function, 1,
                                one ? 0 : c->depth, draw_flags(c->how, c->before, c->inferred)});
}

/* Draws listed calls that end at NS or before. */
static void draw_listed(struct listed_drawing *l, uint64_t ns) {
    const struct listed_stream *list = &l->drawing->summary->pass.listed[l->stream];
    for (; l->next < l->listed.count; l->next++) {
        uint32_t i = l->listed.at[l->next];
        if (list->calls.at[i].end_ns > ns)
            break;
        struct replayed call = replay_listed(l->drawing->summary, l->stream, i);
        draw_call(l->drawing, &call);
    }
}

static void on_replayed(void *ctx, const struct replayed *call) {
    struct listed_drawing *l = ctx;
    if (l->next < l->listed.count)
        draw_listed(l, call->end_ns);
    draw_call(l->drawing, call);
}

static int by_end(const void *a, const void *b, void *ctx) {
    const struct listed *calls = ctx, *x = &calls[*(const uint32_t *)a];
    const struct listed *y = &calls[*(const uint32_t *)b];
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x > y) - (x < y);
}

static void find_listed(struct listed_drawing *l) {
    const struct listed_stream *list = &l->drawing->summary->pass.listed[l->stream];
    const struct summary_range *r = l->drawing->range;
    size_t i = 0;
    while ((i = listed_next(list, i, r->since_ns, r->until_ns)) < list->calls.count)
        ARRAY_PUSH(&l->listed, (uint32_t)i++);
    if (l->listed.count > 1)
        qsort_r(l->listed.at, l->listed.count, sizeof *l->listed.at, by_end, list->calls.at);
}

static int by_stream(const void *a, const void *b) {
    const struct plan_block *x = a, *y = b;
    return (x->block > y->block) - (x->block < y->block); /* a stream's are consecutive */
}

/* The share of each regular stream: its blocks. */
static int draw_regular(struct drawing *d) {
    const struct summary *s = d->summary;
    replay_blocks blocks = replay_blocks_of(s, d->range);
    ARRAY(size_t) first = {0};
    ARRAY(struct listed_drawing) shares = {0};
    ARRAY(void *) ctxs = {0};
    if (blocks.count > 1)
        qsort(blocks.at, blocks.count, sizeof *blocks.at, by_stream);
    for (size_t i = 0, at = 0; i < d->streams.count; i++) {
        uint32_t stream = d->streams.at[i];
        if (!s->pass.plan.regular[stream])
            continue;
        ARRAY_PUSH(&first, at);
        ARRAY_PUSH(&shares, ((struct listed_drawing){.drawing = d, .stream = stream}));
        find_listed(&shares.at[shares.count - 1]);
        while (at < blocks.count && blocks.at[at].stream == stream)
            at++;
    }
    ARRAY_PUSH(&first, blocks.count);
    for (size_t i = 0; i < shares.count; i++)
        ARRAY_PUSH(&ctxs, &shares.at[i]);
    int rc = replay_calls(d->summary, d->range,
                          &(struct replay_shares){.blocks = &blocks,
                                                  .first = first.at,
                                                  .count = shares.count,
                                                  .ctxs = ctxs.at,
                                                  .each = on_replayed,
                                                  .function = d->function});
    for (size_t i = 0; i < shares.count; i++) {
        draw_listed(&shares.at[i], UINT64_MAX);
        ARRAY_FREE(&shares.at[i].listed);
    }
    ARRAY_FREE(&blocks);
    ARRAY_FREE(&first);
    ARRAY_FREE(&shares);
    ARRAY_FREE(&ctxs);
    return rc;
}

static void on_walked(void *ctx, const struct walk_call *c) {
    if (c->brief)
        return;
    draw_call(ctx, &(struct replayed){.start_ns = c->start_ns,
                                      .end_ns = c->end_ns,
                                      .function = c->function,
                                      .stream = c->stream,
                                      .depth = c->depth,
                                      .how = c->how,
                                      .before = c->before,
                                      .inferred = c->inferred});
}

static int draw_walks(struct drawing *d) {
    struct session *session = session_take(d->summary->sessions, d->range);
    struct visitor visitor = {.ctx = d, .close = on_walked, .no_self = true};
    const struct plan *plan = &d->summary->pass.plan;
    bool complete = summary_state(d->summary).complete;
    int rc = complete ? draw_regular(d) : walks_calls(session, on_walked, d);
    for (size_t i = 0; complete && i < plan->groups.count && !rc; i++) {
        walk_stream_group(&session->source,
                          stream_groups_at(session->source.stream_groups, plan->groups.at[i]),
                          &visitor);
        rc = d->range->cancel && *d->range->cancel ? -ECANCELED : 0;
    }
    session_give(d->summary->sessions, session);
    return rc;
}

static int draw_calls(struct drawing *d, unsigned columns, summary_span_list *ret) {
    begin(d, columns);
    int rc = draw_walks(d);
    end(d, ret);
    if (rc)
        ARRAY_FREE(ret);
    return rc;
}

/* ---- both ---- */

static bool is_exact(struct summary *s) {
    struct summary_state state = summary_state(s);
    return state.complete && !state.threshold_ns;
}

int summary_spans(struct summary *s, const struct summary_range *range, unsigned columns,
                  bool exact, summary_span_list *ret) {
    struct summary_range r = clamp(s, range);
    struct drawing d = {.summary = s, .range = &r, .function = WALK_NONE};
    *ret = (summary_span_list){0};
    if (exact && !is_exact(s))
        return draw_calls(&d, columns, ret);
    begin(&d, columns);
    pthread_rwlock_rdlock(&s->pass.lock);
    workers_run(d.streams.count, draw_stored, &d);
    pthread_rwlock_unlock(&s->pass.lock);
    end(&d, ret);
    return 0;
}

int summary_frames(struct summary *s, const struct summary_range *range, unsigned columns,
                   uint32_t function, summary_span_list *ret) {
    struct summary_range r = clamp(s, range);
    struct drawing d = {.summary = s, .range = &r, .function = function};
    *ret = (summary_span_list){0};
    return draw_calls(&d, columns, ret);
}
