/* What all views share: the trace, its names, what of it is shown; damage and progress. */
#pragma once

#include "analyze/walk.h"
#include "cmd/options.h"

struct view {
    const char *path;
    struct source source; /* its ctx is the view, which must stay in place */
    bool is_damaged;      /* some events could not be read; an error has been said */
    bool shows_progress;
    uint64_t items, noted_items; /* read; when progress was looked at last */
    uint64_t start_ns;           /* CLOCK_MONOTONIC */
};

/* Opens the trace that the operands name (none: ./spoor.trace) and warns on standard error when it
 * is incomplete or damaged. Errors: those of trace_reader_open() and view_filter_new(); *VIEW is
 * then empty, and view_close() harmless. */
int view_open(struct view *view, const struct options *options, int argc, char **argv,
              struct err *err);
void view_close(struct view *view);

/* Removes the progress line. To be called before the first output to a terminal. */
void view_end_progress(struct view *view);

/* One line about lost events for a view's end, or NULL when none were lost and the trace is
 * complete. Lives until the next call. */
const char *view_losses(const struct view *view);
