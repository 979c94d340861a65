/* See kept_format.h. Writing and reading are side by side: for each part of the pass the numbers
 * of all its elements, then the elements, so that a reader touches few pages at first. */
#include "summary/kept_format.h"

/* ---- calls to draw ---- */

static void put_store(struct kept_writer *w, const struct store *s) {
    kept_put_number(w, s->threshold_ns);
    kept_put_number(w, s->spans);
    for (size_t i = 0; i < s->stream_count; i++) {
        const struct stream_store *t = &s->streams[i];
        kept_put_number(w, t->depth);
        kept_put_number(w, t->spans);
        for (size_t k = 0; k < t->chunks.count; k++)
            kept_put_number(w, t->chunks.at[k].least_start_ns);
    }
    for (size_t i = 0; i < s->block_count; i++)
        kept_put_number(w, s->dense[i].count);
    for (size_t i = 0; i < s->stream_count; i++)
        for (size_t k = 0; k < s->streams[i].chunks.count; k++)
            kept_put(w, s->streams[i].chunks.at[k].at,
                     store_chunk_spans(&s->streams[i], k) * sizeof(struct kept_span));
    for (size_t i = 0; i < s->block_count; i++)
        kept_put(w, s->dense[i].at, s->dense[i].count * sizeof *s->dense[i].at);
}

static void get_stream(struct kept_reader *r, struct stream_store *t) {
    t->depth = (uint32_t)kept_get_number(r);
    t->spans = kept_get_number(r);
    for (size_t k = 0; k * STORE_CHUNK < t->spans && !r->failed; k++)
        ARRAY_PUSH(&t->chunks,
                   ((struct span_chunk){.least_start_ns = kept_get_number(r), .is_mapped = true}));
}

static void get_store(struct kept_reader *r, struct store *s) {
    s->threshold_ns = kept_get_number(r);
    s->spans = kept_get_number(r);
    for (size_t i = 0; i < s->stream_count && !r->failed; i++)
        get_stream(r, &s->streams[i]);
    for (size_t i = 0; i < s->block_count && !r->failed; i++)
        s->dense[i].count = (uint32_t)kept_get_number(r);
    for (size_t i = 0; i < s->stream_count; i++)
        for (size_t k = 0; k < s->streams[i].chunks.count && !r->failed; k++)
            s->streams[i].chunks.at[k].at =
                kept_get(r, store_chunk_spans(&s->streams[i], k), sizeof(struct kept_span));
    for (size_t i = 0; i < s->block_count && !r->failed; i++)
        s->dense[i].at = kept_get(r, s->dense[i].count, sizeof *s->dense[i].at);
}

/* ---- listed calls ---- */

static void put_listed(struct kept_writer *w, const struct pass *p) {
    for (size_t i = 0; i < p->store->stream_count; i++)
        kept_put_number(w, p->listed[i].calls.count);
    for (size_t i = 0; i < p->store->block_count; i++)
        kept_put_number(w, p->arounds[i].count);
    for (size_t i = 0; i < p->store->stream_count; i++) {
        const struct listed_stream *s = &p->listed[i];
        kept_put(w, s->calls.at, s->calls.count * sizeof *s->calls.at);
        kept_put(w, s->most_ends.at, s->most_ends.count * sizeof *s->most_ends.at);
    }
    for (size_t i = 0; i < p->store->block_count; i++)
        kept_put(w, p->arounds[i].at, p->arounds[i].count * sizeof *p->arounds[i].at);
}

static void get_listed(struct kept_reader *r, struct pass *p) {
    for (size_t i = 0; i < p->store->stream_count && !r->failed; i++)
        p->listed[i].calls.count = kept_get_number(r);
    for (size_t i = 0; i < p->store->block_count && !r->failed; i++)
        p->arounds[i].count = (uint32_t)kept_get_number(r);
    for (size_t i = 0; i < p->store->stream_count && !r->failed; i++) {
        struct listed_stream *s = &p->listed[i];
        s->calls.at = kept_get(r, s->calls.count, sizeof *s->calls.at);
        s->most_ends.count = (s->calls.count + LISTED_CHUNK - 1) / LISTED_CHUNK;
        s->most_ends.at = kept_get(r, s->most_ends.count, sizeof *s->most_ends.at);
    }
    for (size_t i = 0; i < p->store->block_count && !r->failed; i++)
        p->arounds[i].at = kept_get(r, p->arounds[i].count, sizeof *p->arounds[i].at);
}

/* ---- nodes ---- */

