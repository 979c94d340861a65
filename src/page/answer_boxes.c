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
#include <stddef.h>
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

static void write_padded(FILE *out, const void *column, size_t size) {
    static const char zeros[8];
    fwrite(column, 1, size, out);
    fwrite(zeros, 1, -size & 7, out);
}

/* Writes the member at OFFSET, of SIZE bytes, of all boxes. BUFFER has room for it. */
static void write_column(FILE *out, const summary_span_list *list, size_t offset, size_t size,
                         char *buffer) {
    for (size_t i = 0; i < list->count; i++)
        memcpy(buffer + i * size, (const char *)&list->at[i] + offset, size);
    write_padded(out, buffer, list->count * size);
}

static void write_times(FILE *out, const summary_span_list *list, size_t offset, double *buffer) {
    for (size_t i = 0; i < list->count; i++) {
        uint64_t ns;
        memcpy(&ns, (const char *)&list->at[i] + offset, sizeof ns);
        buffer[i] = (double)ns;
    }
    write_padded(out, buffer, list->count * sizeof *buffer);
}

#define WRITE_COLUMN(member)                                                                       \
    write_column(out, list, offsetof(struct summary_span, member), sizeof list->at->member, buffer)

void write_boxes(struct writing *w, const summary_span_list *list) {
    uint64_t all_ns = trace_reader_duration_ns(shown_reader(w->request->shown));
    uint64_t until_ns = w->range.until_ns < all_ns ? w->range.until_ns : all_ns;
    struct {
        uint32_t magic, count;
        double since, until;
    } head = {BOXES_MAGIC, (uint32_t)list->count, (double)w->range.since_ns, (double)until_ns};
    AUTO_FREE void *buffer = mem_alloc(list->count * sizeof(double) + 1);
    FILE *out = w->out;
    fwrite(&head, sizeof head, 1, out);
    write_times(out, list, offsetof(struct summary_span, start_ns), buffer);
    write_times(out, list, offsetof(struct summary_span, end_ns), buffer);
    WRITE_COLUMN(function);
    WRITE_COLUMN(calls);
    WRITE_COLUMN(stream);
    WRITE_COLUMN(depth);
    WRITE_COLUMN(flags);
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
    write_boxes(w, &list);
    ARRAY_FREE(&list);
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
    write_boxes(w, &list);
    ARRAY_FREE(&list);
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
