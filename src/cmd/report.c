/* spoor report: shows a table of functions. With --by-thread and --by-module, each thread and
 * module has a group of rows; else all rows are one group. */
#include <stdio.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/text.h"
#include "cmd/callers.h"
#include "cmd/changed.h"
#include "cmd/command.h"
#include "cmd/figures.h"
#include "cmd/follow.h"
#include "cmd/json.h"
#include "cmd/labels.h"
#include "cmd/say.h"
#include "cmd/term.h"
#include "cmd/view.h"
#include "plan/plan.h"

#define NUMBERS ((unsigned)REPORT_SHARE + 1) /* the first columns are numbers, later ones names */
enum { TEXT_COLUMNS = 30, GAP = 2 };         /* the width of names; between columns */

struct row {
    uint32_t function, module;
    uint32_t chain;            /* of callers; CHAIN_NONE without --stack */
    uint32_t stream;           /* 0 without --by-thread */
    uint64_t module_self;      /* of all rows of the thread and module; 0 without --by-module */
    uint64_t numbers[NUMBERS]; /* by column; times in ns; REPORT_SHARE: as REPORT_SELF */
    uint64_t paused_ns;        /* of pauses in the periods that REPORT_TOTAL sums up */
    struct figure_marks marks;
};

struct report_table {
    const struct report_options *options;
    struct view *view;
    struct term term;
    struct labels *labels;
    char **fitted; /* by row: names in the last column; NULL: there is another way */
    ARRAY(struct row) rows;
    uint64_t calls, self;         /* of all rows */
    struct figure_marks marks;    /* of all rows */
    uint8_t *called;              /* by function: 1 if it has a row */
    uint32_t functions;           /* number of functions that have rows */
    uint32_t partly;              /* number of those of which calls may be missing */
    struct caller_groups *groups; /* with --stack, else NULL */
    struct places *places;        /* with --stack, else NULL */
};

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
    [REPORT_SHARE] = {"SHARE", 8, false},   [REPORT_FUNCTION] = {"FUNCTION", 0, false},
    [REPORT_MODULE] = {"MODULE", 0, false}, [REPORT_TIER] = {"TIER", 0, false},
};

static const unsigned char default_columns[] = {REPORT_CALLS, REPORT_TOTAL,   REPORT_SELF,
                                                REPORT_MIN,   REPORT_MAX,     REPORT_P50,
                                                REPORT_P99,   REPORT_FUNCTION};
/* The default if calls were cut. */
static const unsigned char columns_with_cut[] = {REPORT_CALLS, REPORT_CUT, REPORT_TOTAL,
                                                 REPORT_SELF,  REPORT_MIN, REPORT_MAX,
                                                 REPORT_P50,   REPORT_P99, REPORT_FUNCTION};

/* ---- rows ---- */

/* Adds the row of NUMBER, a number that stats_function() returns. */
static void add_row(struct report_table *r, const struct stats *stats, uint32_t number,
                    uint32_t stream) {
    const struct function_stats *f = stats_of(stats, number);
    struct caller_group group = {number, CHAIN_NONE};
    if (r->groups)
        group = *caller_groups_at(r->groups, number);
    uint32_t function = group.function;
    struct row row = {.function = function,
                      .module = names_module(r->view->source.names, function),
                      .chain = group.chain,
                      .stream = stream,
                      .paused_ns = f->paused_ns,
                      .marks = {f->inferred, f->before, f->cut, f->clipped},
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
                                  [REPORT_SHARE] = f->self_ns}};
    ARRAY_PUSH(&r->rows, row);
    r->calls += f->calls;
    r->partly += !r->called[function] && names_partly(r->view->source.names, function);
    r->functions += !r->called[function];
    r->called[function] = 1;
    r->self += f->self_ns;
    r->marks.inferred += f->inferred;
    r->marks.before += f->before;
    r->marks.cut += f->cut;
    r->marks.clipped += f->clipped;
}

