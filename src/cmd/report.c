/* spoor report: shows a table of functions. With --by-thread and --by-module, each thread and
 * module has a group of rows; else all rows are one group. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analyze/processes.h"
#include "base/text.h"
#include "cmd/callers.h"
#include "cmd/command.h"
#include "cmd/follow.h"
#include "cmd/labels.h"
#include "cmd/report.h"
#include "cmd/say.h"
#include "plan/plan.h"

/* The width of names; the most where lines are not cut: a longer one moves the rest of its row;
 * between columns. */
enum { TEXT_COLUMNS = 30, TEXT_MOST = 200, GAP = 2 };

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
    [REPORT_GROUP] = {"GROUP", 0, false},
};

static const unsigned char default_columns[] = {REPORT_CALLS, REPORT_TOTAL,   REPORT_SELF,
                                                REPORT_MIN,   REPORT_MAX,     REPORT_P50,
                                                REPORT_P99,   REPORT_FUNCTION};
/* The default if calls were cut. */
static const unsigned char columns_with_cut[] = {REPORT_CALLS, REPORT_CUT, REPORT_TOTAL,
                                                 REPORT_SELF,  REPORT_MIN, REPORT_MAX,
                                                 REPORT_P50,   REPORT_P99, REPORT_FUNCTION};
/* The default with --group. */
static const unsigned char columns_with_group[] = {REPORT_CALLS, REPORT_TOTAL, REPORT_SELF,
                                                   REPORT_MIN,   REPORT_MAX,   REPORT_P50,
                                                   REPORT_P99,   REPORT_GROUP, REPORT_FUNCTION};

/* ---- text ---- */

/* The marks of ROW, each with a space behind it. To be freed. */
static char *marks_of(const struct report_table *r, const struct row *row) {
    char marks[FIGURE_MARKS_ROOM];
    figure_marks(marks, &row->marks);
    return mem_printf(
        "%s%s", names_partly(r->view->source.names, row->function) ? FIGURE_PARTLY " " : "", marks);
}

/* "file:line" where the function begins, or "-", in LEFT columns if lines are cut. To be freed. */
static char *line_text(const struct report_table *r, const struct row *row, unsigned left) {
    struct source_line line = names_source(r->view->source.names, row->function);
    AUTO_FREE char *text = line.file ? mem_printf("%s:%u", line.file, line.line) : mem_strdup("-");
    return label_cut(&r->term, text, left);
}

/* Names have so many columns beside all that were asked for, and if lines are too long then. */
enum { READABLE = 40 };

/* "name (PID)", or "". To be freed. */
static char *process_text(const struct report_table *r, const struct row *row, unsigned left) {
    const struct trace_reader *reader = r->view->source.reader;
    if (row->process == PROCESS_NONE)
        return mem_strdup("");
    AUTO_FREE char *text = mem_printf("%s (%u)", process_name(reader, row->process),
                                      trace_reader_process(reader, row->process)->pid);
    return label_cut(&r->term, text, left);
}

/* The value of --group. To be freed. */
static char *group_text(const struct report_table *r, const struct row *row, unsigned left) {
    return label_cut(&r->term, r->values ? value_groups_text(r->values, row->chain) : "-", left);
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
    if (c == REPORT_LINE)
        return line_text(r, row, left);
    if (c == REPORT_PROCESS)
        return process_text(r, row, left);
    if (c == REPORT_GROUP)
        return group_text(r, row, left);
    AUTO_FREE char *marks = marks_of(r, row);
    unsigned used = (unsigned)text_columns(marks);
    if (r->fitted)
        return mem_printf("%s%s", marks, r->fitted[row - r->rows.at]);
    AUTO_FREE char *name = labels_fit(r->labels, row->function, left > used ? left - used : 1);
    return mem_printf("%s%s", marks, name);
}

/* Prints the text of column C, which is WIDTH columns wide, or, of width 0, the last one; USED
 * counts the terminal's columns. */
