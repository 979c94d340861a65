/* See draw.h. */
#include "summary/draw.h"

static uint16_t depth16(uint32_t depth) {
    return (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
}

void draw_begin(struct draw *d, const struct summary_range *range, unsigned columns,
                uint32_t stream) {
    uint64_t length = range->until_ns > range->since_ns ? range->until_ns - range->since_ns : 0;
    columns = columns ? columns : 1;
    *d = (struct draw){.since_ns = range->since_ns,
                       .until_ns = range->until_ns,
                       .width_ns = length / columns + (length % columns != 0),
                       .stream = stream};
    d->width_ns = d->width_ns ? d->width_ns : 1;
}

/* Boxes come nearly in the order of their starts. */
static void put(const struct draw *d, summary_span_list *to, const struct draw_box *b) {
    ARRAY_PUSH(to, ((struct summary_span){.start_ns = b->start_ns,
                                          .end_ns = b->end_ns,
                                          .function = b->function,
                                          .stream = d->stream,
                                          .calls = b->calls,
                                          .depth = depth16(b->depth),
                                          .flags = b->flags}));
    struct summary_span *at = &to->at[to->count - 1], own = *at;
    for (; at > to->at && at[-1].start_ns > own.start_ns; at--)
        *at = at[-1];
    *at = own;
}

/* Puts the box of the row's narrow calls. */
static void put_narrow(const struct draw *d, struct draw_row *c, uint32_t depth) {
    if (!c->calls)
        return;
    put(d, &c->boxes,
        &(struct draw_box){.start_ns = c->start_ns,
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
static void vote(struct draw_row *c, uint32_t function, uint64_t weight) {
    if (c->function == function) {
        c->weight += weight;
    } else if (c->weight >= weight) {
        c->weight -= weight;
    } else {
        c->function = function;
        c->weight = weight - c->weight;
    }
}

static void join(struct draw_row *c, const struct draw_box *b) {
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
    while (d->rows.count <= b->depth)
        ARRAY_PUSH(&d->rows, ((struct draw_row){0}));
    struct draw_row *c = &d->rows.at[b->depth];
    if (b->end_ns - b->start_ns >= d->width_ns) {
        put_narrow(d, c, b->depth);
        put(d, b->flags & SUMMARY_INEXACT ? &c->inexact : &c->boxes, b);
        return;
    }
    uint64_t column = column_of(d, b->start_ns);
    if (c->calls && c->column >= column) { /* inexact ones may come late */
        join(c, b);
        return;
    }
    put_narrow(d, c, b->depth);
    c->column = column;
    c->start_ns = b->start_ns;
    c->end_ns = b->end_ns;
    c->weight = b->weight + 1;
    c->function = b->function;
    c->calls = b->calls;
    c->flags = b->flags;
}

size_t draw_end(struct draw *d) {
    size_t count = 0;
    for (uint32_t i = 0; i < d->rows.count; i++) {
        put_narrow(d, &d->rows.at[i], i);
        count += d->rows.at[i].inexact.count + d->rows.at[i].boxes.count;
    }
    return count;
}

static struct summary_span *move(struct summary_span *to, summary_span_list *from) {
    size_t count = from->count;
    if (count)
        memcpy(to, from->at, count * sizeof *to);
    ARRAY_FREE(from);
    return to + count;
}

void draw_move(struct draw *d, struct summary_span *to) {
    for (uint32_t i = 0; i < d->rows.count; i++) {
        to = move(to, &d->rows.at[i].inexact);
        to = move(to, &d->rows.at[i].boxes);
    }
    ARRAY_FREE(&d->rows);
}

uint16_t draw_flags(enum call_end how, bool before, bool inferred) {
    bool unwound = how == CALL_UNWOUND || how == CALL_MISSED || how == CALL_THREAD_ENDED;
    return (uint16_t)((before ? SUMMARY_BEFORE : 0) | (how == CALL_CUT ? SUMMARY_CUT : 0) |
                      (unwound || inferred ? SUMMARY_UNWOUND : 0) |
                      (how == CALL_OPEN ? SUMMARY_OPEN : 0));
}
