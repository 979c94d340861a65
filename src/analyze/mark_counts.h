/* How often marks (USDT probes) occur in what a view shows. */
#pragma once

#include "analyze/walk.h"

/* By function, as in names.h; to be freed. NULL: the trace has no marks. */
uint64_t *mark_counts_read(const struct source *source);
