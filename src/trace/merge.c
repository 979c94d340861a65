#include "trace/file.h"

/* A stream in the heap. Until its first block's time has come it has no cursor. */
struct source {
    uint64_t ticks; /* of its next item */
    uint32_t stream;
    struct trace_cursor *cursor;
    const struct trace_item *items;
    size_t next, count;
};

struct trace_merge {
    struct trace_reader *reader;
    struct source *heap; /* the earliest first */
    size_t count;
};

static bool before(const struct source *a, const struct source *b) {
    return a->ticks < b->ticks || (a->ticks == b->ticks && a->stream < b->stream);
}

static void sift_down(struct trace_merge *m, size_t i) {
    struct source moved = m->heap[i];
    for (size_t child; (child = 2 * i + 1) < m->count; i = child) {
        if (child + 1 < m->count && before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!before(&m->heap[child], &moved))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = moved;
}

int trace_merge_open(struct trace_reader *r, struct trace_merge **ret, struct err *err) {
    (void)err; /* blocks are read later */
    struct trace_merge *m = mem_alloc(sizeof *m);
    m->reader = r;
    m->heap = mem_alloc(r->threads.count * sizeof *m->heap);
    for (uint32_t i = 0; i < r->threads.count; i++) {
        size_t block = r->stream_first[i];
        if (block < r->stream_first[i + 1])
            m->heap[m->count++] =
                (struct source){.ticks = r->blocks.at[block].block.first, .stream = i};
    }
    for (size_t i = m->count / 2; i-- > 0;)
        sift_down(m, i);
    *ret = m;
    return 0;
}

/* More items for the first source; 0: it has ended and is no longer in the heap. */
static ptrdiff_t refill(struct trace_merge *m, struct err *err) {
    struct source *s = &m->heap[0];
    int rc = s->cursor ? 0 : trace_cursor_open(m->reader, s->stream, &s->cursor, err);
    ptrdiff_t n = rc ? rc : trace_cursor_batch(s->cursor, &s->items, err);
    s->next = s->count = 0;
    if (n > 0) {
        s->count = (size_t)n;
        s->ticks = s->items[0].ticks;
    }
    if (n == 0) {
        trace_cursor_free(s->cursor);
        *s = m->heap[--m->count];
    }
    if (n >= 0 && m->count)
        sift_down(m, 0);
    return n;
}

int trace_merge_next(struct trace_merge *m, struct trace_item *ret, struct err *err) {
    while (m->count && m->heap[0].next == m->heap[0].count) {
        ptrdiff_t n = refill(m, err);
        if (n < 0)
            return (int)n;
    }
    if (!m->count)
        return 0;
    struct source *s = &m->heap[0];
    *ret = s->items[s->next++];
    if (s->next < s->count)
        s->ticks = s->items[s->next].ticks;
    if (m->count > 1)
        sift_down(m, 0);
    return 1;
}

void trace_merge_free(struct trace_merge *m) {
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++)
        trace_cursor_free(m->heap[i].cursor);
    free(m->heap);
    free(m);
}
