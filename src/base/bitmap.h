/* Bits in an array of bytes, the lowest bit of each byte first. The caller bounds the index. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that hold COUNT bits. */
static inline size_t bitmap_bytes(size_t count) { return count / 8 + (count % 8 != 0); }

static inline bool bitmap_test(const uint8_t *bitmap, size_t i) {
    return bitmap[i / 8] >> (i % 8) & 1;
}

static inline void bitmap_set(uint8_t *bitmap, size_t i) {
    bitmap[i / 8] |= (uint8_t)(1u << (i % 8));
}

static inline void bitmap_clear(uint8_t *bitmap, size_t i) {
    bitmap[i / 8] &= (uint8_t) ~(1u << (i % 8));
}

/* How many of the first COUNT bits are set. */
static inline size_t bitmap_count(const uint8_t *bitmap, size_t count) {
    size_t set = 0;
    for (size_t i = 0; i < count; i++)
        set += bitmap_test(bitmap, i);
    return set;
}
