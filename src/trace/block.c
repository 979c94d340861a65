/* Blocks, and the growing byte buffers of their parts. */
#include "trace/block.h"

#include <string.h>

#include "base/mem.h"
#include "trace/buffers.h"
#include "trace/stash.h"
#include "trace/varint.h"

struct block *block_new(enum disk_type type) {
    struct block *block = mem_alloc(sizeof *block);
    block->head.magic = DISK_BLOCK_MAGIC;
    block->head.type = (uint16_t)type;
    return block;
}

struct block *block_copy(const struct block *block) {
    struct block *copy = block_new((enum disk_type)block->head.type);
    copy->head = block->head;
    for (int i = 0; i < BLOCK_PARTS; i++)
        bytes_put(&copy->parts[i], block->parts[i].at, block->parts[i].count);
    return copy;
}

void block_free(struct block *block) {
    if (!block)
        return;
    block_drop_parts(block);
    free(block->packed.at);
    free(block);
}

void block_drop_parts(struct block *block) {
    for (int i = 0; i < BLOCK_PARTS; i++) {
        if (!block->chunk)
            buffer_put(block->parts[i].at, block->parts[i].room);
        block->parts[i] = (struct bytes){0};
    }
    stash_release(block->chunk);
    block->chunk = NULL;
}

size_t block_raw_bytes(const struct block *block) {
    size_t sum = 0;
    for (int i = 0; i < BLOCK_PARTS; i++)
        sum += block->parts[i].count;
    return sum;
}

size_t block_held_bytes(const struct block *block) {
    size_t sum = block->packed.room;
    for (int i = 0; i < BLOCK_PARTS; i++)
        sum += block->parts[i].room;
    return sum;
}

static void grow(struct bytes *b, size_t room) {
    if (room < BUFFER_LEAST) {
        b->at = mem_resize(b->at, room, 1);
        b->room = room;
        return;
    }
    struct bytes old = *b;
    b->at = buffer_get(room, &b->room);
    if (old.count)
        memcpy(b->at, old.at, old.count);
    buffer_put(old.at, old.room);
}

uint8_t *bytes_reserve(struct bytes *b, size_t count) {
    if (b->room - b->count < count)
        grow(b, b->room * 2 > b->count + count ? b->room * 2 : b->count + count);
    return b->at + b->count;
}

void bytes_put(struct bytes *b, const void *from, size_t count) {
    if (!count)
        return;
    memcpy(bytes_reserve(b, count), from, count);
    b->count += count;
}

void bytes_put_varint(struct bytes *b, uint64_t value) {
    uint8_t *p = bytes_reserve(b, VARINT_MAX_BYTES);
    b->count += (size_t)(varint_put(p, value) - p);
}

void bytes_put_string(struct bytes *b, const char *text) {
    if (!text) {
        bytes_put_varint(b, 0);
        return;
    }
    size_t length = strnlen(text, DISK_STRING_MAX);
    bytes_put_varint(b, length + 1);
    bytes_put(b, text, length);
    bytes_put(b, "", 1);
}
