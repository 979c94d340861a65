/*
 * The search in values. The client asks again, with `skip` as the answer says, until nothing is
 * left: so it can tell how far the search is.
 */
#include <errno.h>

#include "page/answers.h"

enum { SAME_TIME_MOST = 10000 };

static bool is_of(const struct summary_call *c, const struct call_point *point) {
    if (point->kind == EVENT_ENTRY)
        return c->stream == point->stream && c->start_ns == point->ns && !c->before;
    return c->end_stream == point->stream && c->end_ns == point->ns && c->how == CALL_RETURNED &&
           !c->inferred;
}

/* The call that begins or has returned at the point: 1, or 0 if there is none. A stack may go on in
 * another thread, so all are looked at. */
static int call_of(struct writing *w, const struct found_value *found, struct summary_call *ret) {
    struct summary_calls_query query = {.function = found->function,
                                        .order = SUMMARY_BY_TIME,
                                        .most_ns = UINT64_MAX,
                                        .limit = SAME_TIME_MOST};
    struct summary_range range = client_range(&w->client);
    summary_call_list list;
    bool more;
    range.since_ns = range.until_ns = found->point.ns;
    int rc = summary_calls(w->summary, &range, &query, &list, &more);
    if (rc < 0)
        return rc;
    for (size_t i = list.count; i-- > 0 && !rc;)
        if (is_of(&list.at[i], &found->point)) {
            *ret = list.at[i];
            rc = 1;
        }
    ARRAY_FREE(&list);
    return rc;
}

/* {"at_ns", "stream", "function", "call"}; "call" is null if its begin or end was lost. */
static int write_found(struct writing *w, const struct found_value *found) {
    struct summary_call call;
    struct value_texts texts;
    int rc = call_of(w, found, &call);
    if (rc < 0)
        return rc;
    fprintf(w->out,
            "{\"at_ns\": %ju, \"stream\": %u, \"function\": %u, \"call\": ", found->point.ns,
            found->point.stream, found->function);
    if (rc) {
        value_texts_of(w->request->shown, &call, &texts);
        write_call(w->out, &call, &texts);
        value_texts_done(&texts);
    }
    fputs(rc ? "}" : "null}", w->out);
    return 0;
}

int answer_find(struct writing *w, struct err *err) {
    struct value_search search = {.range = &w->range, .client = &w->client};
    struct found_value found;
    uint64_t skip;
    unsigned back;
    int rc = parameter_number(w->request, "skip", 0, &skip, err);
    rc = rc ? rc : parameter_choice(w->request, "direction", "1|-1", &back, err);
    if (rc < 0)
        return rc;
    search.text = w->request->parameter(w->request->ctx, "text");
    search.next = skip;
    search.back = back;
    if (!search.text || !*search.text)
        return err_set(err, EINVAL, "bad-value", "text: what is to be found is not given");
    bool is_found = value_search(w->request->shown, &search, &found) == 1;
    fputs("{\"found\": ", w->out);
    rc = is_found ? write_found(w, &found) : 0;
    fputs(is_found ? "" : "null", w->out);
    fprintf(w->out, search.is_over ? ", \"skip\": null" : ", \"skip\": %zu", search.next);
    fprintf(w->out, ", \"blocks\": %zu}\n", search.blocks);
    return w->client.stop ? -ECANCELED : rc;
}
