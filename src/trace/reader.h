/*
 * Reads a trace file: complete, partial (after a crash) or still being written. Its bytes are
 * untrusted: no allocation is larger than the file justifies.
 */
#pragma once

#include "base/wide.h"
#include "trace/format.h"

struct trace_reader;

/* Errors (tags): "open", "empty-trace", "not-a-trace", "newer-format", "corrupt-trace",
 * "truncated-trace" (only if no part is usable). */
int trace_reader_open(const char *path, struct trace_reader **ret, struct err *err);
void trace_reader_free(struct trace_reader *r);

/* All results below live as long as the reader. */
const struct trace_session *trace_reader_session(const struct trace_reader *r);
bool trace_reader_complete(const struct trace_reader *r); /* false: crashed or still written */
/* If incomplete or damaged: one sentence for the user. Else NULL. */
const char *trace_reader_warning(const struct trace_reader *r);
const struct trace_end *trace_reader_end(const struct trace_reader *r); /* NULL if absent */
/* Which parts of a recording (format.h) these are: a file that is named as the whole recording is
 * read with the parts before it that follow one another. 0, 0: it is not cut into parts. */
struct trace_part_range {
    uint32_t first, last;
    bool newest; /* LAST is the recording's newest, or newest so far */
};
struct trace_part_range trace_reader_parts(const struct trace_reader *r);
uint64_t trace_reader_file_bytes(const struct trace_reader *r);
size_t trace_reader_process_count(const struct trace_reader *r);
const struct trace_process *trace_reader_process(const struct trace_reader *r, size_t i);
size_t trace_reader_stream_count(const struct trace_reader *r);
const struct trace_thread *trace_reader_thread(const struct trace_reader *r, size_t stream);
/* Name I of those that the thread had, in order of time; the last one is trace_thread.name. NULL:
 * there are not so many. */
const char *trace_reader_thread_name(const struct trace_reader *r, size_t stream, size_t i);
/* The ticks of the stream's first item, or of the calls that it begins with (trace_thread.maker);
 * UINT64_MAX: it has no items. */
uint64_t trace_reader_first_ticks(const struct trace_reader *r, size_t stream);
/* NULL: not known. */
const struct trace_extent *trace_reader_extent(const struct trace_reader *r, size_t stream);
/* Whether the stream's events may be on other stacks than the thread's own. */
bool trace_reader_uses_other_stacks(const struct trace_reader *r, size_t stream);
/* Whether the stream has stack events (enum stack_event). Then such stacks may lie inside the range
 * that was estimated for a thread's own stack. */
bool trace_reader_has_stack_events(const struct trace_reader *r, size_t stream);
/* Whether control may have been on other stacks inside the thread's own
 * (trace_extent.inner_stacks).
 */
bool trace_reader_has_inner_stacks(const struct trace_reader *r, size_t stream);
size_t trace_reader_module_count(const struct trace_reader *r);
const struct trace_module *trace_reader_module(const struct trace_reader *r, size_t i);
/* Gives function I of that module NAME, which is copied. */
void trace_reader_name_function(struct trace_reader *r, size_t module, uint32_t i,
                                const char *name);
/* Where modules were mapped, in order of time. */
size_t trace_reader_map_count(const struct trace_reader *r);
const struct trace_map *trace_reader_map(const struct trace_reader *r, size_t i);
/* The open calls of a stream at certain times, in order of time. Cursors return them as items. */
const struct trace_frames *trace_reader_frames(const struct trace_reader *r, uint32_t stream,
                                               size_t *ret_count);
/* Changes of what was recorded, in order of time. */
size_t trace_reader_change_count(const struct trace_reader *r);
const struct trace_change *trace_reader_change(const struct trace_reader *r, size_t i);
/* Processes that signals have ended, in the order of their ends. */
size_t trace_reader_death_count(const struct trace_reader *r);
const struct trace_death *trace_reader_death(const struct trace_reader *r, size_t i);
/* A chain of callers. False: NUMBER is an end (enum chain_end), or unknown (treat as CHAIN_LOST).
 */
