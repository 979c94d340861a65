/* The items of one stream: decoded events, losses of damaged blocks, and frames at their times. */
#include <errno.h>

#include "trace/decode.h"
#include "trace/file.h"

enum { BATCH = 512 };

struct trace_cursor {
    struct trace_reader *reader;
    size_t block, end; /* indices into reader->blocks: the next one, and the stream's end */
    struct bytes payload;
    struct decoder decoder;
    struct trace_item *items;
    const struct trace_item *batch;    /* for trace_cursor_next() */
    size_t count, next;                /* items of the batch; the next one to return */
    size_t first_pending, pending_end; /* items decoded but not in a batch yet */
    bool report_loss;                  /* the next item is the loss of a damaged block */
    const struct trace_frames *frames, *frames_end; /* not returned yet */
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

static int damaged_block(struct trace_cursor *c, struct err *err) {
    const struct disk_index_entry *e = &c->reader->blocks.at[c->block - 1];
    c->report_loss = true;
    return err_set(err, EILSEQ, "corrupt-block",
                   "%s: is damaged at byte %llu: up to %u events are left out", c->reader->path,
                   (unsigned long long)e->offset, e->block.items);
}

/* One item for the events of a damaged block that were not returned. */
static size_t loss_item(struct trace_cursor *c) {
    const struct disk_block *head = &c->reader->blocks.at[c->block - 1].block;
    c->report_loss = false;
    c->items[0] = (struct trace_item){.kind = TRACE_LOST,
                                      .stream = head->stream,
                                      .ticks = head->last,
                                      .lost = c->decoder.items_left};
    c->decoder.items_left = 0;
    return 1;
}

static int next_block(struct trace_cursor *c, struct err *err) {
    const struct disk_index_entry *e = &c->reader->blocks.at[c->block++];
    c->decoder.items_left = 0;
    if (!c->items)
        c->items = mem_resize(NULL, BATCH, sizeof *c->items);
    if (unpack(c->reader, e, &c->payload) && decode_begin(&c->decoder, &e->block, c->payload.at))
        return 0;
    c->decoder.items_left = e->block.items;
    return damaged_block(c, err);
}

/* Decodes up to 512 items, few enough to stay in the nearest cache until they are used. */
static ptrdiff_t decode_batch(struct trace_cursor *c, struct err *err) {
    if (c->report_loss)
        return (ptrdiff_t)loss_item(c);
    while (!c->decoder.items_left) {
        if (c->block == c->end)
            return 0;
        int rc = next_block(c, err);
        if (rc)
            return rc;
    }
    size_t count = decode_items(&c->decoder, c->items, BATCH);
    return count ? (ptrdiff_t)count : damaged_block(c, err);
}

static size_t emit_frames(struct trace_cursor *c, const struct trace_item **ret_items) {
    const struct trace_frames *f = c->frames++;
    c->frames_item = (struct trace_item){
        .kind = TRACE_FRAMES, .stream = f->stream, .ticks = f->ticks, .frames = f};
    *ret_items = &c->frames_item;
    return 1;
}

/* Whether frames are next, between two blocks: a block's head may have a later time than its last
 * item. trace_cursor_block() relies on this. */
static bool frames_end_block(const struct trace_cursor *c) {
    if (c->frames == c->frames_end || c->first_pending != c->pending_end || c->decoder.items_left ||
        c->report_loss || !c->items)
        return false;
    return c->frames->ticks <= c->reader->blocks.at[c->block - 1].block.last;
}

/* The number of pending items before the next frames. 0: the frames are next. */
static size_t count_before_frames(const struct trace_cursor *c) {
    size_t end = c->pending_end;
    if (c->frames == c->frames_end || c->items[end - 1].ticks < c->frames->ticks)
        return end - c->first_pending;
    for (end = c->first_pending; c->items[end].ticks < c->frames->ticks;)
        end++;
    return end - c->first_pending;
}

ptrdiff_t trace_cursor_batch(struct trace_cursor *c, const struct trace_item **ret_items,
                             struct err *err) {
    c->next = 0;
    if (frames_end_block(c))
        return (ptrdiff_t)(c->count = emit_frames(c, ret_items));
    if (c->first_pending == c->pending_end) {
        ptrdiff_t n = decode_batch(c, err);
        c->first_pending = 0;
        c->pending_end = n > 0 ? (size_t)n : 0;
        c->count = 0;
        if (n < 0 || (!n && c->frames == c->frames_end))
            return n;
    }
    c->count = c->pending_end ? count_before_frames(c) : 0;
    *ret_items = c->items + c->first_pending;
    c->first_pending += c->count;
    if (!c->count)
        c->count = emit_frames(c, ret_items);
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

size_t trace_cursor_next_block(const struct trace_cursor *c) {
    bool inside = c->first_pending != c->pending_end || c->decoder.items_left || c->report_loss;
    return inside ? NO_BLOCK : c->block;
}

size_t trace_cursor_block(const struct trace_cursor *c) {
    if (c->block == c->end || trace_cursor_next_block(c) == NO_BLOCK)
        return NO_BLOCK;
    bool frames =
        c->frames != c->frames_end && c->frames->ticks <= c->reader->blocks.at[c->block].block.last;
    return frames ? NO_BLOCK : c->block;
}

size_t trace_cursor_damaged_block(const struct trace_cursor *c, uint32_t *ret_lost) {
    *ret_lost = (uint32_t)c->decoder.items_left;
    return c->report_loss ? c->block - 1 : NO_BLOCK;
}

void trace_cursor_skip_block(struct trace_cursor *c, uint32_t damaged) {
    if (!c->items)
        c->items = mem_resize(NULL, BATCH, sizeof *c->items);
    c->block++;
    c->decoder.items_left = damaged;
    c->decoder.damaged = true;
}

void trace_cursor_seek(struct trace_cursor *c, size_t block) {
    uint64_t before = c->reader->blocks.at[block - 1].block.last;
    if (!c->items)
        c->items = mem_resize(NULL, BATCH, sizeof *c->items);
    c->block = block;
    c->decoder.items_left = 0;
    c->first_pending = c->pending_end = c->next = c->count = 0;
    c->report_loss = false;
    while (c->frames != c->frames_end && c->frames->ticks <= before)
        c->frames++;
}

void trace_cursor_free(struct trace_cursor *c) {
    if (!c)
        return;
    decode_done(&c->decoder);
    free(c->payload.at);
    free(c->items);
    free(c);
}
