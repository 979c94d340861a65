/* The rows of a report. Private to its files. */
#pragma once

#include <stdio.h>

#include "analyze/mark_counts.h"
#include "analyze/stats.h"
#include "cmd/figures.h"
#include "cmd/labels.h"
#include "cmd/open_view.h"
#include "cmd/term.h"

enum { REPORT_NUMBERS = REPORT_SHARE + 1 }; /* the first columns are numbers, later ones texts */

struct row {
    uint32_t function, module;
    uint32_t chain;                   /* of callers; CHAIN_NONE without --stack. With --group:
                                         number of the value (value_groups.h) */
    uint32_t stream;                  /* 0 without --by-thread */
    uint32_t process;                 /* PROCESS_NONE if rows are not of single processes */
    uint64_t module_self;             /* of all rows of the thread and module; 0 without
                                         --by-module */
    uint64_t numbers[REPORT_NUMBERS]; /* by column; times in ns; REPORT_SHARE: as REPORT_SELF */
    uint64_t paused_ns;               /* of pauses in the periods that REPORT_TOTAL sums up */
    struct figure_marks marks;
};

struct report_table {
    const struct report_options *options;
    bool spreads;  /* averages and deviations are wanted */
    bool numbered; /* JSON has functions' numbers */
    struct view *view;
    struct term term;
    struct labels *labels;
    char **fitted; /* by row: names in the last column; NULL: there is another way */
    ARRAY(struct row) rows;
    uint64_t calls, self;         /* of all rows, and of what is hidden */
    struct figure_marks marks;    /* likewise */
    uint8_t *called;              /* by function: 1 if it was called */
    uint32_t functions;           /* number of functions that have rows, or are hidden */
    uint32_t threads;             /* number of threads with such calls */
    uint32_t hidden;              /* number of those that --hide leaves out */
    uint32_t partly;              /* number of those of which calls may be missing */
    uint64_t *mark_counts;        /* by function: of marks (mark_counts.h); NULL: there are none */
    struct caller_groups *groups; /* with --stack or --group, else NULL */
    struct value_groups *values;  /* with --group, else NULL; read by the caller */
    struct places *places;        /* with --stack, else NULL */
};

/* Whether a column is shown, or sorted by. */
bool report_wants(const struct report_options *o, enum report_column column);
/* True if each process has its own rows. */
bool report_has_processes(const struct report_options *o);

/* Reads the trace, and sorts the rows. */
void report_read(struct report_table *r);
/* The same with STATS of all threads that are shown. */
void report_take(struct report_table *r, const struct stats *stats);
void report_done(struct report_table *r);

/* The row after the last one of the group that begins at FIRST. */
size_t report_group_end(const struct report_table *r, size_t first);
/* The row after the last one that is shown of the group from FIRST to END. */
size_t report_shown_end(const struct report_table *r, size_t first, size_t end);

/* Prints the rows as an array of objects. */
void report_print_json(FILE *out, const struct report_table *r);
/* Prints what `spoor report --json` does, of STATS that were read elsewhere, with spreads. NUMBERED
 * rows have their functions' numbers, too, as names may be the same; and no row is a mark's. */
void report_json(FILE *out, struct view *view, const struct stats *stats, bool numbered);

/* Remarks about the rows, and then the totals: the last lines of a report. */
void report_print_end(const struct report_table *r);

/* --slowest: a row for each of the slowest calls, then the totals. */
struct slowest;
struct slowest *report_slowest_read(struct report_table *r);
/* Frees S. */
void report_slowest_print(struct slowest *s, bool json);
