/* See draw.h. */
#include "summary/draw.h"

static uint16_t depth16(uint32_t depth) {
    return (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
}

void draw_begin(struct draw *d, const struct summary_range *range, unsigned columns,
                summary_span_list *to) {
    uint64_t length = range->until_ns > range->since_ns ? range->until_ns - range->since_ns : 0;
    columns = columns ? columns : 1;
    *d = (struct draw){.since_ns = range->since_ns,
                       .until_ns = range->until_ns,
                       .width_ns = length / columns + (length % columns != 0),
                       .to = to};
    d->width_ns = d->width_ns ? d->width_ns : 1;
}

void draw_stream(struct draw *d, uint32_t stream) {
    d->stream = stream;
    d->first = d->to->count;
}

static void put(struct draw *d, const struct draw_box *b) {
    ARRAY_PUSH(d->to, ((struct summary_span){.start_ns = b->start_ns,
                                             .end_ns = b->end_ns,
                                             .function = b->function,
                                             .stream = d->stream,
                                             .calls = b->calls,
                                             .depth = depth16(b->depth),
                                             .flags = b->flags}));
}

/* Puts the box of what was added to C, and empties it. */
static void put_cell(struct draw *d, struct draw_cell *c, uint32_t depth) {
    if (!c->calls)
        return;
    put(d, &(struct draw_box){.start_ns = c->start_ns,
                              .end_ns = c->end_ns,
                              .function = c->function,
                              .calls = c->calls,
                              .depth = depth,
                              .flags = c->flags});
    c->calls = 0;
}

static uint32_t sum_calls(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Boyer and Moore's vote, weighted: a function that has more than half of the time wins. */
static void vote(struct draw_cell *c, uint32_t function, uint64_t weight) {
    if (c->function == function) {
        c->weight += weight;
    } else if (c->weight >= weight) {
        c->weight -= weight;
    } else {
        c->function = function;
        c->weight = weight - c->weight;
    }
}

static void join(struct draw_cell *c, const struct draw_box *b) {
    c->start_ns = b->start_ns < c->start_ns ? b->start_ns : c->start_ns;
    c->end_ns = b->end_ns > c->end_ns ? b->end_ns : c->end_ns;
    c->calls = sum_calls(c->calls, b->calls);
    c->flags |= b->flags | SUMMARY_DENSE;
    vote(c, b->function, b->weight + 1);
}

/* Shows the column in which a box begins, the first one if it began before. */
static uint64_t column_of(const struct draw *d, uint64_t start_ns) {
    return start_ns > d->since_ns ? (start_ns - d->since_ns) / d->width_ns : 0;
}

void draw_add(struct draw *d, const struct draw_box *b) {
    if (b->end_ns < d->since_ns || b->start_ns > d->until_ns)
        return;
    while (d->cells.count <= b->depth)
        ARRAY_PUSH(&d->cells, ((struct draw_cell){0}));
    struct draw_cell *c = &d->cells.at[b->depth];
    uint64_t column = column_of(d, b->start_ns);
    if (b->end_ns - b->start_ns >= d->width_ns) {
        put(d, b);
        return;
    }
    if (c->calls && c->column >= column) { /* dense boxes may come late */
        join(c, b);
        return;
    }
    put_cell(d, c, b->depth);
    *c = (struct draw_cell){column,      b->start_ns, b->end_ns, b->weight + 1,
                            b->function, b->calls,    b->flags};
}

static int compare(const void *a, const void *b) {
    const struct summary_span *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    if ((x->flags ^ y->flags) & SUMMARY_INEXACT)
        return x->flags & SUMMARY_INEXACT ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

void draw_end_stream(struct draw *d) {
    for (uint32_t i = 0; i < d->cells.count; i++)
        put_cell(d, &d->cells.at[i], i);
    size_t count = d->to->count - d->first;
    if (count > 1)
        qsort(d->to->at + d->first, count, sizeof *d->to->at, compare);
}

void draw_done(struct draw *d) { ARRAY_FREE(&d->cells); }

uint16_t draw_flags(const struct walk_call *call) {
    bool unwound =
        call->how == CALL_UNWOUND || call->how == CALL_MISSED || call->how == CALL_THREAD_ENDED;
    return (uint16_t)((call->before ? SUMMARY_BEFORE : 0) |
                      (call->how == CALL_CUT ? SUMMARY_CUT : 0) |
                      (unwound || call->inferred ? SUMMARY_UNWOUND : 0) |
                      (call->how == CALL_OPEN ? SUMMARY_OPEN : 0));
}
