/* Decides which blocks get digests (digest.h), and begins to make them. */
#pragma once

#include "analyze/digests.h"
#include "analyze/walk.h"

/* Of the blocks that walks of the stream groups FIRST … END − 1, in this order, will take. NULL: of
 * none, since the view hides calls, or no block is large and plain. All is borrowed. */
struct digests *digest_plan(const struct source *source, size_t first, size_t end,
                            const struct digest_ops *ops, void *ctx);
