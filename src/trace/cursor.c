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
    const struct trace_item *batch; /* of trace_cursor_next() */
    size_t count, next;             /* items in the batch, those of it that were given out */
    size_t kept, held; /* items[kept … held) have been decoded and are still to come */
    bool report_loss;  /* the next item stands for what a damaged block held */
    const struct trace_frames *frames, *frames_end; /* still to come */
    struct trace_item frames_item;
};

int trace_cursor_open(struct trace_reader *r, uint32_t stream, struct trace_cursor **ret,
                      struct err *err) {
    if (stream >= r->threads.count)
        return err_set(err, EINVAL, "no-stream", "%s: has no stream %u", r->path, stream);
    struct trace_cursor *c = mem_alloc(sizeof *c);
    c->reader = r;
    c->block = r->stream_first[stream];
    c->end = r->stream_first[stream + 1];
    size_t count;
    c->frames = trace_reader_frames(r, stream, &count);
    c->frames_end = c->frames + count;
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
static ptrdiff_t decode_batch(struct trace_cursor *c, struct err *err) {
    if (c->report_loss)
        return (ptrdiff_t)loss(c);
    while (!c->decoder.left) {
        if (c->block == c->end)
            return 0;
        int rc = next_block(c, err);
        if (rc)
            return rc;
    }
    size_t count = decode_items(&c->decoder, c->items, BATCH);
    return count ? (ptrdiff_t)count : damaged(c, err);
}

static size_t give_frames(struct trace_cursor *c, const struct trace_item **ret_items) {
    const struct trace_frames *f = c->frames++;
    c->frames_item = (struct trace_item){
        .kind = TRACE_FRAMES, .stream = f->stream, .ticks = f->ticks, .frames = f};
    *ret_items = &c->frames_item;
    return 1;
}

/* Items that come before the next frames; none: those are next. */
static size_t before_frames(const struct trace_cursor *c) {
    size_t end = c->held;
    if (c->frames == c->frames_end || c->items[end - 1].ticks < c->frames->ticks)
        return end - c->kept;
    for (end = c->kept; c->items[end].ticks < c->frames->ticks;)
        end++;
    return end - c->kept;
}

ptrdiff_t trace_cursor_batch(struct trace_cursor *c, const struct trace_item **ret_items,
                             struct err *err) {
    c->next = 0;
    if (c->kept == c->held) {
        ptrdiff_t n = decode_batch(c, err);
        c->kept = 0;
        c->held = n > 0 ? (size_t)n : 0;
        c->count = 0;
        if (n < 0 || (!n && c->frames == c->frames_end))
            return n;
    }
    c->count = c->held ? before_frames(c) : 0;
    *ret_items = c->items + c->kept;
    c->kept += c->count;
    if (!c->count)
        c->count = give_frames(c, ret_items);
    return (ptrdiff_t)c->count;
}

int trace_cursor_next(struct trace_cursor *c, struct trace_item *ret, struct err *err) {
    if (c->next == c->count) {
        ptrdiff_t n = trace_cursor_batch(c, &c->batch, err);
        if (n <= 0)
            return (int)n;
    }
    *ret = c->batch[c->next++];
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
