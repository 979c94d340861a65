/*
 * The table of spoor diff. Numbers of the two sides stand side by side, "12.34 ms → 13.45 ms". Rows
 * without any difference are only counted.
 *
 * On a terminal columns are left out until names have room, as in a report.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/short_names.h"
#include "base/text.h"
#include "cmd/change_texts.h"
#include "cmd/diff.h"
#include "cmd/figures.h"
#include "cmd/labels.h"

enum { GAP = 2, CELL = FIGURE_ROOM + 1, TEXT_COLUMNS = 30, READABLE = 40, ARROW_COLUMNS = 3 };
#define ARROW " → "
/* The marks of what only one side has. */
#define ONLY_OLD "-"
#define ONLY_NEW "+"

static const struct {
    const char *head;
    unsigned width; /* 0: of text, left-aligned */
} columns[DIFF_COLUMNS] = {
    [DIFF_DIFF] = {"DIFF", 9},
    [DIFF_CHANGE] = {"CHANGE", 9},
    [DIFF_CALLS] = {"CALLS OLD → NEW", 21},
    [DIFF_TOTAL] = {"TOTAL OLD → NEW", 19},
    [DIFF_SELF] = {"SELF OLD → NEW", 19},
    [DIFF_P50] = {"P50 OLD → NEW", 19},
    [DIFF_P99] = {"P99 OLD → NEW", 19},
    [DIFF_FUNCTION] = {"FUNCTION", 0},
    [DIFF_MODULE] = {"MODULE", 0},
};

struct table {
    const struct diff *d;
    const unsigned char *shape;      /* enum diff_column */
    size_t width;                    /* of the shape */
    unsigned char own[DIFF_COLUMNS]; /* where SHAPE points if columns were left out */
    uint32_t *rows, count;           /* those that differ, and are within the limit */
    uint32_t differing, equal;
    uint32_t only[2]; /* of the differing ones, on one side alone */
    const char **list;
    struct short_names *shorts; /* by function of the comparison; NULL: names are not short */
};

static const struct compare_row *row_at(const struct table *t, uint32_t i) {
    return compare_row(t->d->comparison, t->rows[i]);
}

/* ---- names ---- */

static const char *name_of(const struct table *t, uint32_t function) {
    const char *text = t->shorts ? short_names_at(t->shorts, function) : NULL;
    return text ? text : compare_name(t->d->comparison, function);
}

static struct figure_marks marks_of(const struct compare_row *row) {
    const struct compare_figures *a = &row->sides[0], *b = &row->sides[1];
    return (struct figure_marks){a->inferred + b->inferred, a->before + b->before, a->cut + b->cut,
                                 a->clipped + b->clipped, a->open + b->open};
}

/* The marks before a name, each with a space behind it. To be freed. */
static char *marks_text(const struct compare_row *row) {
    char text[FIGURE_MARKS_ROOM];
    struct figure_marks marks = marks_of(row);
    figure_marks(text, &marks);
    const char *only = !row->sides[0].is_there   ? ONLY_NEW " "
                       : !row->sides[1].is_there ? ONLY_OLD " "
                                                 : "";
    return mem_printf("%s%s", only, text);
}

/* " < caller < its caller", within LEFT columns if lines are cut. To be freed. */
static char *callers_text(const struct table *t, const struct compare_row *row, unsigned left) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    unsigned used = 0;
    for (row = compare_row(t->d->comparison, row->parent);
         row->depth && (!t->d->term.width || used <= left);
         row = compare_row(t->d->comparison, row->parent)) {
        const char *name = name_of(t, row->function);
        fprintf(out, " < %s", name);
        used += (unsigned)text_columns(name) + 3;
    }
    fclose(out);
    if (!t->d->term.width || used <= left)
        return text;
    char *cut = left ? text_cut(text, left) : mem_strdup("");
    free(text);
    return cut;
}

/* The function with its marks, and with paths its callers, in LEFT columns if lines are cut. To be
 * freed. */
