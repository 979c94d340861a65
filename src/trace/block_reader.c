/* The items of one block, in whatever order blocks are asked for. */
#include "trace/decode.h"
#include "trace/file.h"

enum { BATCH = 512 }; /* few enough to stay in the nearest cache until they are used */

struct trace_block {
    struct trace_reader *reader;
    struct bytes payload;
    struct decoder decoder;
    struct trace_item items[BATCH];
};

struct trace_block *trace_block_new(struct trace_reader *r) {
    struct trace_block *b = mem_alloc(sizeof *b);
    b->reader = r;
    return b;
}

bool trace_block_open(struct trace_block *b, size_t block) {
    const struct disk_index_entry *e = &b->reader->blocks.at[block];
    return unpack(b->reader, e, &b->payload) && decode_begin(&b->decoder, &e->block, b->payload.at);
}

const uint32_t *trace_block_ids(const struct trace_block *b, size_t *ret_count) {
    *ret_count = (size_t)b->decoder.functions + 1;
    return b->decoder.id;
}

size_t trace_block_batch(struct trace_block *b, const struct trace_item **ret_items) {
    *ret_items = b->items;
    return decode_items(&b->decoder, b->items, BATCH);
}

uint32_t trace_block_left(const struct trace_block *b) { return b->decoder.items_left; }

void trace_block_free(struct trace_block *b) {
    if (!b)
        return;
    decode_done(&b->decoder);
    free(b->payload.at);
    free(b);
}
