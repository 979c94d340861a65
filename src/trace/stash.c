/* Chunks, which count their users, and a few spare ones. */
#include "trace/stash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

enum {
    CHUNK_BYTES = 2 * 1024 * 1024,
    SPARE = 64, /* chunks that are kept: what the sink gives back at a time */
    HEAD_BYTES = 64
};

struct stash_chunk {
    struct stash_chunk *next; /* spare ones */
    size_t size, used;        /* bytes, this head included */
    _Atomic unsigned users;
};

_Static_assert(sizeof(struct stash_chunk) <= HEAD_BYTES, "a chunk begins with it");

static struct {
    pthread_mutex_t lock;
    struct stash_chunk *first;
    unsigned count;
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct stash_chunk *take_spare(void) {
    pthread_mutex_lock(&spare.lock);
    struct stash_chunk *chunk = spare.first;
    if (chunk) {
        spare.first = chunk->next;
        spare.count--;
    }
    pthread_mutex_unlock(&spare.lock);
    return chunk;
}

static struct stash_chunk *chunk_new(size_t payload) {
    const size_t least = payload + HEAD_BYTES, size = least > CHUNK_BYTES ? least : CHUNK_BYTES;
    struct stash_chunk *chunk = size == CHUNK_BYTES ? take_spare() : NULL;
    if (!chunk)
        chunk = mem_map(size);
    chunk->size = size;
    chunk->used = HEAD_BYTES;
    atomic_store(&chunk->users, 1);
    return chunk;
}

static bool keep(struct stash_chunk *chunk) {
    pthread_mutex_lock(&spare.lock);
    bool kept = chunk->size == CHUNK_BYTES && spare.count < SPARE;
    if (kept) {
        chunk->next = spare.first;
        spare.first = chunk;
        spare.count++;
    }
    pthread_mutex_unlock(&spare.lock);
    return kept;
}

void stash_release(struct stash_chunk *chunk) {
    if (chunk && atomic_fetch_sub(&chunk->users, 1) == 1 && !keep(chunk))
        mem_unmap(chunk, chunk->size);
}

void stash_put(struct stash_chunk **current, struct block *block) {
    size_t raw = block_raw_bytes(block);
    if (!*current || (*current)->size - (*current)->used < raw) {
        stash_release(*current);
        *current = chunk_new(raw);
    }
    struct stash_chunk *chunk = *current;
    struct bytes parts[BLOCK_PARTS];
    for (int i = 0; i < BLOCK_PARTS; i++) {
        size_t count = block->parts[i].count;
        parts[i] = (struct bytes){(uint8_t *)chunk + chunk->used, count, count};
        if (count)
            memcpy(parts[i].at, block->parts[i].at, count);
        chunk->used += count;
    }
    block_drop_parts(block);
    memcpy(block->parts, parts, sizeof parts);
    block->chunk = chunk;
    atomic_fetch_add(&chunk->users, 1);
}
