/* See compare_read.h. */
#include "analyze/compare_read.h"

#include "analyze/stats.h"
#include "base/mem.h"

static uint32_t number_of(const struct compare_side *side, uint32_t function) {
    struct names *n = side->source->names;
    const char *name = side->is_mangled ? names_symbol(n, function) : names_function(n, function);
    return compare_function(side->to, side->index, name,
                            names_module_name(n, names_module(n, function)));
}

/* ---- joining ---- */

struct alike { /* a function, and what those have in common that are joined */
    uint32_t function, number, verdict;
    bool exact;
};

/* Inexact ones first: the ends of calls of all are inferred then. */
static int compare_alike(const void *a, const void *b) {
    const struct alike *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->verdict != y->verdict)
        return x->verdict < y->verdict ? -1 : 1;
    if (x->exact != y->exact)
        return x->exact - y->exact;
    return (x->function > y->function) - (x->function < y->function);
}

void compare_join(const struct compare_side *side) {
    struct names *names = side->source->names;
    uint32_t count = names_count(names);
    AUTO_FREE uint32_t *to = mem_alloc(count * sizeof *to);
    ARRAY(struct alike) list = {0};
    for (uint32_t i = 0; i < count; i++) {
        to[i] = i;
        if (names_instrumented(names, i))
            ARRAY_PUSH(&list, ((struct alike){i, number_of(side, i),
                                              view_filter_verdict(side->source->filter, i),
                                              names_exact(names, i)}));
    }
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, compare_alike);
    for (size_t i = 1; i < list.count; i++) {
        const struct alike *before = &list.at[i - 1], *f = &list.at[i];
        if (before->number == f->number && before->verdict == f->verdict)
            to[f->function] = to[before->function];
    }
    names_join(names, to);
    ARRAY_FREE(&list);
}

/* ---- functions ---- */

static void add_function(const struct compare_side *side, const struct function_stats *f,
                         uint32_t function) {
    struct compare_figures figures = {.is_there = true,
                                      .numbers = {[COMPARE_CALLS] = f->calls,
                                                  [COMPARE_TOTAL] = f->total_ns,
                                                  [COMPARE_SELF] = f->self_ns},
                                      .inferred = f->inferred,
                                      .before = f->before,
                                      .cut = f->cut,
                                      .open = f->open,
                                      .clipped = f->clipped,
                                      .min_ns = f->min_ns,
                                      .max_ns = f->max_ns,
                                      .durations = f->durations};
    if (view_filter_verdict(side->source->filter, function) & VIEW_SILENT)
        return;
    uint32_t row = compare_row_of(side->to, 0, number_of(side, function));
    compare_add(side->to, row, side->index, &figures);
}

void compare_read_functions(const struct compare_side *side) {
    struct stats *stats = stats_new(side->source, NULL);
    stats_add_all(stats);
    for (size_t i = 0; i < stats_function_count(stats); i++) {
        uint32_t function = stats_function(stats, i);
        add_function(side, stats_of(stats, function), function);
    }
    stats_free(stats);
}

/* ---- paths ---- */

struct reading {
    const struct compare_side *side;
    struct comparison *c;
    uint32_t *numbers; /* 1 + compare_function(), by function; 0: not yet known */
    uint32_t deeper;   /* the number of COMPARE_DEEPER */
};

static uint32_t row_below(struct reading *r, uint32_t caller, uint32_t number) {
    uint32_t depth = compare_row(r->c, caller)->depth;
    if (depth == COMPARE_MOST_DEEP)
        caller = compare_row_of(r->c, caller, r->deeper);
    else if (depth > COMPARE_MOST_DEEP)
        caller = compare_row(r->c, caller)->parent;
    return compare_row_of(r->c, caller, number);
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct reading *r = ctx;
    uint32_t *number = &r->numbers[call->function];
    if (!*number)
        *number = number_of(r->side, call->function) + 1;
    uint32_t row =
        row_below(r, call->caller_value == WALK_NONE ? 0 : call->caller_value, *number - 1);
    compare_row(r->c, row)->open++;
    return row;
}

static void add_duration(struct compare_figures *f, uint64_t duration) {
    bool first = compare_measured(f) == 1;
    ++*histogram_counter(&f->durations, duration);
    f->min_ns = first || duration < f->min_ns ? duration : f->min_ns;
    f->max_ns = duration > f->max_ns ? duration : f->max_ns;
}

/* Below COMPARE_DEEPER calls of one row are in each other: the outermost counts in total time. */
static void on_close(void *ctx, const struct walk_call *call) {
    struct reading *r = ctx;
    struct compare_row *row = compare_row(r->c, call->value);
    struct compare_figures *f = &row->sides[r->side->index];
    row->open--;
    if (call->brief)
        return;
    f->is_there = true;
    f->numbers[COMPARE_SELF] += call->self_ns;
    f->numbers[COMPARE_TOTAL] +=
        row->open && row->depth > COMPARE_MOST_DEEP ? 0 : call->duration_ns;
    f->clipped += call->clipped;
    f->before += call->before;
    if (call->before)
        return;
    f->numbers[COMPARE_CALLS]++;
    f->inferred += call->inferred;
    f->cut += call->how == CALL_CUT;
    f->open += call->how == CALL_OPEN;
    if (call_is_measured(call->how))
        add_duration(f, call->duration_ns);
}

void compare_read_paths(const struct compare_side *side) {
    struct reading r = {.side = side, .c = side->to};
    struct visitor visitor = {.ctx = &r, .open = on_open, .close = on_close};
    r.numbers = mem_alloc(names_count(side->source->names) * sizeof *r.numbers);
    r.deeper = compare_function(r.c, side->index, COMPARE_DEEPER, "");
    walk_all(side->source, &visitor);
    free(r.numbers);
}
