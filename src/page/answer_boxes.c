/*
 * Answers to draw, little-endian. Boxes: a head, and then columns of COUNT values, each at a
 * multiple of 8 bytes:
 *
 *     u32 magic, count; f64 since, until (ns)
 *     f64 start[], end[] (ns); u32 function[], calls[], stream[]; u16 depth[], flags[]
 *
 * Density: u32 magic, columns, streams, 0; u32 events[streams][columns].
 */
#include <errno.h>
#include <string.h>

#include "page/answers.h"

enum { BOXES_MAGIC = 0x73705631, DENSITY_MAGIC = 0x73705644 };
enum { COLUMNS_DEFAULT = 1000, COLUMNS_MOST = 20000, DENSITY_MOST = 64 << 20 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are");

static int read_columns(const struct request *r, unsigned *ret, struct err *err) {
    uint64_t columns;
    int rc = parameter_number(r, "columns", COLUMNS_DEFAULT, &columns, err);
    *ret = (unsigned)columns;
    if (rc == 0 && (columns < 1 || columns > COLUMNS_MOST))
        return err_set(err, EINVAL, "bad-value", "columns: must be from 1 to %d", COLUMNS_MOST);
    return rc;
}

/* ---- boxes ---- */

struct boxes_head {
    uint32_t magic, count;
    double since, until;
};

struct columns { /* where they begin */
    double *start, *end;
    uint32_t *function, *calls, *stream;
    uint16_t *depth, *flags;
};

static size_t column_bytes(size_t count, size_t size) { return (count * size + 7) & ~(size_t)7; }

/* A column of COUNT values of SIZE bytes at *AT, which moves behind it. */
static void *take_column(char **at, size_t count, size_t size) {
    char *column = *at;
    *at += column_bytes(count, size);
    return column;
}

static size_t all_columns_bytes(size_t n) {
    return 2 * column_bytes(n, sizeof(double)) + 3 * column_bytes(n, sizeof(uint32_t)) +
           2 * column_bytes(n, sizeof(uint16_t));
}

/* Lays out the columns of COUNT boxes from AT on. */
static void lay_out(struct columns *c, char *at, size_t count) {
    c->start = take_column(&at, count, sizeof *c->start);
    c->end = take_column(&at, count, sizeof *c->end);
    c->function = take_column(&at, count, sizeof *c->function);
    c->calls = take_column(&at, count, sizeof *c->calls);
    c->stream = take_column(&at, count, sizeof *c->stream);
    c->depth = take_column(&at, count, sizeof *c->depth);
    c->flags = take_column(&at, count, sizeof *c->flags);
}

/* There may be millions: one pass, and one copy. */
char *boxes_body(const struct writing *w, const summary_span_list *list, size_t *ret_size) {
    uint64_t all_ns = trace_reader_duration_ns(shown_reader(w->request->shown));
    uint64_t until_ns = w->range.until_ns < all_ns ? w->range.until_ns : all_ns;
    const struct boxes_head head = {BOXES_MAGIC, (uint32_t)list->count, (double)w->range.since_ns,
                                    (double)until_ns};
    struct columns c;
    *ret_size = sizeof head + all_columns_bytes(list->count);
    char *body = mem_alloc(*ret_size);
    memcpy(body, &head, sizeof head);
    lay_out(&c, body + sizeof head, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct summary_span *s = &list->at[i];
        c.start[i] = (double)s->start_ns;
        c.end[i] = (double)s->end_ns;
        c.function[i] = s->function;
        c.calls[i] = s->calls;
        c.stream[i] = s->stream;
        c.depth[i] = s->depth;
        c.flags[i] = s->flags;
    }
    return body;
}

/* Frees LIST. */
static void answer_boxes(struct writing *w, summary_span_list *list) {
    w->body = boxes_body(w, list, &w->body_size);
    ARRAY_FREE(list);
}

/* With the parameter `exact`, no box is inexact. */
int answer_spans(struct writing *w, struct err *err) {
    bool exact = w->request->parameter(w->request->ctx, "exact");
    summary_span_list list = {0};
    unsigned columns;
    int rc = read_columns(w->request, &columns, err);
    if (rc == 0)
        rc = summary_spans(w->summary, &w->range, columns, exact, &list);
    if (rc < 0)
        return rc;
    answer_boxes(w, &list);
    return 0;
}

int answer_frames(struct writing *w, struct err *err) {
    summary_span_list list = {0};
    unsigned columns;
    uint32_t function;
    int rc = read_columns(w->request, &columns, err);
    if (rc == 0)
        rc = parameter_function(w->request, &function, err);
    if (rc == 0)
        rc = summary_frames(w->summary, &w->range, columns, function, &list);
    if (rc < 0)
        return rc;
    answer_boxes(w, &list);
    return 0;
}

/* ---- density ---- */

int answer_density(struct writing *w, struct err *err) {
    size_t streams = trace_reader_stream_count(shown_reader(w->request->shown));
    unsigned columns;
    int rc = read_columns(w->request, &columns, err);
    if (rc < 0)
        return rc;
    if ((uint64_t)streams * columns > DENSITY_MOST / sizeof(uint32_t))
        return err_set(err, EINVAL, "bad-value", "columns: %u are too many for %zu threads",
                       columns, streams);
    const uint32_t head[4] = {DENSITY_MAGIC, columns, (uint32_t)streams, 0};
    AUTO_FREE uint32_t *counts = mem_alloc(streams * columns * sizeof *counts + 1);
    summary_density(w->summary, w->range.since_ns, w->range.until_ns, columns, counts);
    fwrite(head, sizeof head, 1, w->out);
    fwrite(counts, sizeof *counts, streams * columns, w->out);
    return 0;
}
