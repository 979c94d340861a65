#include <errno.h>

#include "trace/decode.h"
#include "trace/file.h"

enum { BATCH = 512 };

struct trace_cursor {
    struct trace_reader *reader;
    size_t block, end; /* indices into reader->blocks: the next one, and where the stream ends */
    struct bytes payload;
    struct decoder decoder;
    struct trace_item *items;
    size_t count, next; /* of items; what trace_cursor_next() gives out */
    bool report_loss;   /* the next item stands for what a damaged block held */
};

int trace_cursor_open(struct trace_reader *r, uint32_t stream, struct trace_cursor **ret,
                      struct err *err) {
    if (stream >= r->threads.count)
        return err_set(err, EINVAL, "no-stream", "%s: has no stream %u", r->path, stream);
    struct trace_cursor *c = mem_alloc(sizeof *c);
    c->reader = r;
    c->block = r->stream_first[stream];
    c->end = r->stream_first[stream + 1];
    *ret = c;
    return 0;
}

static int damaged(struct trace_cursor *c, struct err *err) {
    const struct disk_index_entry *e = &c->reader->blocks.at[c->block - 1];
    c->report_loss = true;
    return err_set(err, EILSEQ, "corrupt-block",
                   "%s: is damaged at byte %llu: up to %u events are left out", c->reader->path,
                   (unsigned long long)e->offset, e->block.items);
}

/* The events of the damaged block that were not given out. */
static size_t loss(struct trace_cursor *c) {
    const struct disk_block *head = &c->reader->blocks.at[c->block - 1].block;
    c->report_loss = false;
    c->items[0] = (struct trace_item){
        .kind = TRACE_LOST, .stream = head->stream, .ticks = head->last, .lost = c->decoder.left};
    c->decoder.left = 0;
    return 1;
}

static int next_block(struct trace_cursor *c, struct err *err) {
    const struct disk_index_entry *e = &c->reader->blocks.at[c->block++];
    c->decoder.left = 0;
    if (!c->items)
        c->items = mem_resize(NULL, BATCH, sizeof *c->items);
    if (unpack(c->reader, e, &c->payload) && decode_begin(&c->decoder, &e->block, c->payload.at))
        return 0;
    c->decoder.left = e->block.items;
    return damaged(c, err);
}

/* 512 items at a time, so that what is decoded is used while it is in the nearest cache. */
ptrdiff_t trace_cursor_batch(struct trace_cursor *c, const struct trace_item **ret_items,
                             struct err *err) {
    c->count = c->next = 0;
    if (c->report_loss)
        c->count = loss(c);
    while (!c->count && !c->decoder.left) {
        if (c->block == c->end)
            return 0;
        int rc = next_block(c, err);
        if (rc)
            return rc;
    }
    if (!c->count)
        c->count = decode_items(&c->decoder, c->items, BATCH);
    if (!c->count)
        return damaged(c, err);
    *ret_items = c->items;
    return (ptrdiff_t)c->count;
}

int trace_cursor_next(struct trace_cursor *c, struct trace_item *ret, struct err *err) {
    if (c->next == c->count) {
        const struct trace_item *items;
        ptrdiff_t n = trace_cursor_batch(c, &items, err);
        if (n <= 0)
            return (int)n;
    }
    *ret = c->items[c->next++];
    return 1;
}

void trace_cursor_free(struct trace_cursor *c) {
    if (!c)
        return;
    decode_done(&c->decoder);
    free(c->payload.at);
    free(c->items);
    free(c);
}