static void print_text(const struct report_table *r, const struct row *row, enum report_column c,
                       unsigned width, unsigned *used) {
    unsigned left = *used + READABLE < r->term.width ? r->term.width - *used : READABLE;
    AUTO_FREE char *text = text_of(r, row, c, width ? TEXT_COLUMNS : left);
    unsigned shown = (unsigned)text_columns(text);
    text_print(stdout, text);
    if (shown < width)
        printf("%*s", (int)(width - shown), "");
    *used += shown < width ? width : shown;
}

static void print_number(const struct report_table *r, const struct row *row, enum report_column c,
                         unsigned *used) {
    char text[FIGURE_ROOM];
    bool of_calls = (c >= REPORT_MIN && c <= REPORT_P99) || c == REPORT_AVG || c == REPORT_STDEV;
    if (of_calls && row->numbers[REPORT_CALLS] == row->marks.cut + row->marks.open)
        snprintf(text, sizeof text, "-");
    else if (c == REPORT_SHARE)
        figure_share(text, row->numbers[c], r->self);
    else if (columns[c].is_time)
        figure_time_column(text, row->numbers[c]);
    else
        snprintf(text, sizeof text, "%ju", row->numbers[c]);
    *used += (unsigned)printf("%*s", columns[c].width, text);
}

struct shape { /* the columns of the table */
    const unsigned char *at;
    size_t count;
    unsigned char own[REPORT_COLUMNS]; /* where AT points if columns were left out */
    unsigned widths[REPORT_COLUMNS];   /* of texts, in the order of AT; 0: the last one */
};

/* The columns that the numbers of SHAPE take, with gaps. */
static unsigned numbers_width(const struct shape *shape) {
    unsigned width = 0;
    for (size_t i = 0; i < shape->count; i++)
        if ((unsigned)shape->at[i] < REPORT_NUMBERS)
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
    size_t widest = strlen(columns[REPORT_FUNCTION].head);
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
    *shape = (struct shape){.at = default_columns, .count = sizeof default_columns};
    if (given->count)
        *shape = (struct shape){.at = given->at, .count = given->count};
    else if (r->values)
        *shape = (struct shape){.at = columns_with_group, .count = sizeof columns_with_group};
    else if (r->marks.cut)
        *shape = (struct shape){.at = columns_with_cut, .count = sizeof columns_with_cut};
    if (!given->count && r->term.width)
        make_room(r, shape);
}

/* Fits the names of all rows if they are in the last column. */
static void fit_names(struct report_table *r, const struct shape *shape) {
    size_t width = numbers_width(shape), marks = 0, count = r->rows.count;
    bool last = shape->at[shape->count - 1] == REPORT_FUNCTION && r->term.width;
    for (size_t i = 0; i + 1 < shape->count; i++)
        last = last && (unsigned)shape->at[i] < REPORT_NUMBERS;
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
    size_t room = width + READABLE < r->term.width ? r->term.width - width : READABLE;
    labels_fit_all(r->labels, list, count, room > marks ? room - marks : 1, r->fitted);
}

/* The columns that the texts of column C need in all rows that are shown. */
static unsigned text_width(const struct report_table *r, enum report_column c) {
    size_t widest = TEXT_COLUMNS;
    for (size_t i = 0, end; i < r->rows.count && !r->term.width; i = end) {
        end = report_group_end(r, i);
        for (size_t k = i; k < report_shown_end(r, i, end); k++) {
            AUTO_FREE char *text = text_of(r, &r->rows.at[k], c, TEXT_COLUMNS);
            size_t width = text_columns(text);
            widest = width > widest && width <= TEXT_MOST ? width : widest;
        }
    }
    return (unsigned)widest;
}

static void measure(const struct report_table *r, struct shape *shape) {
    for (size_t i = 0; i + 1 < shape->count; i++)
        if ((unsigned)shape->at[i] >= REPORT_NUMBERS)
            shape->widths[i] = text_width(r, shape->at[i]);
}

