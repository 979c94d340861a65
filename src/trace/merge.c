/* A heap of streams, ordered by the time of their next item. */
#include "trace/file.h"

/* A stream. Its cursor is opened when its first item is due. */
struct source {
    struct trace_cursor *cursor;
    const struct trace_item *items;
    size_t next, count;
};

/* Not part of struct source, to be small: merging many streams moves these. */
struct heap_entry {
    uint64_t ticks; /* of the stream's next item */
    uint64_t stream;
};

struct trace_merge {
    struct trace_reader *reader;
    struct source *sources;  /* by stream */
    struct heap_entry *heap; /* the earliest first */
    size_t count;
};

static bool is_before(const struct heap_entry *a, const struct heap_entry *b) {
    return a->ticks != b->ticks ? a->ticks < b->ticks : a->stream < b->stream;
}

static void sift_down(struct trace_merge *m, size_t i) {
    struct heap_entry moved = m->heap[i];
    for (size_t child; (child = 2 * i + 1) < m->count; i = child) {
        if (child + 1 < m->count && is_before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!is_before(&m->heap[child], &moved))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = moved;
}

int trace_merge_open(struct trace_reader *r, struct trace_merge **ret, struct err *err) {
    (void)err; /* blocks are read later */
    struct trace_merge *m = mem_alloc(sizeof *m);
    m->reader = r;
    m->sources = mem_alloc(r->threads.count * sizeof *m->sources);
    m->heap = mem_alloc(r->threads.count * sizeof *m->heap);
    for (size_t i = 0; i < r->threads.count; i++) {
        uint64_t ticks = trace_reader_first_ticks(r, i);
        if (ticks != UINT64_MAX)
            m->heap[m->count++] = (struct heap_entry){ticks, i};
    }
    for (size_t i = m->count / 2; i-- > 0;)
        sift_down(m, i);
    *ret = m;
    return 0;
}

/* Reads more items of the heap's first stream. 0: it has ended and leaves the heap. */
static ptrdiff_t refill(struct trace_merge *m, struct err *err) {
    struct heap_entry *first = &m->heap[0];
    struct source *s = &m->sources[first->stream];
    int rc = s->cursor ? 0 : trace_cursor_open(m->reader, (uint32_t)first->stream, &s->cursor, err);
    ptrdiff_t n = rc ? rc : trace_cursor_batch(s->cursor, &s->items, err);
    s->next = 0;
    s->count = n > 0 ? (size_t)n : 0;
    if (n > 0)
        first->ticks = s->items[0].ticks;
    if (n == 0) {
        trace_cursor_free(s->cursor);
        s->cursor = NULL;
        *first = m->heap[--m->count];
    }
    if (n >= 0 && m->count)
        sift_down(m, 0);
    return n;
}

int trace_merge_next(struct trace_merge *m, struct trace_item *ret, struct err *err) {
    while (m->count) {
        struct source *s = &m->sources[m->heap[0].stream];
        if (s->next < s->count) {
            *ret = s->items[s->next++];
            if (s->next < s->count) {
                m->heap[0].ticks = s->items[s->next].ticks;
                sift_down(m, 0);
            }
            return 1;
        }
        ptrdiff_t n = refill(m, err);
        if (n < 0)
            return (int)n;
    }
    return 0;
}

void trace_merge_free(struct trace_merge *m) {
    if (!m)
        return;
    for (size_t i = 0; i < m->reader->threads.count; i++)
        trace_cursor_free(m->sources[i].cursor);
    free(m->sources);
    free(m->heap);
    free(m);
}
