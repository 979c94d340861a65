/* Reads the calls of a trace into one side of a comparison (compare.h). */
#pragma once

#include "analyze/compare.h"
#include "analyze/walk.h"

struct compare_side {
    struct comparison *to;
    int index;       /* 0: the old side, 1: the new one */
    bool is_mangled; /* functions have their names of the symbol table */
    const struct source *source;
};

/*
 * Gives functions of a source one number if a comparison takes them for the same. So a call of one
 * from another counts once in total time, as recursion does. Functions that the filter treats
 * otherwise, say by -N f.part.0, keep their own. To be called before anything is read.
 */
void compare_join(const struct compare_side *side);

/* Adds the shown functions, or paths of calls. */
void compare_read_functions(const struct compare_side *side);
void compare_read_paths(const struct compare_side *side);

/* Paths have at most so many functions. Deeper calls are below the row of this name, each function
 * once: else the output of a recursion grows with the square of its depth. */
enum { COMPARE_MOST_DEEP = 512 };
#define COMPARE_DEEPER "[deeper than 512 calls]"
