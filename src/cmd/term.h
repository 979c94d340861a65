/* The terminal that standard output may be: width, colour, pager. */
#pragma once

#include "cmd/options.h"

/* Decided before a pager takes standard output over. */
struct term {
    bool is_terminal;
    bool color;
    unsigned width; /* columns; 0: unlimited (a pipe or file) */
};
struct term term_open(const struct view_options *options);

/* Starts the user's pager on standard output when that is a terminal and OPTIONS allow it. */
void pager_start(const struct term *term, const struct view_options *options);
/* Sends it the end of file and waits for it. */
void pager_finish(void);
