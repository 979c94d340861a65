/* Writes and reads arrays in flat form. */
#include "base/flat.h"

#include <string.h>

#include "base/mem.h"

void flat_writer_init(struct flat_writer *w, int (*flush)(void *, const void *, size_t),
                      void *ctx) {
    *w = (struct flat_writer){.flush = flush, .ctx = ctx, .buffer = mem_alloc(FLAT_BUFFER)};
}

static void flush(struct flat_writer *w) {
    if (w->filled && !w->failed)
        w->failed = w->flush(w->ctx, w->buffer, w->filled);
    w->filled = 0;
}

void flat_put(struct flat_writer *w, const void *bytes, size_t count) {
    const uint8_t *at = bytes;
    w->size += count;
    while (count) {
        size_t room = FLAT_BUFFER - w->filled, part = count < room ? count : room;
        memcpy(w->buffer + w->filled, at, part);
        w->filled += part;
        at += part;
        count -= part;
        if (w->filled == FLAT_BUFFER)
            flush(w);
    }
}

static size_t padding_behind(uint64_t size) { return (size_t)(-size % FLAT_ALIGN); }

void flat_align(struct flat_writer *w) {
    static const uint8_t zeros[FLAT_ALIGN];
    flat_put(w, zeros, padding_behind(w->size));
}

int flat_writer_done(struct flat_writer *w) {
    flush(w);
    free(w->buffer);
    return w->failed;
}

void *flat_take(struct flat_reader *r, uint64_t count, size_t size) {
    size_t left = (size_t)(r->end - r->at);
    if (!count || count > left / size)
        return NULL;
    void *array = r->at;
    size_t bytes = (size_t)count * size, padded = bytes + padding_behind(bytes);
    r->at += padded < left ? padded : left;
    return array;
}

void *flat_take_copy(struct flat_reader *r, uint64_t count, size_t size) {
    const void *array = flat_take(r, count, size);
    if (!array)
        return NULL;
    void *copy = mem_alloc((size_t)count * size);
    mem_fetch_to_write(copy, (size_t)count * size);
    return memcpy(copy, array, (size_t)count * size);
}