/* Sets module_self of the rows from FIRST on, which belong to one thread. */
static void add_module_self(struct report_table *r, size_t first) {
    AUTO_FREE uint64_t *self = mem_alloc(names_module_count(r->view->source.names) * sizeof *self);
    for (size_t i = first; i < r->rows.count; i++)
        self[r->rows.at[i].module] += r->rows.at[i].numbers[REPORT_SELF];
    for (size_t i = first; i < r->rows.count; i++)
        r->rows.at[i].module_self = self[r->rows.at[i].module];
}

static void add_rows(struct report_table *r, const struct stats *stats, uint32_t stream) {
    size_t first = r->rows.count;
    for (size_t i = 0; i < stats_function_count(stats); i++)
        add_row(r, stats, stats_function(stats, i), stream);
    if (r->options->by_module)
        add_module_self(r, first);
}

/* Adds the rows of each thread of stream group INDEX. STATS is empty before and after the call. */
static void read_by_thread(struct report_table *r, struct stats *stats, size_t index) {
    struct stream_group group = stream_groups_at(r->view->source.stream_groups, index);
    AUTO_FREE struct stats **each = mem_alloc(group.count * sizeof *each);
    for (uint32_t i = 0; i < group.count; i++)
        each[i] = i ? stats_new(&r->view->source, r->groups) : stats;
    stats_add_stream_group(each, index);
    for (uint32_t i = 0; i < group.count; i++) {
        add_rows(r, each[i], group.streams[i]);
        if (i)
            stats_free(each[i]);
        else
            stats_clear(stats);
    }
}

static void read_trace(struct report_table *r) {
    const struct source *source = &r->view->source;
    if (r->options->by_stack) {
        r->places = places_new(source->reader, source->names);
        r->groups = caller_groups_new(source, r->places);
    }
    struct stats *stats = stats_new(source, r->groups);
    r->called = mem_alloc(names_count(source->names));
    if (r->options->by_thread) {
        for (size_t i = 0; i < stream_groups_count(source->stream_groups); i++)
            read_by_thread(r, stats, i);
    } else {
        stats_add_all(stats);
        add_rows(r, stats, 0);
    }
    stats_free(stats);
    view_end_progress(r->view);
}

/* ---- order ---- */

static int compare_numbers(uint64_t a, uint64_t b) { return (a < b) - (a > b); }

static int compare_texts(struct names *n, enum report_column by, const struct row *a,
                         const struct row *b) {
    if (by == REPORT_MODULE && a->module != b->module)
        return strcmp(names_module_name(n, a->module), names_module_name(n, b->module));
    if (by == REPORT_TIER && names_tier(n, a->function) != names_tier(n, b->function))
        return names_tier(n, a->function) - names_tier(n, b->function);
    return strcmp(names_function(n, a->function), names_function(n, b->function));
}

/* Orders by groups first: threads as they appeared, modules by self time. */
static int compare_rows(const void *a, const void *b, void *ctx) {
    const struct report_table *r = ctx;
    const struct row *x = a, *y = b;
    struct names *n = r->view->source.names;
    enum report_column by = r->options->sort;
    int rc = compare_numbers(y->stream, x->stream);
    if (!rc)
        rc = compare_numbers(x->module_self, y->module_self);
    if (!rc && r->options->by_module)
        rc = compare_numbers(y->module, x->module);
    if (!rc && (unsigned)by < NUMBERS)
        rc = compare_numbers(x->numbers[by], y->numbers[by]);
    if (!rc)
        rc = compare_texts(n, by, x, y);
    if (!rc)
        rc = compare_numbers(y->function, x->function);
    return rc ? rc : compare_numbers(y->chain, x->chain);
}

