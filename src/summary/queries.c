/* Statistics of a range, and single calls (summary.h). */
#include <errno.h>

#include "summary/state.h"
#include "summary/walks.h"

int summary_functions(struct summary *s, const struct summary_range *range, struct stats **ret) {
    struct session *session = session_take(s->sessions, range);
    int rc = walks_functions(session, ret);
    session_give(s->sessions, session);
    return rc;
}

int summary_graph(struct summary *s, const struct summary_range *range, struct tree *ret) {
    struct session *session = session_take(s->sessions, range);
    int rc = walks_graph(session, ret);
    session_give(s->sessions, session);
    return rc;
}

int summary_graph_quick(struct summary *s, const struct summary_range *range, struct tree *ret,
                        double *ret_share) {
    *ret_share = 1;
    return summary_graph(s, range, ret);
}

/* ---- single calls ---- */

struct search {
    const struct summary_calls_query *query;
    struct names *names;
    summary_call_list list; /* a heap, the last one of the order first */
    size_t room;
    uint64_t found;
    /* For summary_next(): */
    uint64_t at_ns;
    uint32_t function;
    bool forward, has_next;
    struct summary_call next;
};

static struct summary_call call_of(struct names *names, const struct walk_call *c) {
    bool known = c->caller_id != UINT32_MAX;
    return (struct summary_call){.start_ns = c->start_ns,
                                 .end_ns = c->end_ns,
                                 .duration_ns = c->duration_ns,
                                 .self_ns = c->self_ns,
                                 .function = c->function,
                                 .stream = c->stream,
                                 .depth = c->depth,
                                 .caller = known ? names_index(names, c->caller_id) : WALK_NONE,
                                 .how = c->how,
                                 .before = c->before,
                                 .inferred = c->inferred};
}

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
    const struct summary_calls_query *q = ctx;
    if (q->order == SUMMARY_SLOWEST && x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return by_start(x, y);
}

static bool is_worse(const struct search *s, size_t i, size_t k) {
    return compare(&s->list.at[i], &s->list.at[k], (void *)s->query) > 0;
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

static void offer(struct search *s, const struct summary_call *call) {
    s->found++;
    if (s->list.count < s->room) {
        ARRAY_PUSH(&s->list, *call);
        for (size_t i = s->list.count - 1; i && is_worse(s, i, (i - 1) / 2); i = (i - 1) / 2)
            swap(s, i, (i - 1) / 2);
    } else if (s->room && compare(call, &s->list.at[0], (void *)s->query) < 0) {
        s->list.at[0] = *call;
        sift_down(s);
    }
}

static void on_call(void *ctx, const struct walk_call *call) {
    struct search *s = ctx;
    const struct summary_calls_query *q = s->query;
    if (call->brief || call->function != q->function)
        return;
    bool has_length = !call->before && call->how != CALL_CUT;
    bool any_length = q->order == SUMMARY_BY_TIME && !q->least_ns && q->most_ns == UINT64_MAX;
    if (!any_length &&
        (!has_length || call->duration_ns < q->least_ns || call->duration_ns > q->most_ns))
        return;
    struct summary_call found = call_of(s->names, call);
    offer(s, &found);
}

int summary_calls(struct summary *s, const struct summary_range *range,
                  const struct summary_calls_query *query, summary_call_list *ret, bool *ret_more) {
    struct session *session = session_take(s->sessions, range);
    struct search search = {
        .query = query, .names = session->source.names, .room = query->first + query->limit};
    int rc = walks_calls(session, on_call, &search);
    session_give(s->sessions, session);
    if (rc) {
        ARRAY_FREE(&search.list);
        return rc;
    }
    if (search.list.count > 1)
        qsort_r(search.list.at, search.list.count, sizeof *search.list.at, compare, (void *)query);
    size_t first = query->first < search.list.count ? query->first : search.list.count;
    *ret = (summary_call_list){0};
    for (size_t i = first; i < search.list.count; i++)
        ARRAY_PUSH(ret, search.list.at[i]);
    *ret_more = search.found > search.room;
    ARRAY_FREE(&search.list);
    return 0;
}

static void on_candidate(void *ctx, const struct walk_call *call) {
    struct search *s = ctx;
    if (call->brief || call->function != s->function)
        return;
    if (s->forward ? call->start_ns <= s->at_ns : call->start_ns >= s->at_ns)
        return;
    struct summary_call found = call_of(s->names, call);
    int order = s->has_next ? by_start(&found, &s->next) : 0;
    if (!s->has_next || (s->forward ? order < 0 : order > 0))
        s->next = found;
    s->has_next = true;
}

int summary_next(struct summary *s, const struct summary_range *range, uint32_t function,
                 uint64_t at_ns, bool forward, struct summary_call *ret) {
    struct summary_range r = *range;
    r.since_ns = forward ? at_ns : 0;
    r.until_ns = forward ? UINT64_MAX : at_ns;
    struct session *session = session_take(s->sessions, &r);
    struct search search = {
        .names = session->source.names, .function = function, .at_ns = at_ns, .forward = forward};
    int rc = walks_calls(session, on_candidate, &search);
    session_give(s->sessions, session);
    if (!rc && search.has_next)
        *ret = search.next;
    return rc ? rc : search.has_next;
}
