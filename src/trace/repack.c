/* Writes the blocks of a trace anew. */
#include <string.h>

#include "trace/encode.h"
#include "trace/file.h"
#include "trace/sink.h"

/* Splits the payload of an event block into its columns. False: it does not consist of them. */
static bool split(struct block *block, const struct bytes *payload) {
    struct disk_events head;
    if (block->head.type != DISK_EVENTS || payload->count < sizeof head)
        return false;
    memcpy(&head, payload->at, sizeof head);
    uint64_t sizes[BLOCK_PARTS] = {sizeof head + (uint64_t)head.dictionary_bytes, head.code_bytes,
                                   head.time_bytes, head.extra_bytes};
    if (sizes[0] + sizes[1] + sizes[2] + sizes[3] != payload->count)
        return false;
    const uint8_t *at = payload->at;
    for (int i = 0; i < BLOCK_PARTS; at += sizes[i++])
        bytes_put(&block->parts[i], at, (size_t)sizes[i]);
    return true;
}

static struct block *load(struct trace_reader *r, const struct disk_index_entry *entry,
                          struct bytes *payload) {
    if (!unpack(r, entry, payload))
        return NULL;
    struct block *block = block_new((enum disk_type)entry->block.type);
    block->head = entry->block;
    if (!split(block, payload))
        bytes_put(&block->parts[0], payload->at, payload->count);
    return block;
}

/* A block that says that the events of a damaged one are missing. NULL: it had none. */
static struct block *gap(const struct disk_block *head) {
    if (head->type != DISK_EVENTS)
        return NULL;
    struct encoder *e = encoder_new(0, 0);
    encoder_lost(e, head->first, (uint64_t)head->entries + head->exits + head->lost);
    struct block *block = encoder_take(e, head->stream);
    encoder_free(e);
    return block;
}

/* Pushes all blocks but the index, which is made anew, and returns how many are damaged. Bytes that
 * a walk has skipped count as one block. Behind damage checkpoints would be wrong. */
static uint64_t push_all(struct trace_reader *blocks, struct sink *sink) {
    struct bytes payload = {0};
    uint64_t damaged = blocks->damaged_blocks + (blocks->skipped_bytes != 0);
    for (size_t i = 0; i < blocks->blocks.count && !sink_failed(sink); i++) {
        const struct disk_index_entry *entry = &blocks->blocks.at[i];
        struct block *block = NULL;
        if (entry->block.type == DISK_INDEX || (damaged && entry->block.type == DISK_CHECKPOINT))
            continue;
        block = load(blocks, entry, &payload);
        damaged += !block;
        if (!block)
            block = gap(&entry->block);
        if (block)
            sink_push(sink, block);
    }
    free(payload.at);
    return damaged;
}

int trace_repack(const struct trace_reader *r, const char *path, uint64_t *ret_damaged,
                 struct err *err) {
    /* R has sorted its blocks: here they are in the order of the file. */
    struct trace_reader blocks = {.fd = r->fd, .path = r->path, .size = r->size};
    struct sink *sink;
    unpack_pool_init(&blocks.pool);
    int rc = scan_file(&blocks, err);
    if (rc == 0)
        rc = sink_open(path, &sink, err);
    if (rc == 0) {
        sink_be_patient(sink);
        *ret_damaged = push_all(&blocks, sink);
        rc = sink_close(sink, true, err);
        sink_free(sink);
    }
    unpack_pool_done(&blocks.pool);
    ARRAY_FREE(&blocks.blocks);
    return rc;
}
