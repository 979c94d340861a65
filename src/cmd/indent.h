/*
 * Indentation of calls in text: two columns a level, up to a limit. Deeper lines have the limit's
 * indentation and begin with their depth, as in "[70] ". So a line's length does not depend on how
 * deep calls nest, and names keep room on a terminal.
 */
#pragma once

#include <stdint.h>

struct indent {
    unsigned columns; /* blanks */
    char depth[16];   /* "", or the depth in brackets with a blank */
};

/* How many levels are indented: 32, or fewer on a terminal of WIDTH columns (0: unlimited) whose
 * lines have MARGIN columns before the indentation. */
unsigned indent_limit(unsigned width, unsigned margin);
struct indent indent_of(uint32_t depth, unsigned limit);
/* The columns that both take. */
unsigned indent_columns(const struct indent *indent);
