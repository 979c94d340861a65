/* spoor report: shows a table of functions. With --by-thread and --by-module, each thread and
 * module has a group of rows; else all rows are one group. */
#include <stdio.h>
#include <string.h>

#include "analyze/processes.h"
#include "cmd/callers.h"
#include "cmd/command.h"
#include "cmd/json.h"
#include "cmd/report.h"
#include "cmd/say.h"
#include "plan/plan.h"

static const struct {
    const char *head;
    int width; /* 0: left-aligned */
    bool is_time;
} columns[REPORT_COLUMNS] = {
    [REPORT_CALLS] = {"CALLS", 9, false},   [REPORT_TOTAL] = {"TOTAL", 8, true},
    [REPORT_SELF] = {"SELF", 8, true},      [REPORT_MIN] = {"MIN", 8, true},
    [REPORT_MAX] = {"MAX", 8, true},        [REPORT_P50] = {"P50", 8, true},
    [REPORT_P99] = {"P99", 8, true},        [REPORT_UNWOUND] = {"UNWOUND", 9, false},
    [REPORT_CUT] = {"CUT", 6, false},       [REPORT_PAUSED] = {"PAUSED", 8, true},
    [REPORT_AVG] = {"AVG", 8, true},        [REPORT_STDEV] = {"STDEV", 8, true},
    [REPORT_SHARE] = {"SHARE", 8, false},   [REPORT_FUNCTION] = {"FUNCTION", 0, false},
    [REPORT_MODULE] = {"MODULE", 0, false}, [REPORT_TIER] = {"TIER", 0, false},
    [REPORT_LINE] = {"LINE", 0, false},     [REPORT_PROCESS] = {"PROCESS", 0, false},
};

static const unsigned char default_columns[] = {REPORT_CALLS, REPORT_TOTAL,   REPORT_SELF,
                                                REPORT_MIN,   REPORT_MAX,     REPORT_P50,
                                                REPORT_P99,   REPORT_FUNCTION};
/* The default if calls were cut. */
static const unsigned char columns_with_cut[] = {REPORT_CALLS, REPORT_CUT, REPORT_TOTAL,
                                                 REPORT_SELF,  REPORT_MIN, REPORT_MAX,
                                                 REPORT_P50,   REPORT_P99, REPORT_FUNCTION};

static bool same_group(const struct report_table *r, const struct row *a, const struct row *b) {
    return a->stream == b->stream && (!r->options->by_process || a->process == b->process) &&
           (!r->options->by_module || a->module == b->module);
}

/* The row after the last one of the group that begins at FIRST. */
static size_t group_end(const struct report_table *r, size_t first) {
    size_t i = first;
    while (i < r->rows.count && same_group(r, &r->rows.at[first], &r->rows.at[i]))
        i++;
    return i;
}

static size_t shown_end(const struct report_table *r, size_t first, size_t end) {
    uint32_t limit = r->options->limit;
    return limit && end - first > limit ? first + limit : end;
}

/* ---- JSON ---- */

static void json_aliases(struct names *n, uint32_t function) {
    const char *const *alias = names_aliases(n, function);
    if (!alias)
        return;
    printf(", \"aliases\": [");
    for (size_t i = 0; alias[i]; i++) {
        printf("%s", i ? ", " : "");
        json_print_string(stdout, alias[i]);
    }
    printf("]");
}

/* Whether a column is shown, or sorted by. */
static bool wants(const struct report_options *o, enum report_column column) {
    return o->sort == column ||
           (o->columns.count && memchr(o->columns.at, column, o->columns.count));
}

/* The process, if rows are of single ones, and the source line, if a column wants it. */
static void json_place(const struct report_table *r, const struct row *row) {
    const struct trace_reader *reader = r->view.source.reader;
    if (report_has_processes(r->options) && row->process != PROCESS_NONE) {
        printf(", \"pid\": %u, \"process\": ", trace_reader_process(reader, row->process)->pid);
        json_print_string(stdout, process_name(reader, row->process));
    }
    if (!wants(r->options, REPORT_LINE))
        return;
    struct source_line line = names_source(r->view.source.names, row->function);
    printf(", \"file\": ");
    if (line.file) {
        json_print_string(stdout, line.file);
        printf(", \"line\": %u", line.line);
    } else {
        printf("null, \"line\": null");
    }
}

