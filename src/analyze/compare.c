/* See compare.h. Functions are found by a hash of their stems; rows are nodes of a tree. */
#include "analyze/compare.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "analyze/stems.h"
#include "analyze/tree.h"
#include "base/checksum.h"
#include "base/mem.h"

enum { FIRST_FUNCTIONS = 1024 };

struct function { /* one that is the same on both sides */
    char *name, *stem;
    char *module; /* as a side names it */
    int index;    /* of that side */
};

struct comparison {
    const char *programs[2]; /* or NULL */
    ARRAY(struct function) functions;
    uint32_t *table; /* 1 + the function; 0: free. At most half full. */
    uint32_t table_size;
    struct tree tree;
    ARRAY(struct compare_row) rows; /* by node */
};

struct comparison *comparison_new(const char *const programs[2]) {
    struct comparison *c = mem_alloc(sizeof *c);
    for (int i = 0; programs && i < 2; i++)
        c->programs[i] = programs[i];
    c->table_size = 2 * FIRST_FUNCTIONS;
    c->table = mem_alloc(c->table_size * sizeof *c->table);
    tree_init(&c->tree);
    ARRAY_PUSH(&c->rows, (struct compare_row){0});
    return c;
}

void comparison_free(struct comparison *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->functions.count; i++) {
        free(c->functions.at[i].name);
        free(c->functions.at[i].stem);
        free(c->functions.at[i].module);
    }
    for (size_t i = 0; i < c->rows.count; i++)
        for (int k = 0; k < 2; k++)
            histogram_done(&c->rows.at[i].sides[k].durations);
    ARRAY_FREE(&c->functions);
    ARRAY_FREE(&c->rows);
    tree_done(&c->tree);
    free(c->table);
    free(c);
}

/* ---- functions ---- */

static uint32_t hash(const struct comparison *c, const char *name, const char *stem) {
    uint64_t sum = checksum(name, strlen(name)) ^ checksum(stem, strlen(stem)) * 3;
    return (uint32_t)(sum >> 32) & (c->table_size - 1);
}

/* The table's entry of a function, or the free one where it belongs. */
static uint32_t *entry_of(struct comparison *c, const char *name, const char *stem) {
    uint32_t i = hash(c, name, stem);
    for (; c->table[i]; i = (i + 1) & (c->table_size - 1)) {
        const struct function *f = &c->functions.at[c->table[i] - 1];
        if (strcmp(f->name, name) == 0 && strcmp(f->stem, stem) == 0)
            break;
    }
    return &c->table[i];
}

static void grow(struct comparison *c) {
    free(c->table);
    c->table_size *= 2;
    c->table = mem_alloc(c->table_size * sizeof *c->table);
    for (size_t i = 0; i < c->functions.count; i++)
        *entry_of(c, c->functions.at[i].name, c->functions.at[i].stem) = (uint32_t)i + 1;
}

uint32_t compare_function(struct comparison *c, int index, const char *name, const char *module) {
    const char *program = c->programs[index];
    AUTO_FREE char *short_name = stem_of_name(name);
    AUTO_FREE char *stem =
        program && strcmp(program, module) == 0 ? mem_strdup("") : stem_of_module(module);
    uint32_t *entry = entry_of(c, short_name, stem);
    if (*entry) {
        struct function *f = &c->functions.at[*entry - 1];
        if (f->index < index && strcmp(f->module, module) != 0) {
            free(f->module);
            f->module = mem_strdup(module);
        }
        f->index = f->index < index ? index : f->index;
        return *entry - 1;
    }
    *entry = (uint32_t)c->functions.count + 1;
    ARRAY_PUSH(&c->functions,
               ((struct function){steal(short_name), steal(stem), mem_strdup(module), index}));
    if (c->functions.count * 2 > c->table_size)
        grow(c);
    return (uint32_t)c->functions.count - 1;
}

uint32_t compare_function_count(const struct comparison *c) { return (uint32_t)c->functions.count; }

const char *compare_name(const struct comparison *c, uint32_t function) {
    return c->functions.at[function].name;
}

const char *compare_module(const struct comparison *c, uint32_t function) {
    return c->functions.at[function].module;
}

/* ---- rows ---- */

uint32_t compare_row_of(struct comparison *c, uint32_t parent, uint32_t function) {
    uint32_t row = tree_child(&c->tree, parent, function);
    if (row == c->rows.count) {
        uint32_t depth = c->rows.at[parent].depth + 1;
        ARRAY_PUSH(&c->rows,
                   ((struct compare_row){.function = function, .parent = parent, .depth = depth}));
    }
    return row;
}

