/* See indent.h. */
#include "cmd/indent.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LEVELS = 32, LEAST_LEVELS = 4, NAME_COLUMNS = 30, COLUMNS_OF_LEVEL = 2 };

unsigned indent_limit(unsigned width, unsigned margin) {
    unsigned used = margin + NAME_COLUMNS;
    unsigned fitting = width > used ? (width - used) / COLUMNS_OF_LEVEL : 0;
    if (!width || fitting > MOST_LEVELS)
        return MOST_LEVELS;
    return fitting < LEAST_LEVELS ? LEAST_LEVELS : fitting;
}

struct indent indent_of(uint32_t depth, unsigned limit) {
    struct indent indent = {.columns = (depth < limit ? depth : limit) * COLUMNS_OF_LEVEL};
    if (depth > limit)
        snprintf(indent.depth, sizeof indent.depth, "[%u] ", depth);
    return indent;
}

unsigned indent_columns(const struct indent *indent) {
    return indent->columns + (unsigned)strlen(indent->depth);
}
