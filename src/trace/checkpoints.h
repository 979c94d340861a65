/*
 * Collects checkpoints and pauses for blocks of the trace (doc/trace-format.md): what is open where
 * an event block begins. A block of checkpoints stands behind the event blocks that it is about. A
 * checkpoint is left out if the stream's would take more than a small part of its events' bytes.
 * May be used by several threads.
 */
#pragma once

#include "trace/open_calls.h"

struct checkpoints;
struct checkpoints *checkpoints_new(void);
void checkpoints_free(struct checkpoints *c);
/* STREAM's next block begins at TICKS, and O is open there. Returns a block to push behind it, or
 * NULL. */
struct block *checkpoints_add(struct checkpoints *c, uint32_t stream, uint64_t ticks,
                              struct open_calls *o);
/* Takes o->news. Returns a block to push, or NULL. */
struct block *checkpoints_add_pauses(struct checkpoints *c, uint32_t stream, struct open_calls *o);
/* What was collected since the last blocks; NULL: nothing. */
struct block *checkpoints_take(struct checkpoints *c);
struct block *checkpoints_take_pauses(struct checkpoints *c);
