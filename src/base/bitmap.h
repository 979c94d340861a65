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

/* The same, while other threads set bits of the bitmap, too. Nobody may clear any meanwhile. */
static inline void bitmap_set_shared(uint8_t *bitmap, size_t i) {
    const uint8_t bit = (uint8_t)(1u << (i % 8));
    if (!(__atomic_load_n(&bitmap[i / 8], __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(&bitmap[i / 8], bit, __ATOMIC_RELAXED);
}
/* Sets FLAG, which other threads may set at the same time. */
static inline void flag_set(bool *flag) {
    if (!__atomic_load_n(flag, __ATOMIC_RELAXED))
        __atomic_store_n(flag, true, __ATOMIC_RELAXED);
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
