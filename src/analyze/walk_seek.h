/* Lets a walk leave out blocks by checkpoints (trace/reader.h): those before the span, and behind
 * it those in which the shown open calls go on. */
#pragma once

#include "analyze/walk_state.h"

/* Begins at the last checkpoint before TICKS, if that is possible. No item was read so far. */
void walk_seek_begin(struct walk *w, uint64_t ticks);
/* Behind the span: goes on with the block in which the innermost shown call ends. */
void walk_seek_end(struct walk *w);
