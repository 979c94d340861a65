/* See search.h. */
#include "summary/search.h"

static int by_start(const struct summary_call *x, const struct summary_call *y) {
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* < 0: X comes first. */
static int compare(const void *a, const void *b, void *ctx) {
    const struct summary_call *x = a, *y = b;
    const struct search *s = ctx;
    if (s->order == SEARCH_SLOWEST && x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return s->order == SEARCH_LAST ? by_start(y, x) : by_start(x, y);
}

static bool is_worse(const struct search *s, size_t i, size_t k) {
    return compare(&s->list.at[i], &s->list.at[k], (void *)s) > 0;
}

static void swap(struct search *s, size_t i, size_t k) {
    struct summary_call old = s->list.at[i];
    s->list.at[i] = s->list.at[k];
    s->list.at[k] = old;
}

static void sift_down(struct search *s) {
    for (size_t i = 0, child; (child = 2 * i + 1) < s->list.count; i = child) {
        if (child + 1 < s->list.count && is_worse(s, child + 1, child))
            child++;
        if (!is_worse(s, child, i))
            break;
        swap(s, i, child);
    }
}

static bool is_asked_for(const struct search *s, const struct summary_call *c) {
    bool measured = !c->before && c->how != CALL_CUT;
    return c->function == s->function && (measured || !s->measured) &&
           c->duration_ns >= s->least_ns && c->duration_ns <= s->most_ns &&
           c->start_ns >= s->least_start_ns && c->start_ns <= s->most_start_ns;
}

static void insert(struct search *s, const struct summary_call *call) {
    if (s->list.count < s->room) {
        ARRAY_PUSH(&s->list, *call);
        for (size_t i = s->list.count - 1; i && is_worse(s, i, (i - 1) / 2); i = (i - 1) / 2)
            swap(s, i, (i - 1) / 2);
    } else if (s->room && compare(call, &s->list.at[0], s) < 0) {
        s->list.at[0] = *call;
        sift_down(s);
    }
}

void search_offer(struct search *s, const struct summary_call *call) {
    if (!is_asked_for(s, call))
        return;
    s->found++;
    insert(s, call);
}

void search_join(struct search *s, struct search *from) {
    s->found += from->found;
    for (size_t i = 0; i < from->list.count; i++)
        insert(s, &from->list.at[i]);
    ARRAY_FREE(&from->list);
}

void search_sort(struct search *s) {
    if (s->list.count > 1)
        qsort_r(s->list.at, s->list.count, sizeof *s->list.at, compare, s);
}

bool search_is_over(const struct search *s, uint64_t key_ns) {
    if (!s->room || s->list.count < s->room)
        return false;
    const struct summary_call *worst = &s->list.at[0];
    if (s->order == SEARCH_SLOWEST)
        return worst->duration_ns > key_ns;
    return s->order == SEARCH_FIRST ? worst->start_ns < key_ns : worst->start_ns > key_ns;
}

struct summary_call summary_call_of(const struct walk_call *c, struct names *names) {
    const bool known = c->caller_id != UINT32_MAX;
    return (struct summary_call){.start_ns = c->start_ns,
                                 .end_ns = c->end_ns,
                                 .duration_ns = c->duration_ns,
                                 .self_ns = c->self_ns,
                                 .clipped_self_ns = c->clipped_self_ns,
                                 .function = c->function,
                                 .stream = c->stream,
                                 .end_stream = c->end_stream,
                                 .depth = c->depth,
                                 .caller = known ? names_index(names, c->caller_id) : WALK_NONE,
                                 .how = c->how,
                                 .before = c->before,
                                 .inferred = c->inferred};
}

void search_walked(void *ctx, const struct walk_call *c) {
    struct search *s = ctx;
    if (c->brief || c->function != s->function)
        return;
    const struct summary_call call = summary_call_of(c, s->names);
    search_offer(s, &call);
}

void search_replayed(void *ctx, const struct replayed *c) {
    struct summary_call call = {.start_ns = c->start_ns,
                                .end_ns = c->end_ns,
                                .duration_ns = c->duration_ns,
                                .self_ns = c->self_ns,
                                .function = c->function,
                                .stream = c->stream,
                                .end_stream = c->stream,
                                .depth = c->depth,
                                .caller = c->caller,
                                .how = c->how,
                                .before = c->before,
                                .inferred = c->inferred};
    search_offer(ctx, &call);
}
