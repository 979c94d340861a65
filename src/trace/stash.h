/*
 * Memory for blocks that wait long. Their payloads are copied next to each other into chunks. So
 * the buffers of the columns, which are half empty, are free for the next block. The first touch of
 * a page costs more than its use, by far on virtual machines: so chunks are kept. They are no huge
 * pages. The first touch of a huge page takes 2 to 4 ms there, in which threads fill their rings.
 */
#pragma once

#include "trace/block.h"

/* A chunk is freed with its last block. Blocks come and go in about the same order. */
struct stash_chunk;

/* Moves the payload of BLOCK into *CURRENT, or into a new chunk that takes its place. NULL: there
 * is none yet. One thread at a time for each CURRENT. */
void stash_put(struct stash_chunk **current, struct block *block);
/* Releases a use of CHUNK: that of a block in it, or that as the current one. NULL is allowed. Any
 * thread. */
void stash_release(struct stash_chunk *chunk);
