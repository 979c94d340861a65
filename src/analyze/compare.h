/*
 * Compares the functions, or the paths of calls, of two *sides*: two traces, or two ranges of one.
 * Side 0 is the old one, side 1 the new one. It never prints.
 *
 * Functions are the same if their names are and the file names of their modules, without what a new
 * build changes (stems.h). What is the same on one side is summed up.
 */
#pragma once

#include "analyze/histogram.h"
#include "base/types.h"

enum compare_number {
    COMPARE_CALLS,
    COMPARE_TOTAL, /* ns, as are all further ones */
    COMPARE_SELF,
    COMPARE_P50,
    COMPARE_P99,
    COMPARE_NUMBERS
};

/* The figures of a function or path on one side. */
struct compare_figures {
    bool is_there; /* it was called, or was open when its tracing began */
    uint64_t numbers[COMPARE_NUMBERS];
    uint64_t inferred, before, cut, open, clipped; /* calls, as in struct function_stats */
    uint64_t min_ns, max_ns;                       /* of measured calls, if there are any */
    struct histogram durations;                    /* of these; empty: NUMBERS has percentiles */
};
/* The calls whose whole length is known. */
static inline uint64_t compare_measured(const struct compare_figures *f) {
    return f->numbers[COMPARE_CALLS] - f->cut - f->open;
}

/* A row is a path from the outermost call inwards: a tree. A function by itself is a path of one.
 */
struct compare_row {
    uint32_t function; /* of its last call, by compare_function() */
    uint32_t parent;   /* the row of the callers; 0: none */
    uint32_t depth;    /* functions in the path */
    uint32_t open;     /* private to compare_read.c */
    struct compare_figures sides[2];
};

struct comparison;
/* PROGRAMS: file names of the two programs that are compared, which count as the same module; NULL:
 * modules are told apart by their own names. Borrowed. */
struct comparison *comparison_new(const char *const programs[2]);
void comparison_free(struct comparison *c);

/* The number of the function that side INDEX calls NAME, of MODULE. */
uint32_t compare_function(struct comparison *c, int index, const char *name, const char *module);
uint32_t compare_function_count(const struct comparison *c); /* numbers are below this */
/* Its name without suffixes, and its module as the new side names it, if that has it. */
const char *compare_name(const struct comparison *c, uint32_t function);
const char *compare_module(const struct comparison *c, uint32_t function);

/* The row of FUNCTION called by the row PARENT; 0: by itself. It is made if it is new: then rows
 * move. */
uint32_t compare_row_of(struct comparison *c, uint32_t parent, uint32_t function);
/* Adds FROM to side INDEX of a row. Percentiles without durations: the largest one counts. */
void compare_add(struct comparison *c, uint32_t row, int index, const struct compare_figures *from);

/* Rows have numbers from 1 up to below this. Some only stand for callers of others. */
uint32_t compare_count(const struct comparison *c);
struct compare_row *compare_row(const struct comparison *c, uint32_t row);

/* Computes percentiles. All has been added. */
void compare_finish(struct comparison *c);
/* The new number minus the old one. A side without the row counts as 0. */
int64_t compare_difference(const struct compare_row *row, enum compare_number by);
/* Whether a number differs, or a side has it alone. */
bool compare_differs(const struct compare_row *row);
/* The rows that are there on a side: the largest difference first, whatever its sign; then the
 * largest number, then by name. BY == COMPARE_NUMBERS: by name. To be freed. */
uint32_t *compare_order(const struct comparison *c, enum compare_number by, uint32_t *ret_count);
