/* Counts marks in a walk of its own: they are rare beside calls, and most traces have none. */
#include "analyze/mark_counts.h"

static void on_mark(void *ctx, const struct walk_mark *mark) {
    uint64_t *counts = ctx;
    counts[mark->function]++;
}

uint64_t *mark_counts_read(const struct source *source) {
    if (!names_has_marks(source->names))
        return NULL;
    uint64_t *counts = mem_alloc(names_count(source->names) * sizeof *counts + 1);
    const struct visitor visitor = {.ctx = counts, .mark = on_mark};
    walk_all(source, &visitor);
    return counts;
}