bool trace_reader_chain(const struct trace_reader *r, uint32_t number, struct trace_chain *ret);
uint32_t trace_reader_chain_count(const struct trace_reader *r); /* above all numbers */
uint32_t trace_reader_place_count(const struct trace_reader *r);
const struct trace_place *trace_reader_place(const struct trace_reader *r, uint32_t i);
/* The module and function of an event id (site >> 2). False: no module has it. */
bool trace_reader_function(const struct trace_reader *r, uint32_t id,
                           const struct trace_module **ret_module,
                           const struct trace_function **ret_function);
struct trace_counts {
    uint64_t entries, exits, lost;
    uint64_t unpacked_blocks, unpacked_bytes; /* that nobody had the time to compress */
};
struct trace_counts trace_reader_counts(const struct trace_reader *r); /* from block headers */

/* Writes all blocks of R anew to PATH, compressed, with an index. *RET_DAMAGED: how many could not
 * be read; their events become lost ones. Errors: those of trace_writer_open() and
 * trace_writer_finish(). */
int trace_repack(const struct trace_reader *r, const char *path, uint64_t *ret_damaged,
                 struct err *err);

/* Ticks to nanoseconds since the trace's first tick (never negative). */
struct trace_scale {
    uint64_t first; /* ticks */
    uint64_t scale; /* ns per tick, times 2^SCALE_BITS */
};
enum { SCALE_BITS = 40 };
struct trace_scale trace_reader_scale(const struct trace_reader *r);
static inline uint64_t trace_scale_ns(const struct trace_scale *s, uint64_t ticks) {
    uint64_t passed = ticks <= s->first ? 0 : ticks - s->first;
    return wide_shift_right(wide_product(passed, s->scale), SCALE_BITS);
}
uint64_t trace_reader_ns(const struct trace_reader *r, uint64_t ticks);
/* The inverse: the first tick at which trace_reader_ns() is at least NS, or UINT64_MAX. */
uint64_t trace_reader_ticks(const struct trace_reader *r, uint64_t ns);
/* Up to these ticks the file has all events, while it is being written. UINT64_MAX: it is complete.
 */
uint64_t trace_reader_settled(const struct trace_reader *r);
uint64_t trace_reader_duration_ns(const struct trace_reader *r);

/* Reads one stream forward. Several cursors may be open, also in different threads. Each needs the
 * memory of one block. The reader must outlive them. Error of trace_cursor_open(): "no-stream". */
struct trace_cursor;
enum trace_item_kind {
    TRACE_EVENT,
    TRACE_LOST,
    TRACE_THREAD_END,
    TRACE_FRAMES /* before the first other item whose ticks are not smaller */
};
struct trace_item {
    enum trace_item_kind kind;
    uint32_t stream;
    uint64_t ticks;
    uint32_t id;           /* function; events only */
    enum event_kind event; /* events only */
    uint64_t sp;           /* events only; 48 bits */
    union {
        uint64_t lost;                     /* TRACE_LOST only */
        const struct trace_frames *frames; /* TRACE_FRAMES only; the reader's */
        uint32_t number;                   /* events only: of its id in trace_block_ids() */
    };
};
int trace_cursor_open(struct trace_reader *r, uint32_t stream, struct trace_cursor **ret,
                      struct err *err);
/* 1: *ret is filled; 0: the end; < 0: error "corrupt-block". After the error call again: a
 * TRACE_LOST item follows for the block's unread events. */
int trace_cursor_next(struct trace_cursor *c, struct trace_item *ret, struct err *err);
/* The same for many items, for speed: > 0 is their number. *ret_items is valid until the next call.
 */
ptrdiff_t trace_cursor_batch(struct trace_cursor *c, const struct trace_item **ret_items,
                             struct err *err);
/* For readers of batches: the block whose items come next, if the cursor stands at its beginning
 * and no TRACE_FRAMES comes before its end; else NO_BLOCK. */
#define NO_BLOCK SIZE_MAX
size_t trace_cursor_block(const struct trace_cursor *c);
/* The block whose items come next; NO_BLOCK: the cursor stands inside a block. Behind the stream's
 * last block: trace_reader_end_block(). */
size_t trace_cursor_next_block(const struct trace_cursor *c);
/* Leaves out the block of trace_cursor_block(), which was read otherwise, except for its last
 * DAMAGED items: these cannot be read, and the next batch tells so. */
void trace_cursor_skip_block(struct trace_cursor *c, uint32_t damaged);
/* The block of which an error has told, if its loss is the next item, of *RET_LOST events; else
 * NO_BLOCK. */
