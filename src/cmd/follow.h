/* Views of a recording that goes on: they are shown part by part, or again and again. */
#pragma once

#include "cmd/open_view.h"

/* A part of the recording. Its lines are those behind begin_ns, up to end_ns. */
struct follow_part {
    uint64_t begin_ns, end_ns;
    bool first, last;
};

/* Shows PART of VIEW. It may show less, and lower part->end_ns then. Returns an exit status. */
typedef int (*follow_fn)(void *ctx, struct view *view, struct follow_part *part);

/* Opens the trace that the first operand names, while it is being written (FILE.part), whenever
 * there is more of it, and calls SHOW. Ends when the recording has ended, or with the first status
 * that is not STATUS_OK. Returns that. */
int follow(const struct options *options, int argc, char **argv, follow_fn show, void *ctx);