static char *function_text(const struct table *t, const struct compare_row *row, unsigned left) {
    AUTO_FREE char *marks = marks_text(row);
    unsigned used = (unsigned)text_columns(marks);
    left = left > used ? left - used : 1;
    const char *whole = name_of(t, row->function);
    AUTO_FREE char *name = t->shorts && t->d->term.width
                               ? short_names_fit(t->shorts, row->function, left)
                               : label_cut(&t->d->term, whole, left);
    used = (unsigned)text_columns(name);
    AUTO_FREE char *callers = callers_text(t, row, left > used ? left - used : 0);
    return mem_printf("%s%s%s", marks, name, callers);
}

/* ---- numbers ---- */

static void number_text(char text[CELL], enum compare_number number, uint64_t value) {
    if (number == COMPARE_CALLS)
        snprintf(text, FIGURE_ROOM, "%ju", value);
    else
        figure_time_column(text, value);
}

/* "-" where the side has no such call. */
static void side_text(char text[CELL], const struct compare_figures *f, enum compare_number n) {
    bool of_calls = n == COMPARE_P50 || n == COMPARE_P99;
    if (!f->is_there || (of_calls && !compare_measured(f)))
        snprintf(text, CELL, "-");
    else
        number_text(text, n, f->numbers[n]);
}

static void print_pair(const struct compare_row *row, enum compare_number n, unsigned width) {
    char old[CELL], new[CELL];
    int side = (int)(width - ARROW_COLUMNS) / 2;
    side_text(old, &row->sides[0], n);
    side_text(new, &row->sides[1], n);
    printf("%*s" ARROW "%*s", side, old, side, new);
}

/* The difference with its sign; "0" if there is none. */
static void difference_text(char text[CELL], int64_t difference, enum compare_number n) {
    uint64_t value = difference < 0 ? -(uint64_t)difference : (uint64_t)difference;
    *text = difference < 0 ? '-' : '+';
    number_text(difference ? text + 1 : text, n, value);
}

/* The difference as a share of the old number; from the double on as a factor. */
static void change_text(char text[CELL], const struct compare_row *row, enum compare_number n) {
    const struct compare_figures *old = &row->sides[0], *new = &row->sides[1];
    double before = (double)old->numbers[n], after = (double)new->numbers[n];
    if (!old->is_there || !new->is_there)
        snprintf(text, CELL, old->is_there ? "gone" : "new");
    else if (old->numbers[n] == new->numbers[n])
        snprintf(text, CELL, "0 %%");
    else if (!old->numbers[n])
        snprintf(text, CELL, "-");
    else if (after < 2 * before)
        snprintf(text, CELL, "%+.1f %%", (after - before) / before * 100);
    else
        snprintf(text, CELL, "x%.*f", after < 1000 * before ? 1 : 0, after / before);
}

static void print_number(const struct table *t, const struct compare_row *row,
                         enum diff_column column) {
    enum compare_number n = diff_number(t->d);
    char text[CELL];
    if (column >= DIFF_CALLS) {
        print_pair(row, (enum compare_number)(column - DIFF_CALLS), columns[column].width);
        return;
    }
    if (column == DIFF_DIFF)
        difference_text(text, compare_difference(row, n), n);
    else
        change_text(text, row, n);
    bool colored = t->d->term.color && compare_difference(row, n) && column == DIFF_DIFF;
    const char *color = compare_difference(row, n) > 0 ? "\033[31m" : "\033[32m";
    printf("%s%*s%s", colored ? color : "", (int)columns[column].width, text,
           colored ? "\033[0m" : "");
}

/* ---- rows ---- */

/* A function or module; USED counts the terminal's columns. */
static void print_text(const struct table *t, const struct compare_row *row, size_t column,
                       unsigned *used) {
    bool is_last = column + 1 == t->width;
    unsigned width = t->d->term.width;
    unsigned left = !is_last ? TEXT_COLUMNS : width > *used ? width - *used : 1;
    const char *module = compare_module(t->d->comparison, row->function);
    AUTO_FREE char *text = t->shape[column] == DIFF_FUNCTION ? function_text(t, row, left)
                                                             : label_cut(&t->d->term, module, left);
    text_print(stdout, text);
    unsigned written = (unsigned)text_columns(text);
    unsigned padding = is_last || written > TEXT_COLUMNS ? 0 : TEXT_COLUMNS - written;
    printf("%*s", (int)padding, "");
    *used += written + padding;
}

