/* What all views share: the trace, its names, what of it is shown. */
#ifndef SPOOR_CMD_VIEW_H
#define SPOOR_CMD_VIEW_H

#include "analyze/names.h"
#include "analyze/shown.h"
#include "cmd/options.h"
#include "trace/reader.h"

struct view {
    const char *path;
    struct trace_reader *reader;
    struct names *names;
    struct shown *shown;
};

/* Opens the trace that the operands name (none: ./spoor.trace) and warns on standard error when it
 * is incomplete or damaged. Errors: those of trace_reader_open() and shown_new(). */
int view_open(const struct options *options, int argc, char **argv, struct view *ret,
              struct err *err);
void view_close(struct view *view);

/* One line about lost events for a view's end, or NULL when none were lost and the trace is
 * complete. Lives until the next call. */
const char *view_losses(const struct view *view);

#endif
