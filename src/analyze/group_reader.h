/* Reads the items of a stream group (stream_groups.h) in order of time, as runs of one stream. */
#pragma once

#include "analyze/names.h"
#include "analyze/stream_groups.h"
#include "trace/calls.h"

struct group_reader;
struct item_run {
    uint32_t thread; /* the stream's index in the group */
    uint32_t stream;
    const struct trace_item *items; /* valid until the next call */
    size_t count;
    bool ended; /* the stream has no more items; then count is 0 */
};

/* Reads no block yet. READER must outlive the result. */
struct group_reader *group_reader_new(struct trace_reader *reader, struct stream_group group);
void group_reader_free(struct group_reader *r);
/* 1: *RET is filled; 0: all streams have ended; < 0: an error as of trace_cursor_batch(). After it
 * call again: a TRACE_LOST item follows. */
int group_reader_next(struct group_reader *r, struct item_run *ret, struct err *err);
/* For groups of one stream: see trace_cursor_block(), trace_cursor_next_block() and
 * trace_cursor_damaged_block(). */
size_t group_reader_block(struct group_reader *r);
size_t group_reader_next_block(struct group_reader *r);
size_t group_reader_damaged_block(struct group_reader *r, uint32_t *ret_lost);
/* Goes on with BLOCK, whichever was next. */
void group_reader_seek(struct group_reader *r, size_t block);
void group_reader_skip_block(struct group_reader *r, uint32_t damaged);

/* The calls of the group's threads, which have their indices in the group as numbers. */
struct calls *group_calls_new(const struct trace_reader *reader, const struct names *names,
                              struct stream_group group, const struct calls_ops *ops, void *ctx);
