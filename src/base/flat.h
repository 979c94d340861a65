/*
 * Flat form: arrays one behind the other, in the byte order and layout of this machine. It is for
 * files that the same program reads again, into private memory, and uses in place. Arrays begin at
 * multiples of FLAT_ALIGN; counts are stored where the reader needs them.
 */
#pragma once

#include <stddef.h>

#include "base/types.h"

enum { FLAT_ALIGN = 16, FLAT_BUFFER = 256 << 10 };

struct flat_writer {
    int (*flush)(void *ctx, const void *bytes, size_t count); /* 0, or −errno */
    void *ctx;
    uint8_t *buffer; /* FLAT_BUFFER bytes */
    size_t filled;
    uint64_t size; /* of all that was written */
    int failed;    /* the first error of `flush` */
};

void flat_writer_init(struct flat_writer *w, int (*flush)(void *, const void *, size_t), void *ctx);
void flat_put(struct flat_writer *w, const void *bytes, size_t count);
/* Fills up to the next multiple of FLAT_ALIGN. */
void flat_align(struct flat_writer *w);
/* Writes the rest, and frees the buffer. Returns `failed`. */
int flat_writer_done(struct flat_writer *w);

struct flat_reader {
    uint8_t *at, *end; /* `at` is a multiple of FLAT_ALIGN before each array */
};
/* COUNT elements of SIZE bytes, and `at` behind them. NULL: they are not all there, or COUNT is 0.
 */
void *flat_take(struct flat_reader *r, uint64_t count, size_t size);
/* The same, copied. It is for arrays that are changed: each changed page of a mapped file costs
 * more than its copy. The caller frees the result. */
void *flat_take_copy(struct flat_reader *r, uint64_t count, size_t size);
