/* The terminal at standard output: width, colour, pager. */
#pragma once

#include "cmd/options.h"

/* Found before a pager takes the place of standard output. */
struct term {
    bool is_terminal;
    bool color;
    unsigned columns;      /* 0: unlimited (a pipe or file) */
    unsigned rows;         /* 0: unlimited, or not known */
    unsigned width;        /* as `columns`, if names are cut to it; 0: they are not */
    enum names_form names; /* not NAMES_DEFAULT */
};
struct term term_open(const struct view_options *options);

/* Starts the user's pager if standard output is a terminal and OPTIONS allow a pager. */
void pager_start(const struct term *term, const struct view_options *options);
/* Closes the input of the pager and waits for its end. */
void pager_finish(void);