static void json_row(const struct report_table *r, const struct row *row) {
    struct names *n = r->view.source.names;
    const uint64_t *v = row->numbers;
    printf("{\"function\": ");
    json_print_string(stdout, names_function(n, row->function));
    printf(", \"module\": ");
    json_print_string(stdout, names_module_name(n, row->module));
    printf(", \"calls\": %ju, \"total_ns\": %ju, \"self_ns\": %ju, \"min_ns\": %ju, "
           "\"max_ns\": %ju, \"p50_ns\": %ju, \"p99_ns\": %ju, \"avg_ns\": %ju, "
           "\"stdev_ns\": %ju, \"unwound\": %ju, "
           "\"inferred\": %ju, \"before\": %ju, \"cut\": %ju, \"clipped\": %ju, "
           "\"paused_ns\": %ju, \"tier\": \"%s\"",
           v[REPORT_CALLS], v[REPORT_TOTAL], v[REPORT_SELF], v[REPORT_MIN], v[REPORT_MAX],
           v[REPORT_P50], v[REPORT_P99], v[REPORT_AVG], v[REPORT_STDEV], v[REPORT_UNWOUND],
           row->marks.inferred, row->marks.before, row->marks.cut, row->marks.clipped,
           row->paused_ns, tier_name(names_tier(n, row->function)));
    if (names_partly(n, row->function))
        printf(", \"partly\": true");
    json_place(r, row);
    if (r->options->by_thread)
        printf(", \"tid\": %u", trace_reader_thread(r->view.source.reader, row->stream)->tid);
    json_aliases(n, row->function);
    if (r->places) {
        AUTO_FREE char *callers = callers_json(r->places, row->chain, false);
        printf("%s", callers);
    }
    printf("}");
}

static void print_json(const struct report_table *r) {
    const char *separator = "[\n";
    for (size_t i = 0, end; i < r->rows.count; i = end) {
        end = group_end(r, i);
        for (size_t k = i; k < shown_end(r, i, end); k++) {
            printf("%s", separator);
            json_row(r, &r->rows.at[k]);
            separator = ",\n";
        }
    }
    printf("%s]\n", r->rows.count ? "\n" : "[");
}

/* ---- text ---- */

/* Prints TEXT in its column; USED counts the terminal's columns. */
static void print_text(const struct report_table *r, const char *text, bool is_last,
                       unsigned *used) {
    enum { WIDTH = 30 };
    unsigned left = r->term.width > *used ? r->term.width - *used : 0;
    if (is_last)
        text_print_cut(stdout, text, left);
    else
        *used += (unsigned)printf("%-*s", WIDTH + figure_extra_bytes(text), text);
}

/* The function's name behind its marks. To be freed. */
static char *marked_name(const struct report_table *r, const struct row *row) {
    char marks[FIGURE_MARKS_ROOM];
    figure_marks(marks, &row->marks);
    struct names *names = r->view.source.names;
    return mem_printf("%s%s%s", names_partly(names, row->function) ? FIGURE_PARTLY " " : "", marks,
                      names_function(names, row->function));
}

static void print_number(const struct report_table *r, const struct row *row, enum report_column c,
                         unsigned *used) {
    char text[FIGURE_ROOM];
    bool of_calls = (c >= REPORT_MIN && c <= REPORT_P99) || c == REPORT_AVG || c == REPORT_STDEV;
    if (of_calls && row->numbers[REPORT_CALLS] == row->marks.cut)
        snprintf(text, sizeof text, "-");
    else if (c == REPORT_SHARE)
        figure_share(text, row->numbers[c], r->self);
    else if (columns[c].is_time)
        figure_time(text, row->numbers[c]);
    else
        snprintf(text, sizeof text, "%ju", row->numbers[c]);
    *used += (unsigned)printf("%*s", columns[c].width, text);
}

struct shape { /* the columns of the table */
    const unsigned char *at;
    size_t count;
};

static struct shape shape_of(const struct report_table *r) {
    const struct report_options *o = r->options;
    if (o->columns.count)
        return (struct shape){o->columns.at, o->columns.count};
    return r->marks.cut ? (struct shape){columns_with_cut, sizeof columns_with_cut}
                        : (struct shape){default_columns, sizeof default_columns};
}

/* "file:line" where the function begins, or "-". To be freed. */
static char *line_text(const struct report_table *r, const struct row *row) {
    struct source_line line = names_source(r->view.source.names, row->function);
    return line.file ? mem_printf("%s:%u", line.file, line.line) : mem_strdup("-");
}

/* "name (PID)", or "". To be freed. */
static char *process_text(const struct report_table *r, const struct row *row) {
    const struct trace_reader *reader = r->view.source.reader;
    if (row->process == PROCESS_NONE)
        return mem_strdup("");
    return mem_printf("%s (%u)", process_name(reader, row->process),
                      trace_reader_process(reader, row->process)->pid);
}

static bool has_column(const struct shape *shape, enum report_column column) {
    return shape->count && memchr(shape->at, column, shape->count);
}