static void put_nodes(struct kept_writer *w, const struct pass *p) {
    for (int i = 0; i < PASS_LEVELS; i++)
        for (size_t k = 0; k < p->levels[i].count; k++) {
            const struct node *n = &p->levels[i].at[k];
            kept_put_number(w, n->sums_size);
            kept_put_number(w, n->raw_size);
            kept_put_number(w, n->totals_size);
        }
    for (int i = 0; i < PASS_LEVELS; i++)
        for (size_t k = 0; k < p->levels[i].count; k++) {
            const struct node *n = &p->levels[i].at[k];
            kept_put(w, n->sums, n->sums_size);
            kept_put(w, n->totals, n->totals ? n->totals_size + NODE_MARGIN : 0);
        }
}

static void get_bytes(struct kept_reader *r, struct node *n) {
    n->sums = kept_get(r, n->sums_size, 1);
    if (n->totals_size < SIZE_MAX / 2)
        n->totals = kept_get(r, n->totals_size + NODE_MARGIN, 1);
    r->failed = r->failed || !n->totals;
}

static void get_nodes(struct kept_reader *r, struct pass *p) {
    p->has_mapped_nodes = true;
    for (int i = 0; i < PASS_LEVELS; i++)
        for (size_t k = 0; k < p->levels[i].count && !r->failed; k++) {
            struct node *n = &p->levels[i].at[k];
            n->sums_size = kept_get_number(r);
            n->raw_size = kept_get_number(r);
            n->totals_size = kept_get_number(r);
        }
    for (int i = 0; i < PASS_LEVELS; i++)
        for (size_t k = 0; k < p->levels[i].count && !r->failed; k++)
            get_bytes(r, &p->levels[i].at[k]);
}

/* ---- the rest ---- */

static void put_slow(struct kept_writer *w, const struct slow *s) {
    for (uint32_t i = 0; i < s->functions; i++)
        kept_put_number(w, s->heaps[i].count);
    for (uint32_t i = 0; i < s->functions; i++)
        kept_put(w, s->heaps[i].at, s->heaps[i].count * sizeof *s->heaps[i].at);
}

static void get_slow(struct kept_reader *r, struct slow *s) {
    for (uint32_t i = 0; i < s->functions && !r->failed; i++)
        s->heaps[i].count = (uint32_t)kept_get_number(r);
    for (uint32_t i = 0; i < s->functions && !r->failed; i++)
        s->heaps[i].at = kept_get(r, s->heaps[i].count, sizeof *s->heaps[i].at);
}

static void put_marks(struct kept_writer *w, const struct marks *m) {
    kept_put(w, m->counts, sizeof m->counts);
    kept_put_number(w, m->list.count);
    kept_put(w, m->list.at, m->list.count * sizeof *m->list.at);
}

static void get_marks(struct kept_reader *r, struct marks *m) {
    const void *counts = kept_get(r, 1, sizeof m->counts);
    uint64_t count = kept_get_number(r);
    const struct summary_mark *list = kept_get(r, count, sizeof *list);
    if (counts)
        memcpy(m->counts, counts, sizeof m->counts);
    for (uint64_t i = 0; list && i < count; i++)
        ARRAY_PUSH(&m->list, list[i]);
}

/* How much there must be of everything. */
enum { SHAPE = 8 };
static void find_shape(const struct pass *p, uint64_t ret[SHAPE]) {
    const uint64_t shape[SHAPE] = {
        p->functions,       p->store->stream_count, p->store->block_count, p->levels[0].count,
        p->levels[1].count, p->levels[2].count,     p->slow.most,          p->store->most_spans};
    memcpy(ret, shape, sizeof shape);
}

void kept_put_pass(struct kept_writer *w, const struct pass *p) {
    uint64_t shape[SHAPE];
    find_shape(p, shape);
    kept_put(w, shape, sizeof shape);
    put_store(w, p->store);
    put_listed(w, p);
    put_nodes(w, p);
    put_slow(w, &p->slow);
    put_marks(w, &p->marks);
}

bool kept_get_pass(struct kept_reader *r, struct pass *p) {
    uint64_t shape[SHAPE];
    find_shape(p, shape);
    const void *found = kept_get(r, 1, sizeof shape);
    if (!found || memcmp(found, shape, sizeof shape) != 0)
        return false;
    get_store(r, p->store);
    get_listed(r, p);
    get_nodes(r, p);
    get_slow(r, &p->slow);
    get_marks(r, &p->marks);
    return !r->failed && r->at == r->end;
}
