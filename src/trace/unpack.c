/* Reads, checks and decompresses one block. Contexts come from a pool, for cursors in threads. */
#include <string.h>
#include <zstd.h>

#include "base/checksum.h"
#include "trace/decode.h"
#include "trace/file.h"
#include "trace/part_set.h"

struct unpacker {
    ZSTD_DCtx *zstd;
    struct bytes stored; /* the block's bytes in the file */
};

void unpack_pool_init(struct unpack_pool *pool) { pthread_mutex_init(&pool->lock, NULL); }

void unpack_pool_done(struct unpack_pool *pool) {
    for (size_t i = 0; i < pool->idle.count; i++) {
        ZSTD_freeDCtx(pool->idle.at[i]->zstd);
        free(pool->idle.at[i]->stored.at);
        free(pool->idle.at[i]);
    }
    ARRAY_FREE(&pool->idle);
    pthread_mutex_destroy(&pool->lock);
}

static struct unpacker *borrow(struct unpack_pool *pool) {
    struct unpacker *u = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->idle.count)
        u = pool->idle.at[--pool->idle.count];
    pthread_mutex_unlock(&pool->lock);
    if (!u) {
        u = mem_alloc(sizeof *u);
        u->zstd = ZSTD_createDCtx();
    }
    return u;
}

static void give_back(struct unpack_pool *pool, struct unpacker *u) {
    pthread_mutex_lock(&pool->lock);
    ARRAY_PUSH(&pool->idle, u);
    pthread_mutex_unlock(&pool->lock);
}

/* Reads head and payload. False: they do not match ENTRY. */
static bool read_stored(struct trace_reader *r, const struct disk_index_entry *entry,
                        struct unpacker *u) {
    size_t size = sizeof entry->block + entry->block.stored;
    u->stored.count = 0;
    bytes_reserve(&u->stored, size);
    struct part_set_place place = part_set_place(r, entry->offset);
    struct disk_block head = entry->block;
    head.stream = part_set_stream_in_file(r, entry);
    if (file_read(place.fd, u->stored.at, size, place.offset) != size ||
        memcmp(u->stored.at, &head, sizeof head))
        return false;
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    const uint8_t *payload = u->stored.at + sizeof entry->block;
    if (checksum(payload, entry->block.stored) != entry->block.payload_check)
        return false;
#endif
    return true;
}

static bool decompress(struct unpacker *u, const struct disk_block *head, uint8_t *to) {
    const uint8_t *payload = u->stored.at + sizeof *head;
    if (head->coding == DISK_PLAIN) {
        if (head->stored != head->raw)
            return false;
        memcpy(to, payload, head->raw);
        return true;
    }
    size_t n = u->zstd ? ZSTD_decompressDCtx(u->zstd, to, head->raw, payload, head->stored) : 0;
    return !ZSTD_isError(n) && n == head->raw;
}

bool unpack(struct trace_reader *r, const struct disk_index_entry *entry, struct bytes *buffer) {
    const struct disk_block *head = &entry->block;
    struct unpacker *u = borrow(&r->pool);
    bool ok = read_stored(r, entry, u);
    if (ok) {
        buffer->count = 0;
        uint8_t *to = bytes_reserve(buffer, (size_t)head->raw + DECODE_PADDING);
        ok = decompress(u, head, to);
        memset(to + head->raw, 0, DECODE_PADDING);
        buffer->count = head->raw;
    }
    give_back(&r->pool, u);
    return ok;
}
