/* The functions that take the most time: durations of their calls, and the slowest ones. */
#include <stdlib.h>

#include "page/answers.h"
#include "page/html.h"

struct listed { /* a function, and its slowest calls: a heap, the shortest one first */
    uint32_t function;
    uint64_t total_ns, found;
    struct summary_call *calls; /* LISTED_CALLS; only where they are wanted */
    unsigned count;
};

struct list {
    struct listed *at; /* the most time first */
    size_t count;
    struct listed **by_function; /* NULL: not listed */
    struct names *names;
};

/* ---- which functions ---- */

static int compare_listed(const void *a, const void *b) {
    const struct listed *x = a, *y = b;
    return x->total_ns != y->total_ns ? (x->total_ns < y->total_ns ? 1 : -1)
                                      : (x->function > y->function) - (x->function < y->function);
}

static struct list list_new(const struct stats *stats) {
    struct list list = {.count = stats_function_count(stats)};
    list.at = mem_alloc(list.count * sizeof *list.at + 1);
    for (size_t i = 0; i < list.count; i++) {
        uint32_t function = stats_function(stats, i);
        list.at[i].function = function;
        list.at[i].total_ns = stats_of(stats, function)->total_ns;
    }
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, compare_listed);
    if (list.count > LISTED_FUNCTIONS)
        list.count = LISTED_FUNCTIONS;
    return list;
}

void html_write_histograms(FILE *out, const struct stats *stats) {
    struct list list = list_new(stats);
    for (size_t i = 0; i < list.count; i++) {
        fprintf(out, "%s\"%u\": ", i ? ",\n" : "{", list.at[i].function);
        write_histogram(out, &stats_of(stats, list.at[i].function)->durations);
    }
    fputs(list.count ? "}\n" : "{}\n", out);
    free(list.at);
}

/* ---- their slowest calls ---- */

/* > 0: A comes first: it is slower, or else earlier. */
static int order(const struct summary_call *a, const struct summary_call *b) {
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns ? 1 : -1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? 1 : -1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? 1 : -1;
    return (a->depth < b->depth) - (a->depth > b->depth);
}

static void sift(struct listed *l, unsigned i) {
    for (;;) {
        unsigned child = 2 * i + 1;
        if (child + 1 < l->count && order(&l->calls[child + 1], &l->calls[child]) < 0)
            child++;
        if (child >= l->count || order(&l->calls[child], &l->calls[i]) >= 0)
            return;
        struct summary_call moved = l->calls[i];
        l->calls[i] = l->calls[child];
        l->calls[child] = moved;
        i = child;
    }
}

static void add_call(struct listed *l, const struct summary_call *call) {
    l->found++;
    if (l->count < LISTED_CALLS) {
        l->calls[l->count++] = *call;
        for (unsigned i = l->count / 2; l->count == LISTED_CALLS && i-- > 0;)
            sift(l, i);
    } else if (order(call, &l->calls[0]) > 0) {
        l->calls[0] = *call;
        sift(l, 0);
    }
}

/* As in summary_calls(), calls without a known duration are not listed. */
static void on_close(void *ctx, const struct walk_call *c) {
    struct list *list = ctx;
    struct listed *l = list->by_function[c->function];
    if (l && !c->brief && !c->before && c->how != CALL_CUT) {
        const struct summary_call call = summary_call_of(c, list->names);
        add_call(l, &call);
    }
}

static int compare_calls(const void *a, const void *b) { return -order(a, b); }

/* VALUES: of its calls, or NULL. */
static void write_list(FILE *out, const struct listed *l, const struct valued_call *values) {
    fprintf(out, "\"%u\": {\"calls\": [", l->function);
    for (unsigned i = 0; i < l->count; i++) {
        fputs(i ? ",\n" : "", out);
        write_call(out, &l->calls[i], values ? &values[i].texts : NULL);
    }
    fprintf(out, "], \"more\": %s}", l->found > l->count ? "true" : "false");
}

/* The values of all calls of LIST, in their order. To be freed. */
static struct valued_call *read_values(struct writing *w, const struct list *list) {
    struct valued_call *values = mem_alloc(list->count * LISTED_CALLS * sizeof *values + 1);
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        for (unsigned k = 0; k < list->at[i].count; k++)
            values[count++].call = &list->at[i].calls[k];
    value_texts_fill(w->request->shown, &w->client, values, count);
    return values;
}

static void write_lists(FILE *out, struct writing *w, const struct list *list) {
    AUTO_FREE struct valued_call *values = w->request->hides_values ? NULL : read_values(w, list);
    struct valued_call *next = values;
    for (size_t i = 0; i < list->count; i++) {
        fputs(i ? ",\n" : "{", out);
        write_list(out, &list->at[i], next);
        for (unsigned k = 0; next && k < list->at[i].count; k++)
            value_texts_done(&next++->texts);
    }
    fputs(list->count ? "}\n" : "{}\n", out);
}

void html_write_calls(FILE *out, struct writing *w, const struct stats *stats) {
    struct list list = list_new(stats);
    struct source source;
    shown_source(w->request->shown, &w->range, &w->client, &source);
    list.names = source.names;
    list.by_function = mem_alloc(names_count(source.names) * sizeof *list.by_function + 1);
    for (size_t i = 0; i < list.count; i++) {
        list.by_function[list.at[i].function] = &list.at[i];
        list.at[i].calls = mem_alloc(LISTED_CALLS * sizeof *list.at[i].calls);
    }
    walk_all(&source, &(struct visitor){.ctx = &list, .close = on_close});
    for (size_t i = 0; i < list.count; i++)
        if (list.at[i].count)
            qsort(list.at[i].calls, list.at[i].count, sizeof *list.at[i].calls, compare_calls);
    write_lists(out, w, &list);
    for (size_t i = 0; i < list.count; i++)
        free(list.at[i].calls);
    shown_source_done(&source);
    free(list.by_function);
    free(list.at);
}
