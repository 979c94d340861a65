/*
 * The payload of one event block to items: the inverse of encode.h, over bytes
 * that may be anything. A damaged payload gives fewer items, never a bad access:
 * columns are followed by DECODE_PADDING readable bytes and every position is
 * compared with its column's end after each item.
 */
#pragma once

#include "trace/layout.h"
#include "trace/reader.h"

enum { DECODE_PADDING = 16 };

struct decode_frame {
    uint32_t number, sp; /* sp: bits 0 … 31 */
};

struct decode_shadow {
    struct decode_frame *frames; /* [0] stands below all frames */
    size_t top, room;
    uint64_t high; /* bits 32 … 47 of its stack pointers, in place */
};

struct decoder {
    const uint8_t *code, *code_end, *time, *time_end, *extra, *extra_end;
    uint32_t *id, *step; /* the dictionary, by number */
    uint32_t functions, functions_room;
    struct decode_shadow shadows[DISK_SHADOWS];
    uint32_t current, used; /* shadows below `used` have been used in this block */
    uint64_t ticks;
    uint32_t left, stream;
    bool damaged; /* nothing more will come */
};

/* Begins the block HEAD whose RAW bytes (and padding) stay in place while it is read.
 * False: the payload cannot be one. D is zeroed or has been used before. */
bool decode_begin(struct decoder *d, const struct disk_block *head, const uint8_t *raw);
/* Up to COUNT further items. Less than that with d->left > 0: the payload is damaged there. */
size_t decode_items(struct decoder *d, struct trace_item *items, size_t count);
void decode_done(struct decoder *d);
