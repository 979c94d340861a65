/* Makes the rows of a report, and sorts them. */
#include <stdlib.h>
#include <string.h>

#include "analyze/processes.h"
#include "cmd/report.h"

struct owner { /* of a row's calls, as in struct row */
    uint32_t stream, process;
};

/* Adds the row of NUMBER, a number that stats_function() returns. */
static void add_row(struct report_table *r, const struct stats *stats, uint32_t number,
                    const struct owner *owner) {
    const struct function_stats *f = stats_of(stats, number);
    struct caller_group group = {number, CHAIN_NONE};
    if (r->groups)
        group = *caller_groups_at(r->groups, number);
    uint32_t function = group.function;
    struct row row = {.function = function,
                      .module = names_module(r->view->source.names, function),
                      .chain = group.chain,
                      .stream = owner->stream,
                      .process = owner->process,
                      .paused_ns = f->paused_ns,
                      .marks = {f->inferred, f->before, f->cut, f->clipped, f->open},
                      .numbers = {[REPORT_CALLS] = f->calls,
                                  [REPORT_TOTAL] = f->total_ns,
                                  [REPORT_SELF] = f->self_ns,
                                  [REPORT_MIN] = f->min_ns,
                                  [REPORT_MAX] = f->max_ns,
                                  [REPORT_P50] = stats_percentile(f, 50),
                                  [REPORT_P99] = stats_percentile(f, 99),
                                  [REPORT_UNWOUND] = f->unwound,
                                  [REPORT_CUT] = f->cut,
                                  [REPORT_PAUSED] = f->paused_ns,
                                  [REPORT_AVG] = stats_average(f),
                                  [REPORT_STDEV] = stats_deviation(f),
                                  [REPORT_SHARE] = f->self_ns}};
    bool hidden = view_filter_verdict(r->view->source.filter, function) & VIEW_SILENT;
    if (!hidden)
        ARRAY_PUSH(&r->rows, row);
    r->hidden += hidden && !r->called[function];
    r->calls += f->calls;
    r->partly += !r->called[function] && names_partly(r->view->source.names, function);
    r->functions += !r->called[function];
    r->called[function] = 1;
    r->self += f->self_ns;
    r->marks.inferred += f->inferred;
    r->marks.before += f->before;
    r->marks.cut += f->cut;
    r->marks.clipped += f->clipped;
    r->marks.open += f->open;
}

/* Sets module_self of the rows from FIRST on, which belong to one thread. */
static void add_module_self(struct report_table *r, size_t first) {
    AUTO_FREE uint64_t *self = mem_alloc(names_module_count(r->view->source.names) * sizeof *self);
    for (size_t i = first; i < r->rows.count; i++)
        self[r->rows.at[i].module] += r->rows.at[i].numbers[REPORT_SELF];
    for (size_t i = first; i < r->rows.count; i++)
        r->rows.at[i].module_self = self[r->rows.at[i].module];
}

static void add_rows(struct report_table *r, const struct stats *stats, struct owner owner) {
    size_t first = r->rows.count;
    r->threads += stats_thread_count(stats);
    for (size_t i = 0; i < stats_function_count(stats); i++)
        add_row(r, stats, stats_function(stats, i), &owner);
    if (r->options->by_module)
        add_module_self(r, first);
}

static struct stats *new_stats(const struct report_table *r) {
    struct stats *stats = stats_new(&r->view->source, r->groups);
    if (r->spreads)
        stats_want_spreads(stats);
    return stats;
}

/* Adds the rows of each thread of stream group INDEX. STATS is empty before and after the call. */
static void read_by_thread(struct report_table *r, struct stats *stats, size_t index) {
    struct stream_group group = stream_groups_at(r->view->source.stream_groups, index);
    AUTO_FREE struct stats **each = mem_alloc(group.count * sizeof *each);
    for (uint32_t i = 0; i < group.count; i++)
        each[i] = i ? new_stats(r) : stats;
    stats_add_stream_group(each, index);
    for (uint32_t i = 0; i < group.count; i++) {
        uint32_t process = process_of(r->view->source.reader, group.streams[i]);
        add_rows(r, each[i], (struct owner){group.streams[i], process});
        if (i)
            stats_free(each[i]);
        else
            stats_clear(stats);
    }
}

bool report_wants(const struct report_options *o, enum report_column column) {
    return o->sort == column ||
           (o->columns.count && memchr(o->columns.at, column, o->columns.count));
}

bool report_has_processes(const struct report_options *o) {
    bool column = o->sort == REPORT_PROCESS;
    for (size_t i = 0; i < o->columns.count; i++)
        column |= o->columns.at[i] == REPORT_PROCESS;
    return o->by_process || column;
}

static void read_process(struct report_table *r, struct stats *stats, const uint32_t *processes,
                         uint32_t process) {
    bool found = false;
    for (size_t i = 0; i < stream_groups_count(r->view->source.stream_groups); i++) {
        if (processes[i] != process)
            continue;
        stats_add_group(stats, i);
        found = true;
    }
    if (found)
        add_rows(r, stats, (struct owner){0, process});
    stats_clear(stats);
}