static void print_row(const struct table *t, const struct compare_row *row) {
    unsigned used = 0;
    for (size_t i = 0; i < t->width; i++) {
        if (i)
            used += (unsigned)printf("%*s", GAP, "");
        if (columns[t->shape[i]].width) {
            print_number(t, row, t->shape[i]);
            used += columns[t->shape[i]].width;
        } else {
            print_text(t, row, i, &used);
        }
    }
    printf("\n");
}

static void print_head(const struct table *t) {
    printf("%s", t->d->term.color ? "\033[1m" : "");
    for (size_t i = 0; i < t->width; i++) {
        const char *head = columns[t->shape[i]].head;
        int width = columns[t->shape[i]].width ? (int)columns[t->shape[i]].width
                    : i + 1 < t->width         ? -TEXT_COLUMNS
                                               : 0;
        int extra = figure_extra_bytes(head);
        printf("%s%*s", i ? "  " : "", width > 0 ? width + extra : width, head);
    }
    printf("%s\n", t->d->term.color ? "\033[0m" : "");
}

/* ---- the shape ---- */

static unsigned numbers_width(const struct table *t) {
    unsigned width = 0;
    for (size_t i = 0; i < t->width; i++)
        width += columns[t->shape[i]].width ? columns[t->shape[i]].width + GAP : 0;
    return width;
}

static void drop(struct table *t, enum diff_column column) {
    size_t width = 0;
    for (size_t i = 0; i < t->width; i++)
        if (t->shape[i] != column)
            t->own[width++] = t->shape[i];
    t->shape = t->own;
    t->width = width;
}

/* Of the function, and with paths of its callers; not all of them if they are many. */
static size_t name_width(const struct table *t, const struct compare_row *row) {
    size_t width = text_columns(name_of(t, row->function)) + 2;
    const struct comparison *c = t->d->comparison;
    bool by_path = t->d->options->diff.by_path;
    for (row = compare_row(c, row->parent); by_path && row->depth && width < READABLE;
         row = compare_row(c, row->parent))
        width += text_columns(name_of(t, row->function)) + 3;
    return width;
}

/* The columns that the longest name needs, but not more than a readable one does. */
static size_t names_width(const struct table *t) {
    size_t widest = 0;
    for (uint32_t i = 0; i < t->count && widest < READABLE; i++) {
        size_t width = name_width(t, row_at(t, i));
        widest = width > widest ? width : widest;
    }
    return widest < READABLE ? widest : READABLE;
}

static void choose_shape(struct table *t) {
    static const unsigned char all[] = {DIFF_DIFF,  DIFF_CHANGE, DIFF_TOTAL, DIFF_SELF,
                                        DIFF_CALLS, DIFF_P50,    DIFF_P99,   DIFF_FUNCTION};
    static const enum diff_column dispensable[] = {DIFF_P50, DIFF_P99, DIFF_SELF, DIFF_CHANGE,
                                                   DIFF_CALLS};
    enum { COUNT = sizeof dispensable / sizeof *dispensable };
    const choice_array *given = &t->d->options->diff.columns;
    t->width = given->count ? given->count : sizeof all;
    t->shape = given->count ? given->at : all;
    size_t wanted = t->d->term.width && !given->count ? names_width(t) : 0;
    for (size_t i = 0; i < COUNT && wanted && numbers_width(t) + wanted > t->d->term.width; i++)
        drop(t, dispensable[i]);
}

/* ---- the table ---- */

static void choose_rows(struct table *t) {
    const struct diff *d = t->d;
    uint32_t limit = d->options->report.limit;
    t->rows = mem_alloc((d->count + 1) * sizeof *t->rows);
    for (uint32_t i = 0; i < d->count; i++) {
        const struct compare_row *row = compare_row(d->comparison, d->order[i]);
        if (!compare_differs(row)) {
            t->equal++;
            continue;
        }
        t->differing++;
        t->only[0] += !row->sides[1].is_there;
        t->only[1] += !row->sides[0].is_there;
        if (!limit || t->count < limit)
            t->rows[t->count++] = d->order[i];
    }
}

