/*
 * struct trace_reader, shared by the files that implement it:
 *   scan.c    header, index or walk: which blocks there are
 *   load.c    metadata blocks to the reader's tables
 *   unpack.c  one block's payload
 *   reader.c  opening, and the accessors
 *   cursor.c  one stream's items
 *   block_reader.c  one block's items
 *   merge.c   all streams' items by time
 *   seek.c    checkpoints and pauses
 */
#pragma once

#include <pthread.h>

#include "base/mem.h"
#include "trace/block.h"
#include "trace/format.h"
#include "trace/reader.h"
#include "types/types.h"
#include "values/capture.h"

struct unpacker; /* a decompression context and its buffer */

/* Idle contexts. A cursor, in any thread, borrows one while it reads a block. */
struct unpack_pool {
    pthread_mutex_t lock;
    ARRAY(struct unpacker *) idle;
};

typedef ARRAY(struct trace_function) function_table;

struct stream_pause {
    uint32_t stream;
    struct trace_pause pause;
};

struct read_capture {
    uint32_t number, id;
    struct capture capture; /* names are in the payload */
};

struct former_name {
    uint32_t stream;
    const char *name;
};

struct trace_reader {
    int fd;
    char *path;
    uint64_t size; /* of the file when it was opened; later growth is ignored */
    struct unpack_pool pool;

    ARRAY(struct disk_index_entry) blocks; /* in file order; later only events, by stream */
    size_t *stream_first;                  /* [stream]: index into blocks, and the end of all */
    ARRAY(struct disk_index_entry) checkpoints; /* their blocks, in file order */
    ARRAY(struct disk_index_entry) pause_blocks;
    ARRAY(struct disk_index_entry) value_blocks; /* by stream, then time */
    ARRAY(struct read_capture) captures;         /* by number (captures_reader.c) */
    struct types *types;                         /* of captures */
    /* Of blocks of values; NULL: nobody asks. */
    void (*on_damaged_values)(void *ctx, const struct err *err);
    void *damage_ctx;
    pthread_mutex_t pauses_lock;       /* guards the next three */
    bool has_pauses;                   /* they were read */
    ARRAY(struct stream_pause) pauses; /* by stream, then time */
    struct trace_pause *pause_list;    /* the same without streams */

    struct trace_session session;
    struct trace_end end;
    ARRAY(struct trace_clock) clocks;
    ARRAY(struct trace_process) processes;
    ARRAY(struct trace_thread) threads;     /* by stream */
    ARRAY(struct former_name) former_names; /* of threads that got others, in order of time */
    ARRAY(struct trace_extent) extents;     /* by stream; unknown for streams beyond the count */
    ARRAY(struct trace_module) modules;
    ARRAY(function_table) tables; /* of the modules */
    ARRAY(uint32_t) by_id;        /* modules with functions, in order of their ids */
    ARRAY(struct trace_map) maps;
    ARRAY(struct trace_frames) frames;  /* by stream, then time; the reader owns each frames[] */
    ARRAY(struct trace_change) changes; /* by time */
    ARRAY(struct trace_death) deaths;   /* the reader owns each frames[] */
    ARRAY(struct trace_place) places;
    ARRAY(struct trace_chain) chains; /* the first CHAIN_FIRST are unused */
    ARRAY(uint8_t *) payloads;        /* hold the strings of the tables above */
    uint64_t payload_bytes;
    uint64_t missing; /* functions, places and chains in damaged blocks */

    uint32_t part, first_part, missing_part; /* trace_reader_parts() */
    struct part_set *set; /* its parts, if it has several (part_set.h); or NULL */

    bool has_session, has_end;
    bool indexed; /* the blocks were found through the index */
    uint64_t damaged_blocks, skipped_bytes;
    char *warning;

    struct trace_counts counts;
    uint64_t last_ticks;
    struct trace_scale scale;
};

/* Reads at OFFSET and returns the number of bytes: fewer than COUNT at the file's end or on error.
 */
size_t file_read(int fd, void *to, size_t count, uint64_t offset);
/* An upper limit for the number of blocks, and so of streams: each block needs a head. */
static inline uint64_t file_blocks_max(const struct trace_reader *r) {
    return r->size / sizeof(struct disk_block);
}

/* Fills r->blocks. Errors: those of trace_reader_open(). */
int scan_file(struct trace_reader *r, struct err *err);
/* Fills the tables from the metadata among r->blocks. Counts damaged blocks. */
void load_metadata(struct trace_reader *r);

/* ---- captures_reader.c ---- */
/* Reads the record at F. False: malformed. */
struct fields;
bool captures_load(struct trace_reader *r, struct fields *f);
/* All are loaded: sorts them by number. */
void captures_sort(struct trace_reader *r);
/* NULL: there is none with NUMBER. */
const struct read_capture *captures_find(const struct trace_reader *r, uint32_t number);
void captures_done(struct trace_reader *r);
/* Moves blocks of values to r->value_blocks, by stream and time. */
void values_group(struct trace_reader *r);

/* Decompresses the payload of ENTRY into *BUFFER and appends DECODE_PADDING zeros. False: damaged.
 */
bool unpack(struct trace_reader *r, const struct disk_index_entry *entry, struct bytes *buffer);
void unpack_pool_init(struct unpack_pool *pool);
void unpack_pool_done(struct unpack_pool *pool);

/* Gives threads their last names. r->changes is sorted. */
void name_threads(struct trace_reader *r);
