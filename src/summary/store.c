/* See store.h. */
#include "summary/store.h"

#include "base/search.h"

struct store *store_new(const struct trace_reader *reader, uint64_t most_spans) {
    struct store *s = mem_alloc(sizeof *s);
    s->reader = reader;
    s->most_spans = most_spans;
    s->share = 1;
    s->stream_count = trace_reader_stream_count(reader);
    s->block_count = s->stream_count ? trace_reader_end_block(reader, s->stream_count - 1) : 0;
    s->streams = mem_alloc((s->stream_count + 1) * sizeof *s->streams);
    s->dense = mem_alloc((s->block_count + 1) * sizeof *s->dense);
    for (size_t i = 0; i < s->stream_count; i++)
        s->streams[i].block = trace_reader_first_block(reader, i);
    return s;
}

void store_free(struct store *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->stream_count; i++) {
        struct stream_store *t = &s->streams[i];
        for (size_t k = 0; k < t->chunks.count; k++)
            if (!t->chunks.at[k].is_mapped)
                free(t->chunks.at[k].at);
        ARRAY_FREE(&t->chunks);
    }
    for (size_t i = 0; i < s->block_count; i++)
        if (s->dense[i].room)
            free(s->dense[i].at);
    free(s->dense);
    free(s->streams);
    free(s);
}

/* ---- counted calls ---- */

static uint64_t first_ns(const struct store *s, size_t block) {
    return trace_reader_ns(s->reader, trace_reader_block(s->reader, block).first);
}

/* The last block of STREAM that begins at NS or before, or its first one; at BLOCK or behind it. */
static size_t block_at(const struct store *s, uint32_t stream, size_t block, uint64_t ns) {
    size_t end = trace_reader_end_block(s->reader, stream);
    while (block + 1 < end && first_ns(s, block + 1) <= ns)
        block++;
    return block;
}

static struct dense *insert(struct dense_list *l, uint32_t at) {
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 4;
        l->at = mem_resize(l->at, l->room, sizeof *l->at);
    }
    memmove(l->at + at + 1, l->at + at, (l->count - at) * sizeof *l->at);
    l->count++;
    return &l->at[at];
}

static void vote(struct dense *d, uint32_t function, float weight) {
    if (d->function == function) {
        d->weight += weight;
    } else if (d->weight >= weight) {
        d->weight -= weight;
    } else {
        d->function = function;
        d->weight = weight - d->weight;
    }
}

static void count_box(struct dense_list *l, const struct draw_box *b) {
    uint32_t at = (uint32_t)SEARCH(i, l->count, l->at[i].depth < b->depth);
    if (at == l->count || l->at[at].depth != b->depth) {
        *insert(l, at) = (struct dense){b->start_ns, b->end_ns, (float)b->weight,
                                        b->function, b->calls,  b->depth};
        return;
    }
    struct dense *d = &l->at[at];
    d->start_ns = b->start_ns < d->start_ns ? b->start_ns : d->start_ns;
    d->end_ns = b->end_ns > d->end_ns ? b->end_ns : d->end_ns;
    d->calls = d->calls > UINT32_MAX - b->calls ? UINT32_MAX : d->calls + b->calls;
    vote(d, b->function, (float)b->weight);
}

/* ---- kept calls ---- */

static struct kept_span *span_at(const struct stream_store *t, size_t i) {
    return &t->chunks.at[i / STORE_CHUNK].at[i % STORE_CHUNK];
}

static void keep(struct store *s, struct stream_store *t, const struct kept_span *span) {
    size_t chunk = t->spans / STORE_CHUNK;
    if (chunk == t->chunks.count)
        ARRAY_PUSH(&t->chunks, ((struct span_chunk){
                                   .at = mem_resize(NULL, STORE_CHUNK, sizeof(struct kept_span))}));
    struct span_chunk *c = &t->chunks.at[chunk];
    if (t->spans % STORE_CHUNK == 0)
        c->least_start_ns = UINT64_MAX;
    c->least_start_ns = span->start_ns < c->least_start_ns ? span->start_ns : c->least_start_ns;
    c->at[t->spans++ % STORE_CHUNK] = *span;
    s->spans++;
}

/* Frees chunks without spans. */
static void drop_chunks(struct stream_store *t) {
    size_t used = (t->spans + STORE_CHUNK - 1) / STORE_CHUNK;
    while (t->chunks.count > used)
        free(t->chunks.at[--t->chunks.count].at);
}

