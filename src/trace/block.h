/*
 * A block in memory: its head and the parts of its payload. Each part is compressed with tables of
 * its own, since columns differ in their statistics.
 */
#pragma once

#include "trace/layout.h"

struct bytes {
    uint8_t *at;
    size_t count, room;
};

enum { BLOCK_PARTS = 4 };

struct block {
    struct disk_block head; /* sizes and checksums are set when it is written */
    struct bytes parts[BLOCK_PARTS];
    /* The sink's: */
    struct block *next;
    struct stash_chunk *chunk; /* the parts are in it; NULL: in buffers of their own */
    struct pack_job *job;      /* NULL: no thread was asked to pack it, or it has answered */
    bool tried;                /* it is packed, unless that made it larger */
    struct bytes packed;       /* empty: it is not packed */
    size_t held;               /* block_held_bytes() as the sink has counted it */
};

struct block *block_new(enum disk_type type);
void block_free(struct block *block);
/* Frees the payload alone. */
void block_drop_parts(struct block *block);
struct block *block_copy(const struct block *block);
size_t block_raw_bytes(const struct block *block);
/* The memory that its payload takes, packed and not. */
size_t block_held_bytes(const struct block *block);

/* Makes room for COUNT more bytes and returns their place. The caller adds to b->count. */
uint8_t *bytes_reserve(struct bytes *b, size_t count);

void bytes_put(struct bytes *b, const void *from, size_t count);
void bytes_put_varint(struct bytes *b, uint64_t value);
/* TEXT may be NULL. Writes at most DISK_STRING_MAX bytes of it. */
void bytes_put_string(struct bytes *b, const char *text);