size_t trace_cursor_damaged_block(const struct trace_cursor *c, uint32_t *ret_lost);
/* Goes on with BLOCK of the same stream, which is not its first one. */
void trace_cursor_seek(struct trace_cursor *c, size_t block);
void trace_cursor_free(struct trace_cursor *c);

/* Blocks have numbers; a stream's are consecutive. */
struct trace_block_facts {
    uint64_t first, last; /* ticks */
    uint32_t items, entries, exits;
};
size_t trace_reader_first_block(const struct trace_reader *r, size_t stream);
/* Behind the stream's last block. */
size_t trace_reader_end_block(const struct trace_reader *r, size_t stream);
struct trace_block_facts trace_reader_block(const struct trace_reader *r, size_t block);

/* Reads single blocks, in any order. Several may exist, also in different threads. */
struct trace_block;
struct trace_block *trace_block_new(struct trace_reader *r);
/* False: it is damaged. */
bool trace_block_open(struct trace_block *b, size_t block);
/* The ids in the open block, by trace_item.number. */
const uint32_t *trace_block_ids(const struct trace_block *b, size_t *ret_count);
/* The number of further items, up to 512. 0: the end, or the rest is damaged. */
size_t trace_block_batch(struct trace_block *b, const struct trace_item **ret_items);
/* The number of items of the open block that were not read so far. */
uint32_t trace_block_left(const struct trace_block *b);
void trace_block_free(struct trace_block *b);

/*
 * Checkpoints: what was open where a block begins, so that reading can begin there. Some blocks
 * have none, and streams have none at all
 *   - whose calls may be on other stacks than the thread's own, or on stacks inside that,
 *   - that begin with calls of their makers (trace_thread.maker),
 *   - behind a gap,
 *   - of a trace that did not end, or that an earlier version has written.
 */
struct trace_open_call {
    uint64_t sp, start;   /* ticks */
    uint64_t child_ticks; /* of callees that have ended, without pauses */
    uint32_t id, chain;
    bool before; /* it was not traced when it began: it was found open at `start` */
};
struct trace_checkpoint {
    size_t block;
    uint32_t count;
    const struct trace_open_call
        *calls; /* the outermost first; all are on the thread's own stack */
};
/* Whether the stream may have checkpoints. */
bool trace_reader_has_checkpoints(const struct trace_reader *r, size_t stream);
/* Finds checkpoints, and keeps what it has read last. For one thread; several may exist. */
struct trace_seeker;
struct trace_seeker *trace_seeker_new(struct trace_reader *r);
/* The checkpoint of BLOCK of STREAM. False: there is none. The calls are valid until the next call
 * of a function with S. A stream's first block has one without calls. */
bool trace_seeker_at(struct trace_seeker *s, uint32_t stream, size_t block,
                     struct trace_checkpoint *ret);
/* The last checkpoint of a block that begins at TICKS or earlier, as far as a search finds it: the
 * block that reading may begin with, to see all from TICKS on. False: the stream has no blocks, or
 * all begin later. */
bool trace_seeker_before(struct trace_seeker *s, uint32_t stream, uint64_t ticks,
                         struct trace_checkpoint *ret);
/* The last of the blocks FROM … END − 1 of STREAM that has a checkpoint in which CALL, which is at
 * DEPTH (0: outermost), is open. False: none has. */
struct open_call_key {
    uint32_t depth, id;
    uint64_t sp, start_ns;
};
bool trace_seeker_last_open(struct trace_seeker *s, uint32_t stream, size_t from,
                            const struct open_call_key *call, struct trace_checkpoint *ret);
void trace_seeker_free(struct trace_seeker *s);
/* The pauses of the stream that are subtracted, in order of time: those up to its last checkpoint,
 * at least. The list lives as long as R. */
const struct trace_pause *trace_reader_pauses(struct trace_reader *r, uint32_t stream,
                                              size_t *ret_count);

/* All streams merged by time (ties by stream). Memory: one block per stream. */
struct trace_merge;
int trace_merge_open(struct trace_reader *r, struct trace_merge **ret, struct err *err);
int trace_merge_next(struct trace_merge *m, struct trace_item *ret, struct err *err);
void trace_merge_free(struct trace_merge *m);
