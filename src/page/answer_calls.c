/* Answers about single calls, and about what stands beside them. */
#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "cmd/change_texts.h"
#include "cmd/deaths.h"
#include "cmd/figures.h"
#include "cmd/json.h"
#include "page/answers.h"

enum { CALLS_MOST = 10000, MARKS_MOST = 100000 };

/* ---- histogram ---- */

enum { BARS_MOST = 100 };

struct bars {
    struct bar {
        uint64_t from_ns, to_ns, calls;
    } at[BARS_MOST];
    size_t count;
};

/* The end of the bar that VALUE is in: the next power of two, in STEPS equal steps from the last.
 */
static struct bar bar_of(uint64_t value, unsigned steps) {
    if (value < steps)
        return (struct bar){value, value + 1, 0};
    uint64_t low = (uint64_t)1 << (63 - __builtin_clzll(value));
    uint64_t width = low < steps ? 1 : low / steps;
    uint64_t from = low + (value - low) / width * width;
    return (struct bar){from, from + width, 0};
}

/* The buckets of HISTOGRAM (histogram.h) are narrower than bars, and do not cross their ends.
 * False: there are too many bars. */
static bool fill_bars(struct bars *b, const struct histogram *h, unsigned steps) {
    b->count = 0;
    uint64_t total = histogram_count(h), rank = 1;
    while (rank <= total) {
        struct bar bar = bar_of(histogram_value(h, rank), steps);
        bar.calls = 1 + SEARCH(i, total - rank, histogram_value(h, rank + 1 + i) < bar.to_ns);
        if (b->count == BARS_MOST)
            return false;
        b->at[b->count++] = bar;
        rank += bar.calls;
    }
    return true;
}

void write_histogram(FILE *out, const struct histogram *durations) {
    struct bars bars = {0};
    unsigned steps = 4;
    while (!fill_bars(&bars, durations, steps) && steps > 1)
        steps /= 2;
    fputs("[", out);
    for (size_t i = 0; i < bars.count; i++)
        fprintf(out, "%s{\"from_ns\": %ju, \"to_ns\": %ju, \"calls\": %ju}", i ? ", " : "",
                bars.at[i].from_ns, bars.at[i].to_ns, bars.at[i].calls);
    fputs("]", out);
}

int answer_histogram(struct writing *w, struct err *err) {
    struct stats *stats;
    uint32_t function;
    int rc = parameter_function(w->request, &function, err);
    if (rc == 0)
        rc = summary_functions(w->summary, &w->range, &stats);
    if (rc < 0)
        return rc;
    write_histogram(w->out, &stats_of(stats, function)->durations);
    fputs("\n", w->out);
    stats_free(stats);
    return 0;
}

/* ---- calls ---- */

static const char *how_word(const struct summary_call *c) {
    static const char *const words[] = {[CALL_RETURNED] = "returned",
                                        [CALL_TAIL] = "tail",
                                        [CALL_UNWOUND] = "unwound",
                                        [CALL_MISSED] = "unwound",
                                        [CALL_THREAD_ENDED] = "open",
                                        [CALL_OPEN] = "open",
                                        [CALL_CUT] = "cut"};
    return c->inferred ? "inferred" : words[c->how];
}

static void write_text(FILE *out, const char *name, const char *text) {
    fprintf(out, ", \"%s\": ", name);
    if (text)
        json_print_string(out, text);
    else
        fputs("null", out);
}

void write_call(FILE *out, const struct summary_call *c, const struct value_texts *values) {
    fprintf(out,
            "{\"stream\": %u, \"t_ns\": %ju, \"end_ns\": %ju, \"duration_ns\": %ju, "
            "\"self_ns\": %ju, \"depth\": %u, \"caller\": ",
            c->stream, c->start_ns, c->end_ns, c->duration_ns, c->self_ns, c->depth);
    fprintf(out, c->caller == WALK_NONE ? "null" : "%u", c->caller);
    fprintf(out, ", \"how\": \"%s\"%s", how_word(c), c->before ? ", \"before\": true" : "");
    if (values) {
        write_text(out, "args", values->arguments);
        write_text(out, "ret", values->result);
    }
    fputs("}", out);
}

/* Durations are from from_ns on, and below to_ns. */
static int read_query(const struct request *r, struct summary_calls_query *q, struct err *err) {
    uint64_t first, limit, to;
    unsigned order;
    int rc = parameter_function(r, &q->function, err);
    rc = rc ? rc : parameter_choice(r, "order", "slowest|time", &order, err);
    rc = rc ? rc : parameter_number(r, "from_ns", 0, &q->least_ns, err);
    rc = rc ? rc : parameter_number(r, "to_ns", UINT64_MAX, &to, err);
    rc = rc ? rc : parameter_number(r, "after", 0, &first, err);
    rc = rc ? rc : parameter_number(r, "limit", 100, &limit, err);
    if (rc < 0)
        return rc;
    q->order = order ? SUMMARY_BY_TIME : SUMMARY_SLOWEST;
    q->most_ns = to == UINT64_MAX || !to ? to : to - 1;
    q->first = first;
    q->limit = limit < CALLS_MOST ? limit : CALLS_MOST;
    return 0;
}

/* With the parameter `t`, only the calls that begin then: *RET; else UINT64_MAX. */
static int read_moment(struct writing *w, struct summary_calls_query *q, uint64_t *ret,
                       struct err *err) {
    int rc = parameter_number(w->request, "t", UINT64_MAX, ret, err);
    if (rc < 0 || *ret == UINT64_MAX)
        return rc;
    w->range.since_ns = w->range.until_ns = *ret;
    q->order = SUMMARY_BY_TIME;
    q->limit = CALLS_MOST;
    return 0;
}

