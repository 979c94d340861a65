/* The comparison that spoor diff prints. Private to its files. */
#pragma once

#include "analyze/compare.h"
#include "cmd/view.h"

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

void diff_print_json(const struct diff *d);
void diff_print_text(const struct diff *d);
