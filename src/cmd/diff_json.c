/* The JSON of spoor diff: an array of objects, whose numbers are pairs: old, new. */
#include <stdio.h>

#include "base/mem.h"
#include "cmd/diff.h"
#include "cmd/json.h"

static void print_pair(FILE *out, const char *name, uint64_t old, uint64_t new) {
    fprintf(out, ", \"%s\": [%ju, %ju]", name, old, new);
}

/* The functions that lead to ROW, and its own. */
static void print_path(FILE *out, const struct comparison *c, const struct compare_row *row) {
    ARRAY(uint32_t) path = {0};
    for (; row->depth; row = compare_row(c, row->parent))
        ARRAY_PUSH(&path, row->function);
    fprintf(out, ", \"path\": [");
    for (size_t i = path.count; i-- > 0;) {
        json_print_string(out, compare_name(c, path.at[i]));
        fprintf(out, "%s", i ? ", " : "]");
    }
    ARRAY_FREE(&path);
}

static void print_row(FILE *out, const struct comparison *c, const struct compare_row *row,
                      bool path) {
    static const char *const names[COMPARE_NUMBERS] = {"calls", "total_ns", "self_ns", "p50_ns",
                                                       "p99_ns"};
    const struct compare_figures *old = &row->sides[0], *new = &row->sides[1];
    fprintf(out, "{\"function\": ");
    json_print_string(out, compare_name(c, row->function));
    fprintf(out, ", \"module\": ");
    json_print_string(out, compare_module(c, row->function));
    for (int i = 0; i < COMPARE_NUMBERS; i++)
        print_pair(out, names[i], old->numbers[i], new->numbers[i]);
    print_pair(out, "inferred", old->inferred, new->inferred);
    print_pair(out, "before", old->before, new->before);
    print_pair(out, "cut", old->cut, new->cut);
    print_pair(out, "open", old->open, new->open);
    print_pair(out, "clipped", old->clipped, new->clipped);
    if (!old->is_there || !new->is_there)
        fprintf(out, ", \"only\": \"%s\"", old->is_there ? "old" : "new");
    if (path)
        print_path(out, c, row);
    fprintf(out, "}");
}

void diff_json(FILE *out, const struct comparison *c, const uint32_t *rows, uint32_t count,
               bool paths) {
    fprintf(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s", i ? ",\n" : "\n");
        print_row(out, c, compare_row(c, rows[i]), paths);
    }
    fprintf(out, "%s]\n", count ? "\n" : "");
}