static bool same_group(const struct report_table *r, const struct row *a, const struct row *b) {
    return a->stream == b->stream && (!r->options->by_module || a->module == b->module);
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

static void json_row(const struct report_table *r, const struct row *row) {
    struct names *n = r->view->source.names;
    const uint64_t *v = row->numbers;
    printf("{\"function\": ");
    json_print_string(stdout, names_function(n, row->function));
    printf(", \"module\": ");
    json_print_string(stdout, names_module_name(n, row->module));
    printf(", \"calls\": %ju, \"total_ns\": %ju, \"self_ns\": %ju, \"min_ns\": %ju, "
           "\"max_ns\": %ju, \"p50_ns\": %ju, \"p99_ns\": %ju, \"unwound\": %ju, "
           "\"inferred\": %ju, \"before\": %ju, \"cut\": %ju, \"clipped\": %ju, "
           "\"paused_ns\": %ju, \"tier\": \"%s\"",
           v[REPORT_CALLS], v[REPORT_TOTAL], v[REPORT_SELF], v[REPORT_MIN], v[REPORT_MAX],
           v[REPORT_P50], v[REPORT_P99], v[REPORT_UNWOUND], row->marks.inferred, row->marks.before,
           row->marks.cut, row->marks.clipped, row->paused_ns,
           tier_name(names_tier(n, row->function)));
    if (names_partly(n, row->function))
        printf(", \"partly\": true");
    if (r->options->by_thread)
        printf(", \"tid\": %u", trace_reader_thread(r->view->source.reader, row->stream)->tid);
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

/* The marks of ROW, each with a space behind it. To be freed. */
static char *marks_of(const struct report_table *r, const struct row *row) {
    char marks[FIGURE_MARKS_ROOM];
    figure_marks(marks, &row->marks);
    return mem_printf(
        "%s%s", names_partly(r->view->source.names, row->function) ? FIGURE_PARTLY " " : "", marks);
}

/* The text of column C, the function's name with its marks, in LEFT columns if lines are cut. To be
 * freed. */
static char *text_of(const struct report_table *r, const struct row *row, enum report_column c,
                     unsigned left) {
    struct names *n = r->view->source.names;
    if (c == REPORT_MODULE)
        return label_cut(&r->term, names_module_name(n, row->module), left);
    if (c == REPORT_TIER)
        return mem_strdup(tier_name(names_tier(n, row->function)));
    AUTO_FREE char *marks = marks_of(r, row);
    unsigned used = (unsigned)text_columns(marks);
    if (r->fitted)
        return mem_printf("%s%s", marks, r->fitted[row - r->rows.at]);
    AUTO_FREE char *name = labels_fit(r->labels, row->function, left > used ? left - used : 1);
    return mem_printf("%s%s", marks, name);
}

/* Prints the text of column C; USED counts the terminal's columns. */
static void print_text(const struct report_table *r, const struct row *row, enum report_column c,
                       bool is_last, unsigned *used) {
    unsigned left = r->term.width > *used ? r->term.width - *used : 1;
    AUTO_FREE char *text = text_of(r, row, c, is_last ? left : TEXT_COLUMNS);
    if (is_last)
        text_print(stdout, text);
    else
        *used += (unsigned)printf("%-*s", TEXT_COLUMNS + figure_extra_bytes(text), text) -
                 (unsigned)figure_extra_bytes(text);
}

static void print_number(const struct report_table *r, const struct row *row, enum report_column c,
                         unsigned *used) {
    char text[FIGURE_ROOM];
    bool of_calls = c == REPORT_MIN || c == REPORT_MAX || c == REPORT_P50 || c == REPORT_P99;
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
    unsigned char own[REPORT_COLUMNS]; /* where AT points if columns were left out */
};

/* The columns that the numbers of SHAPE take, with gaps. */
static unsigned numbers_width(const struct shape *shape) {
    unsigned width = 0;
    for (size_t i = 0; i < shape->count; i++)
        if ((unsigned)shape->at[i] < NUMBERS)
            width += (unsigned)columns[shape->at[i]].width + GAP;
    return width;
}

static void drop(struct shape *shape, enum report_column c) {
    size_t count = 0;
    for (size_t i = 0; i < shape->count; i++)
        if (shape->at[i] != c)
            shape->own[count++] = shape->at[i];
    shape->at = shape->own;
    shape->count = count;
}

/* The columns of the longest name, but not more than a readable name needs. */
static size_t names_width(const struct report_table *r) {
    enum { READABLE = 40 };
    size_t widest = 0;
    for (size_t i = 0; i < r->rows.count && widest < READABLE; i++) {
        const struct row *row = &r->rows.at[i];
        AUTO_FREE char *marks = marks_of(r, row);
        size_t width = text_columns(marks) + text_columns(labels_at(r->labels, row->function));
        widest = width > widest ? width : widest;
    }
    return widest < READABLE ? widest : READABLE;
}

/* Leaves columns out until names have room on the terminal. */
static void make_room(const struct report_table *r, struct shape *shape) {
    static const enum report_column dispensable[] = {REPORT_MIN, REPORT_P50, REPORT_P99, REPORT_MAX,
                                                     REPORT_SELF};
    enum { COUNT = sizeof dispensable / sizeof *dispensable };
    size_t wanted = names_width(r);
    for (size_t i = 0; i < COUNT && numbers_width(shape) + wanted > r->term.width; i++)
        drop(shape, dispensable[i]);
}

static void choose_shape(const struct report_table *r, struct shape *shape) {
    const choice_array *given = &r->options->columns;
    bool cut = r->marks.cut;
    shape->at = given->count ? given->at : cut ? columns_with_cut : default_columns;
    shape->count = given->count ? given->count
                   : cut        ? sizeof columns_with_cut
                                : sizeof default_columns;
    if (!given->count && r->term.width)
        make_room(r, shape);
}

/* Fits the names of all rows if they are in the last column. */
static void fit_names(struct report_table *r, const struct shape *shape) {
    size_t width = numbers_width(shape), marks = 0, count = r->rows.count;
    bool last = shape->at[shape->count - 1] == REPORT_FUNCTION && r->term.width > width;
    for (size_t i = 0; i + 1 < shape->count; i++)
        last = last && (unsigned)shape->at[i] < NUMBERS;
    if (!last)
        return;
    AUTO_FREE uint32_t *list = mem_alloc((count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *text = marks_of(r, &r->rows.at[i]);
        size_t used = text_columns(text);
        marks = used > marks ? used : marks;
        list[i] = r->rows.at[i].function;
    }
    r->fitted = mem_alloc((count + 1) * sizeof *r->fitted);
    size_t room = r->term.width - width;
    labels_fit_all(r->labels, list, count, room > marks ? room - marks : 1, r->fitted);
}

static void print_row(const struct report_table *r, const struct shape *shape,
                      const struct row *row) {
    unsigned used = 0;
    for (size_t i = 0; i < shape->count; i++) {
        enum report_column c = shape->at[i];
        if (i)
            used += (unsigned)printf("%*s", GAP, "");
        if ((unsigned)c < NUMBERS)
            print_number(r, row, c, &used);
        else
            print_text(r, row, c, i + 1 == shape->count, &used);
    }
    printf("\n");
}

/* Prints the callers of ROW below it. */
static void print_callers(const struct report_table *r, const struct row *row) {
    enum { INDENT = 4 };
    AUTO_FREE char *callers = callers_text(r->places, row->chain, r->labels);
    AUTO_FREE char *text =
        r->term.width ? text_cut(callers, r->term.width - INDENT - 2) : steal(callers);
    printf("%*s< ", INDENT, "");
    text_print(stdout, text);
    printf("\n");
}

static void print_head(const struct report_table *r, const struct shape *shape) {
    if (r->term.color)
        printf("\033[1m");
    for (size_t i = 0; i < shape->count; i++) {
        enum report_column c = shape->at[i];
        int width = (unsigned)c < NUMBERS   ? columns[c].width
                    : i + 1 == shape->count ? 0
                                            : -TEXT_COLUMNS;
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
    if (o->by_thread) {
        const struct trace_thread *t = trace_reader_thread(r->view->source.reader, row->stream);
        printf("thread %u ", t->tid);
        text_print(stdout, t->name);
        printf(" (process %u)", t->pid);
    }
    if (o->by_module)
        printf("%smodule %s", o->by_thread ? ", " : "",
               names_module_name(r->view->source.names, row->module));
    printf(": %s of all time\n", share);
}

static void print_tables(struct report_table *r) {
    struct shape shape;
    choose_shape(r, &shape);
    fit_names(r, &shape);
    bool grouped = r->options->by_thread || r->options->by_module;
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
    char time[FIGURE_ROOM];
    const char *losses = view_losses(r->view);
    figure_time(time, r->self);
    printf("\n%u function%s, %ju call%s, %s in all; %s\n", r->functions,
           r->functions == 1 ? "" : "s", r->calls, r->calls == 1 ? "" : "s", time,
           losses ? losses : "no events lost");
    figure_print_marks(&r->marks, r->term.columns);
    if (r->partly)
        printf("%s: calls of %u function%s may be missing: the code was changed, or could be\n",
               FIGURE_PARTLY, r->partly, r->partly == 1 ? "" : "s");
    changed_print_end(r->view, r->term.columns);
}

/* Reads the trace of r->view, and prints the table. False: it has no row. */
static bool report(struct report_table *r, const struct options *options) {
    r->labels = labels_new(r->view->source.names, &r->term);
    read_trace(r);
    if (r->rows.count)
        qsort_r(r->rows.at, r->rows.count, sizeof *r->rows.at, compare_rows, r);
    pager_start(&r->term, &options->view);
    if (options->view.json)
        print_json(r);
    else
        print_tables(r);
    pager_finish();
    bool any = r->rows.count != 0;
    for (size_t i = 0; r->fitted && i < r->rows.count; i++)
        free(r->fitted[i]);
    free(r->fitted);
    ARRAY_FREE(&r->rows);
    free(r->called);
    caller_groups_free(r->groups);
    places_free(r->places);
    labels_free(r->labels);
    return any;
}

/* How many rows have room beside the head, the last lines and the cursor. */
static uint32_t rows_that_fit(const struct term *term) {
    enum { OTHER_LINES = 6, LEAST = 3 };
    return term->rows > OTHER_LINES + LEAST ? term->rows - OTHER_LINES : LEAST;
}

/* Prints the table over the last one, which a terminal may be too small to show whole; elsewhere
 * below it, behind an empty line. */
static int show_again(void *ctx, struct view *view, struct follow_part *part) {
    static const char clear[] = "\033[H\033[J";
    const struct options *options = ctx;
    struct report_options shown = options->report;
    struct options whole = *options;
    struct report_table r = {.options = &shown, .term = term_open(&options->view), .view = view};
    (void)part;
    whole.view.no_pager = true;
    if (r.term.is_terminal && !options->view.json) {
        fputs(clear, stdout);
        shown.limit = shown.limit ? shown.limit : rows_that_fit(&r.term);
    } else if (!part->first && !options->view.json) {
        putchar('\n');
    }
    report(&r, &whole);
    return fflush(stdout) ? STATUS_FAILED : STATUS_OK;
}

int cmd_report(struct options *options, int argc, char **argv) {
    if (options->view.follow)
        return follow(options, argc, argv, show_again, options);
    struct view view;
    struct err err;
    if (view_open(&view, options, argc, argv, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    struct report_table r = {
        .options = &options->report, .term = term_open(&options->view), .view = &view};
    bool is_lost = !report(&r, options) && trace_reader_warning(view.source.reader);
    int status = is_lost || view_has_failed(&view) ? STATUS_FAILED : STATUS_OK;
    view_close(&view);
    return status;
}
