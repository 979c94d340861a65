/*
 * The inside of a trace_reader, shared by the files that make it up:
 *   scan.c    header, index or walk: which blocks there are
 *   load.c    metadata blocks to the reader's tables
 *   unpack.c  one block's payload
 *   reader.c  opening, and the accessors
 *   cursor.c, merge.c
 */
#pragma once

#include <pthread.h>

#include "base/mem.h"
#include "trace/block.h"
#include "trace/format.h"
#include "trace/reader.h"

struct unpacker; /* a decompression context and its buffer */

/* Contexts that cursors, perhaps in several threads, borrow while they read one block. */
struct unpack_pool {
    pthread_mutex_t lock;
    ARRAY(struct unpacker *) idle;
};

typedef ARRAY(struct trace_function) function_table;

struct trace_reader {
    int fd;
    char *path;
    uint64_t size; /* of the file when it was opened; what grows later is not seen */
    struct unpack_pool pool;

    ARRAY(struct disk_index_entry) blocks; /* in file order; then events only, by stream */
    size_t *stream_first;                  /* [stream]: index into blocks; one more at the end */

    struct trace_session session;
    struct trace_end end;
    ARRAY(struct trace_clock) clocks;
    ARRAY(struct trace_process) processes;
    ARRAY(struct trace_thread) threads; /* by stream */
    ARRAY(struct trace_extent) extents; /* by stream; of those beyond nothing is known */
    ARRAY(struct trace_module) modules;
    ARRAY(function_table) tables; /* of the modules */
    ARRAY(uint32_t) by_id;        /* modules with functions, in order of their ids */
    ARRAY(struct trace_map) maps;
    ARRAY(struct trace_frames) frames;  /* by stream, then time; each frames[] is ours */
    ARRAY(struct trace_change) changes; /* by time */
    ARRAY(struct trace_place) places;
    ARRAY(struct trace_chain) chains; /* the first CHAIN_FIRST mean nothing */
    ARRAY(uint8_t *) payloads;        /* that the texts above point into */
    uint64_t payload_bytes;
    uint64_t missing; /* functions, places and chains that damaged blocks tell of */

    bool has_session, has_end;
    bool indexed; /* the blocks were found through the index */
    uint64_t damaged_blocks, skipped_bytes;
    bool cut; /* the file ends inside a block */
    char *warning;

    struct trace_counts counts;
    uint64_t first_ticks, last_ticks;
    uint64_t scale; /* ns per tick, times 2^SCALE_BITS */
};

enum { SCALE_BITS = 40 };

/* Reads at OFFSET; returns how many bytes there were, fewer than COUNT at the end or on error. */
size_t file_read(int fd, void *to, size_t count, uint64_t offset);
/* Every block needs a head: no file holds more streams, or anything, than this. */
static inline uint64_t file_most_blocks(const struct trace_reader *r) {
    return r->size / sizeof(struct disk_block);
}

/* Fills r->blocks. Errors as trace_reader_open(). */
int scan_file(struct trace_reader *r, struct err *err);
/* Fills the tables from the metadata among r->blocks; what is damaged is counted. */
void load_metadata(struct trace_reader *r);

/* The payload of the block ENTRY into *BUFFER, followed by DECODE_PADDING zeros.
 * False: damaged. */
bool unpack(struct trace_reader *r, const struct disk_index_entry *entry, struct bytes *buffer);
void unpack_pool_init(struct unpack_pool *pool);
void unpack_pool_done(struct unpack_pool *pool);
