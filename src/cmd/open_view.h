/* The common part of all views: the trace, its names, the filter; damage and progress. */
#pragma once

#include "analyze/walk.h"
#include "cmd/options.h"
#include "cmd/term.h"

struct view {
    const char *path;
    struct term term;     /* export: how functions are named */
    const char *host;     /* export: of the machine that was recorded; NULL: not known */
    bool hides_values;    /* export without --values: recorded values stay out */
    struct source source; /* its ctx is the view, which must stay in place */
    bool grows;           /* it is still being written */
    bool is_damaged;      /* some events or values could not be read; the user knows */
    bool shows_progress;
    uint64_t items;       /* read so far */
    uint64_t noted_items; /* items at the last look at progress */
    uint64_t start_ns;    /* CLOCK_MONOTONIC */
};

/* Opens the trace that the first operand names; without one, ./spoor.trace. Warns on standard error
 * if the trace is incomplete or damaged. Errors: those of trace_reader_open() and
 * view_filter_new(). After an error view_close() may be called. */
int view_open(struct view *view, const struct options *options, int argc, char **argv,
              struct err *err);
/* The same for the trace at PATH, which is still being written if GROWS: nothing warns of that. */
int view_open_growing(struct view *view, const struct options *options, const char *path,
                      bool grows, struct err *err);
void view_close(struct view *view);

/* Removes the progress line. To be called before the first output to a terminal. */
void view_end_progress(struct view *view);

/* Whether the command must fail at its end: some events could not be read, or none is left of a
 * trace that is damaged or did not end. The user knows why. */
bool view_has_failed(const struct view *view);

/* One line about lost events for the end of a view. NULL: none were lost, and the trace is
 * complete. Lives until the next call. */
const char *view_losses(const struct view *view);