/* Adds the rows of each process. The threads of a stream group belong to one. */
static void read_by_process(struct report_table *r, struct stats *stats) {
    const struct source *s = &r->view->source;
    size_t count = stream_groups_count(s->stream_groups);
    AUTO_FREE uint32_t *processes = mem_alloc(count * sizeof *processes + 1); /* by group */
    for (size_t i = 0; i < count; i++)
        processes[i] = process_of(s->reader, stream_groups_at(s->stream_groups, i).streams[0]);
    for (uint32_t i = 0; i < trace_reader_process_count(s->reader); i++)
        read_process(r, stats, processes, i);
    read_process(r, stats, processes, PROCESS_NONE);
}

static void read_trace(struct report_table *r) {
    const struct source *source = &r->view->source;
    if (r->options->by_stack) {
        r->places = places_new(source->reader, source->names);
        r->groups = caller_groups_new(source, r->places);
    } else if (r->values) {
        r->groups = caller_groups_by_value(source, r->values);
    }
    struct stats *stats = new_stats(r);
    r->called = mem_alloc(names_count(source->names));
    if (r->options->by_thread) {
        for (size_t i = 0; i < stream_groups_count(source->stream_groups); i++)
            read_by_thread(r, stats, i);
    } else if (report_has_processes(r->options)) {
        read_by_process(r, stats);
    } else {
        stats_add_all(stats);
        add_rows(r, stats, (struct owner){0, PROCESS_NONE});
    }
    stats_free(stats);
    view_end_progress(r->view);
}

/* ---- order ---- */

static int compare_numbers(uint64_t a, uint64_t b) { return (a < b) - (a > b); }

/* Unknown ones last. */
static int compare_lines(struct source_line a, struct source_line b) {
    if (!a.file || !b.file)
        return !a.file - !b.file;
    int rc = strcmp(a.file, b.file);
    return rc ? rc : compare_numbers(b.line, a.line);
}

static int compare_texts(const struct report_table *r, const struct row *a, const struct row *b) {
    struct names *n = r->view->source.names;
    const enum report_column by = r->options->sort;
    if (by == REPORT_MODULE && a->module != b->module)
        return strcmp(names_module_name(n, a->module), names_module_name(n, b->module));
    int rc = 0;
    if (by == REPORT_GROUP && r->values)
        rc = strverscmp(value_groups_text(r->values, a->chain),
                        value_groups_text(r->values, b->chain));
    if (by == REPORT_LINE)
        rc = compare_lines(names_source(n, a->function), names_source(n, b->function));
    if (by == REPORT_PROCESS)
        rc = compare_numbers(b->process, a->process);
    if (rc)
        return rc;
    if (by == REPORT_TIER && names_tier(n, a->function) != names_tier(n, b->function))
        return names_tier(n, a->function) - names_tier(n, b->function);
    return strcmp(names_function(n, a->function), names_function(n, b->function));
}

/* Orders by groups first: processes and threads as they appeared, modules by self time. */
static int compare_rows(const void *a, const void *b, void *ctx) {
    const struct report_table *r = ctx;
    const struct row *x = a, *y = b;
    enum report_column by = r->options->sort;
    int rc = r->options->by_process ? compare_numbers(y->process, x->process) : 0;
    if (!rc)
        rc = compare_numbers(y->stream, x->stream);
    if (!rc)
        rc = compare_numbers(x->module_self, y->module_self);
    if (!rc && r->options->by_module)
        rc = compare_numbers(y->module, x->module);
    if (!rc && (unsigned)by < REPORT_NUMBERS)
        rc = compare_numbers(x->numbers[by], y->numbers[by]) * (r->options->ascending ? -1 : 1);
    if (!rc)
        rc = compare_texts(r, x, y);
    if (!rc)
        rc = compare_numbers(y->function, x->function);
    if (!rc)
        rc = compare_numbers(y->process, x->process);
    return rc ? rc : compare_numbers(y->chain, x->chain);
}

static void sort(struct report_table *r) {
    if (r->rows.count)
        qsort_r(r->rows.at, r->rows.count, sizeof *r->rows.at, compare_rows, r);
}

void report_read(struct report_table *r) {
    read_trace(r);
    sort(r);
}

void report_take(struct report_table *r, const struct stats *stats) {
    r->called = mem_alloc(names_count(r->view->source.names));
    add_rows(r, stats, (struct owner){0, PROCESS_NONE});
    sort(r);
}

void report_done(struct report_table *r) {
    ARRAY_FREE(&r->rows);
    free(r->called);
    caller_groups_free(r->groups);
    places_free(r->places);
    value_groups_free(r->values);
}

/* ---- groups of rows ---- */

static bool same_group(const struct report_table *r, const struct row *a, const struct row *b) {
    return a->stream == b->stream && (!r->options->by_process || a->process == b->process) &&
           (!r->options->by_module || a->module == b->module);
}

size_t report_group_end(const struct report_table *r, size_t first) {
    size_t i = first;
    while (i < r->rows.count && same_group(r, &r->rows.at[first], &r->rows.at[i]))
        i++;
    return i;
}

size_t report_shown_end(const struct report_table *r, size_t first, size_t end) {
    uint32_t limit = r->options->limit;
    return limit && end - first > limit ? first + limit : end;
}
