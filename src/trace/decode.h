/*
 * Decodes the payload of one event block into items: the inverse of encode.h. The bytes are
 * untrusted. A damaged payload gives fewer items, never a bad access: DECODE_PADDING readable bytes
 * follow the columns, and each position is compared with its column's end after each item.
 */
#pragma once

#include "trace/layout.h"
#include "trace/reader.h"

struct decode_frame {
    uint32_t number, sp; /* sp: bits 0 … 31 */
};

struct decode_shadow {
    struct decode_frame *frames; /* [0] is below all frames */
    size_t top, room;
    uint64_t high; /* bits 32 … 47 of its stack pointers, not shifted down */
};

struct decoder {
    const uint8_t *code, *code_end, *time, *time_end, *extra, *extra_end;
    uint32_t *id, *step; /* the dictionary, by number */
    uint32_t functions, functions_room;
    struct decode_shadow shadows[DISK_SHADOWS];
    uint32_t current, used; /* shadows below `used` are valid in this block */
    uint64_t ticks;
    uint32_t items_left, stream;
    bool damaged; /* no items follow */
};

/* Begins the block HEAD. Its bytes RAW, with padding, must stay valid until the last item. D is
 * zeroed or was used before. False: RAW is no payload. */
bool decode_begin(struct decoder *d, const struct disk_block *head, const uint8_t *raw);
/* Decodes up to COUNT items. Fewer, with d->items_left > 0: the payload is damaged there. */
size_t decode_items(struct decoder *d, struct trace_item *items, size_t count);
void decode_done(struct decoder *d);
