/* Names that threads got while they were recorded. A record of it has the thread's id, as streams
 * of snapshots have other numbers. */
#include <stdlib.h>

#include "base/search.h"
#include "trace/file.h"

struct holder { /* a thread that had the id */
    uint32_t tid, stream;
    uint64_t start;
};

static int compare(const void *a, const void *b) {
    const struct holder *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->stream > y->stream) - (x->stream < y->stream);
}

/* The last one that had begun; NULL: none. */
static const struct holder *find(const struct holder *holders, size_t count, uint32_t tid,
                                 uint64_t ticks) {
    const struct holder key = {tid, UINT32_MAX, ticks};
    size_t end = SEARCH(i, count, compare(&holders[i], &key) <= 0);
    return end && holders[end - 1].tid == tid ? &holders[end - 1] : NULL;
}

void name_threads(struct trace_reader *r) {
    size_t count = r->threads.count;
    AUTO_FREE struct holder *holders = mem_alloc(count * sizeof *holders + 1);
    for (size_t i = 0; i < count; i++)
        holders[i] = (struct holder){r->threads.at[i].tid, (uint32_t)i, r->threads.at[i].start};
    qsort(holders, count, sizeof *holders, compare);
    for (size_t i = 0; i < r->changes.count; i++) {
        const struct trace_change *c = &r->changes.at[i];
        if (c->kind != TRACE_NAMED || !c->filter || c->added > UINT32_MAX)
            continue;
        const struct holder *holder = find(holders, count, (uint32_t)c->added, c->ticks);
        if (!holder)
            continue;
        struct trace_thread *t = &r->threads.at[holder->stream];
        ARRAY_PUSH(&r->former_names, ((struct former_name){holder->stream, t->name}));
        t->name = c->filter;
    }
}

const char *trace_reader_thread_name(const struct trace_reader *r, size_t stream, size_t i) {
    for (size_t k = 0; k < r->former_names.count; k++)
        if (r->former_names.at[k].stream == stream && !i--)
            return r->former_names.at[k].name;
    return i || stream >= r->threads.count ? NULL : r->threads.at[stream].name;
}
