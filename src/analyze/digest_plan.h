/* Decides which blocks get digests (digest.h), and begins to make them. */
#pragma once

#include "analyze/digests.h"
#include "analyze/walk.h"

/* False: the view hides calls, or the program's stacks grow in pieces. Then no block has a digest.
 */
bool digest_is_possible(const struct source *source);
/* Whether events on the stream's own stack are known as such. */
bool digest_has_plain_stack(const struct trace_reader *r, uint32_t stream);
/* Those blocks of a stream with a plain stack that can have a digest, as jobs of GROUP, at the end
 * of JOBS. LEAST_ITEMS: smaller blocks are left out. */
typedef ARRAY(struct digest_job) digest_job_list;
void digest_plan_stream(const struct source *source, size_t group, uint32_t stream,
                        uint32_t least_items, digest_job_list *jobs);

/* Of the blocks that walks of the stream groups FIRST … END − 1, in this order, will take. NULL: of
 * none, since the view hides calls, or no block is large and plain. All is borrowed. */
struct digests *digest_plan(const struct source *source, size_t first, size_t end,
                            const struct digest_ops *ops, void *ctx);