static void print_row(const struct report_table *r, const struct shape *shape,
                      const struct row *row) {
    struct names *n = r->view.source.names;
    AUTO_FREE char *function = marked_name(r, row);
    AUTO_FREE char *line = has_column(shape, REPORT_LINE) ? line_text(r, row) : NULL;
    AUTO_FREE char *process = process_text(r, row);
    const char *const texts[] = {
        [REPORT_FUNCTION] = function,
        [REPORT_MODULE] = names_module_name(n, row->module),
        [REPORT_TIER] = tier_name(names_tier(n, row->function)),
        [REPORT_LINE] = line,
        [REPORT_PROCESS] = process,
    };
    unsigned used = 0;
    for (size_t i = 0; i < shape->count; i++) {
        enum report_column c = shape->at[i];
        if (i)
            used += (unsigned)printf("  ");
        if ((unsigned)c < REPORT_NUMBERS)
            print_number(r, row, c, &used);
        else
            print_text(r, texts[c], i + 1 == shape->count, &used);
    }
    printf("\n");
}

/* Prints the callers of ROW below it. */
static void print_callers(const struct report_table *r, const struct row *row) {
    enum { INDENT = 4 };
    AUTO_FREE char *callers = callers_text(r->places, row->chain);
    printf("%*s< ", INDENT, "");
    text_print_cut(stdout, callers, r->term.width > INDENT + 2 ? r->term.width - INDENT - 2 : 0);
    printf("\n");
}

static void print_head(const struct report_table *r, const struct shape *shape) {
    if (r->term.color)
        printf("\033[1m");
    for (size_t i = 0; i < shape->count; i++) {
        enum report_column c = shape->at[i];
        int width = (unsigned)c < REPORT_NUMBERS ? columns[c].width
                    : i + 1 == shape->count      ? 0
                                                 : -30;
        printf("%s%*s", i ? "  " : "", width, columns[c].head);
    }
    printf("%s\n", r->term.color ? "\033[0m" : "");
}

static void print_group_name(const struct report_table *r, size_t first, size_t end) {
    const struct row *row = &r->rows.at[first];
    const struct report_options *o = r->options;
    uint64_t self = 0;
    char share[FIGURE_ROOM];
    for (size_t i = first; i < end; i++)
        self += r->rows.at[i].numbers[REPORT_SELF];
    figure_share(share, self, r->self);
    printf("%s", first ? "\n" : "");
    if (o->by_process && !o->by_thread) {
        AUTO_FREE char *process = process_text(r, row);
        printf("process ");
        text_print(stdout, *process ? process : "unknown");
    }
    if (o->by_thread) {
        const struct trace_thread *t = trace_reader_thread(r->view.source.reader, row->stream);
        printf("thread %u ", t->tid);
        text_print(stdout, t->name);
        printf(" (process %u)", t->pid);
    }
    if (o->by_module)
        printf("%smodule %s", o->by_thread || o->by_process ? ", " : "",
               names_module_name(r->view.source.names, row->module));
    printf(": %s of all time\n", share);
}

static void print_tables(const struct report_table *r) {
    struct shape shape = shape_of(r);
    const struct report_options *o = r->options;
    bool grouped = o->by_thread || o->by_module || o->by_process;
    if (!r->rows.count)
        print_head(r, &shape);
    for (size_t i = 0, end; i < r->rows.count; i = end) {
        end = group_end(r, i);
        if (grouped)
            print_group_name(r, i, end);
        print_head(r, &shape);
        size_t last = shown_end(r, i, end);
        for (size_t k = i; k < last; k++) {
            print_row(r, &shape, &r->rows.at[k]);
            if (r->places)
                print_callers(r, &r->rows.at[k]);
        }
        if (last < end)
            printf("(%zu more)\n", end - last);
    }
    report_print_end(r);
}

int cmd_report(struct options *options, int argc, char **argv) {
    struct report_table r = {.options = &options->report, .term = term_open(&options->view)};
    struct err err;
    if (view_open(&r.view, options, argc, argv, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    r.spreads =
        options->view.json || wants(r.options, REPORT_AVG) || wants(r.options, REPORT_STDEV);
    struct slowest *slowest = r.options->slowest ? report_slowest_read(&r) : NULL;
    if (!slowest)
        report_read(&r);
    pager_start(&r.term, &options->view);
    if (slowest)
        report_slowest_print(slowest, options->view.json);
    else if (options->view.json)
        print_json(&r);
    else
        print_tables(&r);
    pager_finish();
    report_done(&r);
    int status = r.view.is_damaged ? STATUS_FAILED : STATUS_OK;
    view_close(&r.view);
    return status;
}