/* Short names of all functions in the rows. */
static void shorten(struct table *t) {
    const struct comparison *c = t->d->comparison;
    if (t->d->term.names != NAMES_SHORT)
        return;
    t->list = mem_alloc((compare_function_count(c) + 1) * sizeof *t->list);
    for (uint32_t i = 0; i < t->count; i++)
        for (const struct compare_row *row = row_at(t, i); row->depth;
             row = compare_row(c, row->parent))
            t->list[row->function] = compare_name(c, row->function);
    t->shorts = short_names_new(t->list, compare_function_count(c));
}

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

static void print_only(const struct table *t, int index, const char *mark) {
    const char *what = t->d->options->diff.by_path ? "path" : "function";
    if (!t->only[index])
        return;
    printf("%s: %u %s%s only in ", mark, t->only[index], what, plural(t->only[index]));
    text_print(stdout, t->d->views[index].path);
    printf("\n");
}

static void print_side(const struct diff *d, int index) {
    char text[FIGURE_ROOM];
    const struct view *view = &d->views[index];
    printf("%s ", index ? "NEW" : "OLD");
    text_print(stdout, view->path);
    if (d->is_empty[index]) {
        printf(": nothing of it is shown\n");
        return;
    }
    const char *losses = view_losses(view);
    figure_time(text, trace_reader_duration_ns(view->source.reader));
    AUTO_FREE char *end =
        mem_printf("the recording lasted %s; %s", text, losses ? losses : "no events lost");
    enum { INDENT = 4 };
    bool fits = !d->term.columns ||
                strlen("OLD : ") + text_columns(view->path) + text_columns(end) <= d->term.columns;
    printf(":%s", fits ? " " : "\n    ");
    text_print_wrapped(end, INDENT, fits ? 0 : d->term.columns);
    changed_print_end(view, d->term.columns);
}

/* Remarks about all rows, also those that do not differ. */
static void print_marks(const struct diff *d) {
    struct figure_marks sum = {0};
    for (uint32_t i = 0; i < d->count; i++) {
        struct figure_marks marks = marks_of(compare_row(d->comparison, d->order[i]));
        sum.inferred += marks.inferred;
        sum.before += marks.before;
        sum.cut += marks.cut;
        sum.clipped += marks.clipped;
        sum.open += marks.open;
    }
    figure_print_marks(&sum, d->term.columns);
}

/* To be freed. */
static char *sums_text(const struct diff *d) {
    uint64_t sums[COMPARE_NUMBERS][2] = {0};
    char old[FIGURE_ROOM], new[FIGURE_ROOM];
    for (uint32_t i = 0; i < d->count; i++)
        for (int k = 0; k < 2; k++)
            for (int n = 0; n < COMPARE_NUMBERS; n++)
                sums[n][k] += compare_row(d->comparison, d->order[i])->sides[k].numbers[n];
    figure_time(old, sums[COMPARE_SELF][0]);
    figure_time(new, sums[COMPARE_SELF][1]);
    return mem_printf("in all %ju" ARROW "%ju calls, %s" ARROW "%s", sums[COMPARE_CALLS][0],
                      sums[COMPARE_CALLS][1], old, new);
}

static void print_end(const struct table *t) {
    const char *what = t->d->options->diff.by_path ? "path" : "function";
    printf("%s", t->differing ? "\n" : "");
    print_only(t, 0, ONLY_OLD);
    print_only(t, 1, ONLY_NEW);
    print_marks(t->d);
    AUTO_FREE char *sums = sums_text(t->d);
    AUTO_FREE char *text =
        t->differing
            ? mem_printf("%u %s%s differ%s, %u %s not; %s", t->differing, what,
                         plural(t->differing), t->differing == 1 ? "s" : "", t->equal,
                         t->equal == 1 ? "does" : "do", sums)
            : mem_printf("nothing differs: %u %s%s; %s", t->equal, what, plural(t->equal), sums);
    text_print_wrapped(text, 0, t->d->term.columns);
    print_side(t->d, 0);
    print_side(t->d, 1);
}

void diff_print_text(const struct diff *d) {
    struct table t = {.d = d};
    choose_rows(&t);
    shorten(&t);
    choose_shape(&t);
    if (t.count)
        print_head(&t);
    for (uint32_t i = 0; i < t.count; i++)
        print_row(&t, row_at(&t, i));
    if (t.count < t.differing)
        printf("(%u more)\n", t.differing - t.count);
    print_end(&t);
    short_names_free(t.shorts);
    free(t.list);
    free(t.rows);
}
