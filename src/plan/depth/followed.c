/*
 * Adds the results of walks to the depths, one function after the other.
 *
 * Many functions are walked at the same time. Each walk knows the targets that were known before,
 * and its own labels. If a function before it, in order, has put a label into a part that both
 * have, the later one is walked again. So the result is that of walking in order.
 */
#include "base/bitmap.h"
#include "base/workers.h"
#include "plan/depth/follow.h"

static void walked_done(struct walked *w) {
    ARRAY_FREE(&w->pieces);
    ARRAY_FREE(&w->rows);
    ARRAY_FREE(&w->frame_returns);
    ARRAY_FREE(&w->labels);
}

static void add_rows(struct depths *d, const struct walked *w) {
    const size_t base = d->rows.count;
    for (size_t i = 0; i < w->pieces.count; i++) {
        struct func_depth *known = &d->by_func[w->pieces.at[i].func];
        const size_t first = w->pieces.at[i].first_row;
        const size_t end = i + 1 < w->pieces.count ? w->pieces.at[i + 1].first_row : w->rows.count;
        known->first_row = (uint32_t)(base + first);
        known->row_count = (uint32_t)(end - first);
    }
    for (size_t i = 0; i < w->rows.count; i++)
        ARRAY_PUSH(&d->rows, w->rows.at[i]);
}

/* LABELLED, by function, gets the functions in which W has labels that were no targets; NULL:
 * nobody asks. */
static void add_labels(struct follower *f, const struct walked *w, bool *labelled) {
    for (size_t i = 0; i < w->labels.count; i++) {
        const vaddr_t addr = w->labels.at[i];
        const uint32_t func = labelled ? code_func_at(f->code, addr) : NO_FUNC;
        if (func != NO_FUNC && func != w->func)
            labelled[func] = true;
        code_note(f->code, f->targets, addr);
        ARRAY_PUSH(&f->d->labels, addr);
    }
}

static bool add_result(struct follower *f, struct walked *w, bool *labelled) {
    struct depths *d = f->d;
    const bool all = w->all;
    add_labels(f, w, labelled);
    if (all)
        add_rows(d, w);
    for (size_t i = 0; all && i < w->frame_returns.count; i++)
        ARRAY_PUSH(&d->frame_returns, w->frame_returns.at[i]);
    walked_done(w);
    return all;
}

static void prepare(struct follower *f) {
    if (!f->prepared)
        f->data_starts = data_starts_find(f->code);
    f->prepared = true;
}

static struct walked walk_one(const struct follower *f, uint32_t func) {
    struct walked ret;
    struct walk *w = depth_walk_new(f);
    depth_walk(w, func, &ret);
    depth_walk_free(w);
    return ret;
}

bool depth_follow(struct follower *f, uint32_t func) {
    prepare(f);
    struct walked walked = walk_one(f, func);
    f->d->by_func[func].falls |= walked.all && walked.falls;
    return add_result(f, &walked, NULL);
}

enum { SHARE = 32 }; /* functions that a thread walks in one go */

struct walks {
    const struct follower *f;
    const struct follow_list *list;
    struct walked *results;
};

static void walk_share(void *arg, size_t index) {
    const struct walks *all = arg;
    struct walk *w = depth_walk_new(all->f);
    for (size_t i = index * SHARE; i < all->list->funcs.count && i < (index + 1) * SHARE; i++)
        depth_walk(w, all->list->funcs.at[i], &all->results[i]);
    depth_walk_free(w);
}

/* True if W has a part in which a walk before it has put labels. */
static bool is_outdated(const struct walked *w, const bool *labelled) {
    for (size_t i = 1; i < w->pieces.count; i++) {
        if (labelled[w->pieces.at[i].func])
            return true;
    }
    return false;
}

void depths_follow(struct follower *f, const struct follow_list *list) {
    if (!list->funcs.count)
        return;
    prepare(f);
    AUTO_FREE struct walked *results = mem_alloc(list->funcs.count * sizeof *results);
    AUTO_FREE bool *labelled = mem_alloc(f->code->func_count + 1);
    struct walks all = {f, list, results};
    workers_run((list->funcs.count + SHARE - 1) / SHARE, walk_share, &all);
    for (size_t i = 0; i < list->funcs.count; i++) {
        if (is_outdated(&results[i], labelled)) {
            walked_done(&results[i]);
            results[i] = walk_one(f, list->funcs.at[i]);
        }
        list->followed(f, list->funcs.at[i], add_result(f, &results[i], labelled));
    }
}
