/*
 * Makes the digests (digest.h) of a trace's blocks, in threads, ahead of the walk that takes them.
 * The order in which they are taken, and so all results, do not depend on the number of threads.
 */
#pragma once

#include "analyze/digest_loop.h"

/* Of READER; NAMES are borrowed. */
void digest_reader_init(struct digest_reader *r, struct trace_reader *reader,
                        const struct names *names);
void digest_reader_done(struct digest_reader *r);
/* Opens BLOCK of STREAM for digest_read() and empties *TO. False: it is damaged, and *TO is whole.
 */
bool digest_reader_open(struct digest_reader *r, struct trace_reader *reader, size_t block,
                        uint32_t stream, struct digest *to);
void digest_done(struct digest *d);

/* What a visitor sums up. A *part* is the state of one thread, for one stream group at a time. */
struct digest_ops {
    void *(*part_new)(void *ctx);
    void (*part_free)(void *part);
    /* R and *TO as digest_read() wants them. */
    void (*read)(void *part, struct digest_reader *r, struct digest *to);
    /* Adds what digests do not have, and empties PART. NULL: parts have nothing else, and serve all
     * groups. */
    void (*merge)(void *ctx, void *part);
};

struct digest_job { /* a block that has a digest */
    size_t block;
    uint32_t stream;
    size_t group; /* of the stream */
};

struct digest_work {
    struct trace_reader *reader;
    const struct names *names;
    unsigned workers;        /* threads; 0: one for each processor */
    unsigned ahead;          /* digests for each worker that may wait for the walk; 0: a few */
    bool in_whole;           /* digest_reader.in_whole */
    struct digest_job *jobs; /* in the order in which walks take blocks, not none; freed by
                                digests_free() */
    size_t job_count;
    const struct digest_ops *ops;
    void *ctx; /* for ops */
};

struct digests;
struct digests *digests_new(const struct digest_work *work);
void digests_free(struct digests *d);
/* The digest of BLOCK; NULL: it has none. Blocks must be asked for in order. The result is valid
 * until the next call. D may be NULL. */
const struct digest *digests_take(struct digests *d, size_t block);
/* STREAM has stacks inside its own stack after all: its digests are wrong, and are dropped. No one
 * was taken so far. */
void digests_refuse(struct digests *d, uint32_t stream);
/* The walk of the present group has ended: merges its parts, unless it was stopped. D may be NULL.
 */
void digests_end_group(struct digests *d);
