/* The comparison that spoor diff prints. Private to its files. */
#pragma once

#include <stdio.h>

#include "analyze/compare.h"
#include "cmd/open_view.h"

struct diff {
    const struct options *options;
    struct term term;
    struct view views[2]; /* the old trace, the new one */
    bool is_empty[2];     /* the filters show nothing of it: it was not read */
    struct comparison *comparison;
    uint32_t *order; /* rows */
    uint32_t count;
};

/* The number whose difference rows are sorted by; by name: the total time. */
enum compare_number diff_number(const struct diff *d);

/* The programs of two traces, OLD and NEW: NULL if not known. True: they are compared, whatever
 * their names; no trace has modules of both names. */
bool diff_programs(const struct source *const sides[2], const char *ret[2]);
/* Prints COUNT ROWS of C, with the functions that lead to them if they are PATHS. */
void diff_json(FILE *out, const struct comparison *c, const uint32_t *rows, uint32_t count,
               bool paths);
void diff_print_text(const struct diff *d);
