/* The JSON of spoor diff: an array of objects, whose numbers are pairs: old, new. */
#include <stdio.h>

#include "base/mem.h"
#include "cmd/diff.h"
#include "cmd/json.h"

static void print_pair(const char *name, uint64_t old, uint64_t new) {
    printf(", \"%s\": [%ju, %ju]", name, old, new);
}

/* The functions that lead to ROW, and its own. */
static void print_path(const struct comparison *c, const struct compare_row *row) {
    ARRAY(uint32_t) path = {0};
    for (; row->depth; row = compare_row(c, row->parent))
        ARRAY_PUSH(&path, row->function);
    printf(", \"path\": [");
    for (size_t i = path.count; i-- > 0;) {
        json_print_string(stdout, compare_name(c, path.at[i]));
        printf("%s", i ? ", " : "]");
    }
    ARRAY_FREE(&path);
}

static void print_row(const struct diff *d, const struct compare_row *row) {
    static const char *const names[COMPARE_NUMBERS] = {"calls", "total_ns", "self_ns", "p50_ns",
                                                       "p99_ns"};
    const struct compare_figures *old = &row->sides[0], *new = &row->sides[1];
    printf("{\"function\": ");
    json_print_string(stdout, compare_name(d->comparison, row->function));
    printf(", \"module\": ");
    json_print_string(stdout, compare_module(d->comparison, row->function));
    for (int i = 0; i < COMPARE_NUMBERS; i++)
        print_pair(names[i], old->numbers[i], new->numbers[i]);
    print_pair("inferred", old->inferred, new->inferred);
    print_pair("before", old->before, new->before);
    print_pair("cut", old->cut, new->cut);
    print_pair("clipped", old->clipped, new->clipped);
    if (!old->is_there || !new->is_there)
        printf(", \"only\": \"%s\"", old->is_there ? "old" : "new");
    if (d->options->diff.by_path)
        print_path(d->comparison, row);
    printf("}");
}

void diff_print_json(const struct diff *d) {
    uint32_t limit = d->options->report.limit;
    uint32_t count = limit && limit < d->count ? limit : d->count;
    printf("[");
    for (uint32_t i = 0; i < count; i++) {
        printf("%s", i ? ",\n" : "\n");
        print_row(d, compare_row(d->comparison, d->order[i]));
    }
    printf("%s]\n", count ? "\n" : "");
}
