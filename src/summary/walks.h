/* Queries that read the range. */
#pragma once

#include "summary/session.h"

int walks_functions(struct session *s, struct stats **ret);
int walks_graph(struct session *s, uint32_t most_paths, struct tree *ret);
/* Calls EACH for every call of the range, in the order of their ends in each stream group; then
 * STREAM_END. */
int walks_calls(struct session *s, void (*each)(void *ctx, const struct walk_call *call),
                void *ctx);