/* Of LIST, those that begin at MOMENT; UINT64_MAX: all. With the parameter `values`, what they were
 * given and have returned, too. */
static void write_list(struct writing *w, const summary_call_list *list, uint64_t moment) {
    AUTO_FREE struct valued_call *calls = mem_alloc(list->count * sizeof *calls + 1);
    const bool with_values = w->request->parameter(w->request->ctx, "values");
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (moment == UINT64_MAX || list->at[i].start_ns == moment)
            calls[count++].call = &list->at[i];
    if (with_values)
        value_texts_fill(w->request->shown, &w->client, calls, count);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", w->out);
        write_call(w->out, calls[i].call, with_values ? &calls[i].texts : NULL);
        value_texts_done(&calls[i].texts);
    }
}

int answer_calls(struct writing *w, struct err *err) {
    struct summary_calls_query query = {0};
    summary_call_list list;
    uint64_t moment;
    bool more;
    int rc = read_query(w->request, &query, err);
    rc = rc ? rc : read_moment(w, &query, &moment, err);
    if (rc == 0)
        rc = summary_calls(w->summary, &w->range, &query, &list, &more);
    if (rc < 0)
        return rc;
    fputs("{\"calls\": [", w->out);
    write_list(w, &list, moment);
    fprintf(w->out, "],\n\"more\": %s}\n", more ? "true" : "false");
    ARRAY_FREE(&list);
    return w->client.stop ? -ECANCELED : 0;
}

int answer_next(struct writing *w, struct err *err) {
    struct summary_call call;
    uint64_t at;
    uint32_t function;
    unsigned back;
    int rc = parameter_function(w->request, &function, err);
    rc = rc ? rc : parameter_number(w->request, "t", 0, &at, err);
    rc = rc ? rc : parameter_choice(w->request, "direction", "1|-1", &back, err);
    if (rc == 0)
        rc = (back ? summary_previous : summary_next)(w->summary, &w->range, function, at, &call);
    if (rc < 0)
        return rc;
    if (rc)
        write_call(w->out, &call, NULL);
    fputs(rc ? "\n" : "null\n", w->out);
    return 0;
}

/* ---- marks ---- */

/* To be freed. */
static char *mark_text(struct names *names, const struct summary_mark *m) {
    switch (m->kind) {
    case MARK_LOST:
        return mem_printf("%ju event%s lost", m->count, m->count == 1 ? "" : "s");
    case MARK_CUT:
        return mem_printf("%ju call%s cut", m->count, m->count == 1 ? "" : "s");
    case MARK_PAUSE:
        return mem_printf("the thread stood still because spoor worked: %s%s",
                          pause_cause(m->cause),
                          m->in_call ? ", in a blocking system call: its time counts" : "");
    case MARK_PROBE:
        return mem_strdup(names_function(names, m->function));
    case MARK_CHANGE:
        return changed_text(&(struct change){.kind = m->change->kind,
                                             .pid = m->change->pid,
                                             .ns = m->start_ns,
                                             .end_ns = m->end_ns,
                                             .record = m->change});
    case MARK_DEATH:
        return death_text(m->death);
    }
    return mem_strdup("");
}

static void write_mark(struct writing *w, const struct summary_mark *m) {
    static const char *const kinds[] = {
        [MARK_LOST] = "lost",  [MARK_PAUSE] = "pause",   [MARK_CUT] = "cut",
        [MARK_PROBE] = "usdt", [MARK_CHANGE] = "change", [MARK_DEATH] = "death"};
    AUTO_FREE char *text = mark_text(w->desk->view.source.names, m);
    fputs("{\"stream\": ", w->out);
    fprintf(w->out, m->stream == WALK_NONE ? "null" : "%u", m->stream);
    if (m->kind == MARK_CHANGE && m->change->pid)
        fprintf(w->out, ", \"pid\": %u", m->change->pid);
    fprintf(w->out, ", \"t_ns\": %ju, \"length_ns\": %ju, \"kind\": \"%s\", \"marks\": %u",
            m->start_ns, m->end_ns - m->start_ns, kinds[m->kind], m->joined);
    write_text(w->out, "text", text);
    if (m->kind == MARK_PROBE && m->joined == 1 &&
        w->request->parameter(w->request->ctx, "values")) {
        AUTO_FREE char *values = value_texts_of_mark(w->request->shown, m);
        write_text(w->out, "args", values);
    }
    fputs("}", w->out);
}

static int read_marks_query(const struct request *r, struct summary_marks_query *q,
                            struct err *err) {
    uint64_t limit, columns;
    int rc = parameter_number(r, "limit", 1000, &limit, err);
    rc = rc ? rc : parameter_number(r, "joined", 0, &columns, err);
    if (rc < 0)
        return rc;
    q->limit = limit < MARKS_MOST ? (size_t)limit : MARKS_MOST;
    q->columns = columns < MARKS_MOST ? (unsigned)columns : MARKS_MOST;
    q->last = r->parameter(r->ctx, "last");
    return 0;
}

int answer_marks(struct writing *w, struct err *err) {
    struct summary_marks_query query;
    summary_mark_list list;
    size_t count;
    int rc = read_marks_query(w->request, &query, err);
    if (rc < 0)
        return rc;
    summary_marks(w->summary, &w->range, &query, &list, &count);
    fputs("[", w->out);
    for (size_t i = 0; i < list.count && !w->client.stop; i++) {
        fputs(i ? ",\n" : "\n", w->out);
        write_mark(w, &list.at[i]);
        client_look(&w->client);
    }
    fputs("]\n", w->out);
    ARRAY_FREE(&list);
    return w->client.stop ? -ECANCELED : 0;
}