static void print_row(const struct report_table *r, const struct shape *shape,
                      const struct row *row) {
    unsigned used = 0;
    for (size_t i = 0; i < shape->count; i++) {
        enum report_column c = shape->at[i];
        if (i)
            used += (unsigned)printf("%*s", GAP, "");
        if ((unsigned)c < REPORT_NUMBERS)
            print_number(r, row, c, &used);
        else
            print_text(r, row, c, shape->widths[i], &used);
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
        int width = (unsigned)c < REPORT_NUMBERS ? columns[c].width : -(int)shape->widths[i];
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
        AUTO_FREE char *process = process_text(r, row, UINT_MAX);
        printf("process ");
        text_print(stdout, *process ? process : "unknown");
    }
    if (o->by_thread) {
        const struct trace_thread *t = trace_reader_thread(r->view->source.reader, row->stream);
        printf("thread %u ", t->tid);
        text_print(stdout, t->name);
        printf(" (process %u)", t->pid);
    }
    if (o->by_module)
        printf("%smodule %s", o->by_thread || o->by_process ? ", " : "",
               names_module_name(r->view->source.names, row->module));
    printf(": %s of all time\n", share);
}

static void print_tables(struct report_table *r) {
    struct shape shape;
    choose_shape(r, &shape);
    fit_names(r, &shape);
    measure(r, &shape);
    const struct report_options *o = r->options;
    bool grouped = o->by_thread || o->by_module || o->by_process;
    if (!r->rows.count)
        print_head(r, &shape);
    for (size_t i = 0, end; i < r->rows.count; i = end) {
        end = report_group_end(r, i);
        if (grouped)
            print_group_name(r, i, end);
        print_head(r, &shape);
        size_t last = report_shown_end(r, i, end);
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

/* Reads the trace of r->view, and prints the table. False: it has no row. */
static bool report(struct report_table *r, const struct options *options) {
    r->labels = labels_new(r->view->source.names, &r->term);
    r->spreads = options->view.json || report_wants(r->options, REPORT_AVG) ||
                 report_wants(r->options, REPORT_STDEV);
    struct slowest *slowest = r->options->slowest ? report_slowest_read(r) : NULL;
    if (!slowest)
        report_read(r);
    r->mark_counts = slowest ? NULL : mark_counts_read(&r->view->source);
    bool any = slowest || r->rows.count || r->mark_counts;
    pager_start(&r->term, &options->view);
    if (slowest)
        report_slowest_print(slowest, options->view.json);
    else if (options->view.json)
        report_print_json(stdout, r);
    else
        print_tables(r);
    pager_finish();
    for (size_t i = 0; r->fitted && i < r->rows.count; i++)
        free(r->fitted[i]);
    free(r->fitted);
    labels_free(r->labels);
    free(r->mark_counts);
    report_done(r);
    return any;
}

/* How many rows have room beside the head, the last lines and the cursor. */
static uint32_t rows_that_fit(const struct term *term) {
    enum { OTHER_LINES = 6, LEAST = 3 };
    return term->rows > OTHER_LINES + LEAST ? term->rows - OTHER_LINES : LEAST;
}

/* False: --group cannot be. */
static bool make_groups(struct report_table *r) {
    struct err err;
    const char *group = r->options->group;
    if (!group || value_groups_new(group, &r->view->source, &r->values, &err) == 0)
        return true;
    say_err(&err);
    return false;
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
    if (!make_groups(&r))
        return STATUS_FAILED;
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
    if (!make_groups(&r)) {
        view_close(&view);
        return STATUS_FAILED;
    }
    bool is_lost = !report(&r, options) && trace_reader_warning(view.source.reader);
    int status = is_lost || view_has_failed(&view) ? STATUS_FAILED : STATUS_OK;
    view_close(&view);
    return status;
}