/* Keeps what is longer than the threshold, and counts the rest. */
static void sift(struct store *s, uint32_t stream) {
    struct stream_store *t = &s->streams[stream];
    size_t count = t->spans, block = trace_reader_first_block(s->reader, stream);
    t->spans = 0;
    for (size_t i = 0; i < count; i++) {
        struct kept_span k = *span_at(t, i);
        uint64_t length = k.end_ns - k.start_ns;
        if (length > s->threshold_ns) {
            keep(s, t, &k);
            continue;
        }
        block = block_at(s, stream, block, k.end_ns);
        count_box(&s->dense[block],
                  &(struct draw_box){k.start_ns, k.end_ns, length + 1, k.function, 1, k.depth, 0});
    }
    drop_chunks(t);
}

/* The least power of two, above the present threshold, above which at most MOST spans are. */
static uint64_t next_threshold(const struct store *s, uint64_t most) {
    uint64_t counts[65] = {0}; /* by the highest bit of the length */
    for (size_t i = 0; i < s->stream_count; i++)
        for (size_t k = 0; k < s->streams[i].spans; k++) {
            const struct kept_span *span = span_at(&s->streams[i], k);
            uint64_t length = span->end_ns - span->start_ns;
            counts[length > 1 ? 64 - __builtin_clzll(length - 1) : 0]++; /* > 2^(i − 1) */
        }
    uint64_t above = 0;
    int bits = 63;
    while (bits > 6 && above + counts[bits] <= most)
        above += counts[bits--];
    uint64_t next = (uint64_t)1 << bits;
    return next > s->threshold_ns ? next : s->threshold_ns * 2;
}

/* Far from the end of a long trace the threshold goes up faster, if it would have to anyway. */
static void raise_threshold(struct store *s) {
    double most = (double)s->most_spans * 4 * s->share;
    most = most < (double)s->most_spans ? most : (double)s->most_spans;
    s->threshold_ns = next_threshold(s, (uint64_t)most);
    s->spans = 0;
    for (uint32_t i = 0; i < s->stream_count; i++)
        sift(s, i);
}

void store_add(struct store *s, uint32_t stream, const struct draw_box *b) {
    struct stream_store *t = &s->streams[stream];
    bool dense = b->flags & SUMMARY_DENSE;
    t->depth = b->depth + 1 > t->depth ? b->depth + 1 : t->depth;
    if (!dense && (!s->threshold_ns || b->end_ns - b->start_ns > s->threshold_ns)) {
        uint16_t depth = (uint16_t)(b->depth < UINT16_MAX ? b->depth : UINT16_MAX);
        keep(s, t, &(struct kept_span){b->start_ns, b->end_ns, b->function, depth, b->flags});
        while (s->spans > s->most_spans)
            raise_threshold(s);
        return;
    }
    if (trace_reader_end_block(s->reader, stream) == trace_reader_first_block(s->reader, stream))
        return;
    t->block = block_at(s, stream, t->block, b->end_ns);
    count_box(&s->dense[t->block], b);
}

/* ---- drawing ---- */

static void draw_dense(const struct dense_list *l, struct draw *d) {
    for (uint32_t i = 0; i < l->count; i++) {
        const struct dense *n = &l->at[i];
        uint16_t flags = SUMMARY_INEXACT | SUMMARY_DENSE;
        draw_add(d, &(struct draw_box){n->start_ns, n->end_ns, (uint64_t)n->weight, n->function,
                                       n->calls, n->depth, flags});
    }
}

static void draw_kept(const struct kept_span *k, struct draw *d) {
    draw_add(d, &(struct draw_box){k->start_ns, k->end_ns, k->end_ns - k->start_ns, k->function, 1,
                                   k->depth, k->flags});
}

/* Draws the calls from I on that end before NS. Returns the next one. */
static size_t draw_until(const struct stream_store *t, size_t i, uint64_t ns, struct draw *d) {
    for (; i < t->spans && span_at(t, i)->end_ns < ns; i++) {
        if (i % STORE_CHUNK == 0 && t->chunks.at[i / STORE_CHUNK].least_start_ns > d->until_ns)
            i += STORE_CHUNK - 1;
        else
            draw_kept(span_at(t, i), d);
    }
    return i;
}

void store_draw(const struct store *s, uint32_t stream, struct draw *d) {
    const struct stream_store *t = &s->streams[stream];
    size_t block = trace_reader_first_block(s->reader, stream);
    size_t end = trace_reader_end_block(s->reader, stream);
    size_t i = SEARCH(n, t->spans, span_at(t, n)->end_ns < d->since_ns);
    block = end > block ? block_at(s, stream, block, d->since_ns) : end;
    for (; block < end && first_ns(s, block) <= d->until_ns + s->threshold_ns; block++) {
        i = draw_until(t, i, block + 1 < end ? first_ns(s, block + 1) : UINT64_MAX, d);
        draw_dense(&s->dense[block], d);
    }
    draw_until(t, i, UINT64_MAX, d);
}