void compare_add(struct comparison *c, uint32_t row, int index,
                 const struct compare_figures *from) {
    struct compare_figures *to = &c->rows.at[row].sides[index];
    bool measured = compare_measured(from);
    if (measured) {
        bool first = !compare_measured(to);
        to->min_ns = first || from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
        to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
    }
    for (int i = 0; i < COMPARE_P50; i++)
        to->numbers[i] += from->numbers[i];
    for (int i = COMPARE_P50; i < COMPARE_NUMBERS; i++)
        to->numbers[i] = from->numbers[i] > to->numbers[i] ? from->numbers[i] : to->numbers[i];
    to->is_there |= from->is_there;
    to->inferred += from->inferred;
    to->before += from->before;
    to->cut += from->cut;
    to->open += from->open;
    to->clipped += from->clipped;
    if (from->durations.groups)
        histogram_add(&to->durations, &from->durations);
}

uint32_t compare_count(const struct comparison *c) { return (uint32_t)c->rows.count; }

struct compare_row *compare_row(const struct comparison *c, uint32_t row) {
    return &c->rows.at[row];
}

static void finish_side(struct compare_figures *f) {
    struct function_stats stats = {.calls = f->numbers[COMPARE_CALLS],
                                   .cut = f->cut,
                                   .open = f->open,
                                   .min_ns = f->min_ns,
                                   .max_ns = f->max_ns,
                                   .durations = f->durations};
    if (!f->durations.groups)
        return;
    f->numbers[COMPARE_P50] = stats_percentile(&stats, 50);
    f->numbers[COMPARE_P99] = stats_percentile(&stats, 99);
}

void compare_finish(struct comparison *c) {
    for (size_t i = 1; i < c->rows.count; i++)
        for (int k = 0; k < 2; k++)
            finish_side(&c->rows.at[i].sides[k]);
}

int64_t compare_difference(const struct compare_row *row, enum compare_number by) {
    return (int64_t)(row->sides[1].numbers[by] - row->sides[0].numbers[by]);
}

bool compare_differs(const struct compare_row *row) {
    bool differs = row->sides[0].is_there != row->sides[1].is_there;
    for (int i = 0; i < COMPARE_NUMBERS; i++)
        differs |= compare_difference(row, i) != 0;
    return differs;
}

/* ---- order ---- */

struct ordering {
    const struct comparison *c;
    enum compare_number by;
};

static int falling(uint64_t a, uint64_t b) { return (a < b) - (a > b); }

static uint64_t gap(const struct compare_row *row, enum compare_number by) {
    int64_t difference = compare_difference(row, by);
    return difference < 0 ? -(uint64_t)difference : (uint64_t)difference;
}

static uint64_t larger(const struct compare_row *row, enum compare_number by) {
    uint64_t a = row->sides[0].numbers[by], b = row->sides[1].numbers[by];
    return a > b ? a : b;
}

static int compare_by_number(const struct compare_row *x, const struct compare_row *y,
                             enum compare_number by) {
    int rc = falling(gap(x, by), gap(y, by));
    return rc ? rc : falling(larger(x, by), larger(y, by));
}

static int compare_rows(const void *a, const void *b, void *ctx) {
    const struct ordering *o = ctx;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct compare_row *x = &o->c->rows.at[i], *y = &o->c->rows.at[k];
    int rc = o->by < COMPARE_NUMBERS ? compare_by_number(x, y, o->by) : 0;
    if (!rc)
        rc = strcmp(compare_name(o->c, x->function), compare_name(o->c, y->function));
    if (!rc)
        rc = strcmp(compare_module(o->c, x->function), compare_module(o->c, y->function));
    if (!rc)
        rc = falling(y->depth, x->depth);
    return rc ? rc : falling(k, i);
}

uint32_t *compare_order(const struct comparison *c, enum compare_number by, uint32_t *ret_count) {
    struct ordering ordering = {c, by};
    uint32_t count = 0, *list = mem_alloc(c->rows.count * sizeof *list);
    for (uint32_t i = 1; i < c->rows.count; i++)
        if (c->rows.at[i].sides[0].is_there || c->rows.at[i].sides[1].is_there)
            list[count++] = i;
    if (count)
        qsort_r(list, count, sizeof *list, compare_rows, &ordering);
    *ret_count = count;
    return list;
}
