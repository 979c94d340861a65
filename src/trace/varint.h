/*
 * Numbers of variable length, as every column and metadata record uses them.
 *
 *     first byte b     bytes   value
 *     0x00 … 0xdf          1   b
 *     0xe0 … 0xf7          2   224 + (b − 0xe0) · 256 + next byte
 *     0xf8 … 0xff      2 … 9   the following b − 0xf7 bytes, little-endian
 *
 * The first byte alone tells the length. One byte holds values up to 223, as most time differences
 * between two events are: that keeps files small and branches predictable.
 */
#pragma once

#include <string.h>

#include "base/types.h"

#define varint_likely(x) __builtin_expect(!!(x), 1)

enum {
    VARINT_ONE = 0xe0,  /* first bytes below stand for themselves */
    VARINT_LONG = 0xf8, /* first bytes from here on carry a length */
    VARINT_TWO_MAX = VARINT_ONE + (VARINT_LONG - VARINT_ONE) * 256 - 1,
    VARINT_MAX_BYTES = 9
};

/* Writes VALUE at P, which has room for VARINT_MAX_BYTES. Returns the end. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t value) {
    if (varint_likely(value < VARINT_ONE)) {
        *p = (uint8_t)value;
        return p + 1;
    }
    if (varint_likely(value <= VARINT_TWO_MAX)) {
        p[0] = (uint8_t)(VARINT_ONE + ((value - VARINT_ONE) >> 8));
        p[1] = (uint8_t)(value - VARINT_ONE);
        return p + 2;
    }
    unsigned bytes = (71u - (unsigned)__builtin_clzll(value)) / 8;
    *p = (uint8_t)(VARINT_LONG - 1 + bytes);
    memcpy(p + 1, &value, 8);
    return p + 1 + bytes;
}

/* Reads a number at *P, where VARINT_MAX_BYTES must be readable, and advances *P. */
static inline uint64_t varint_get(const uint8_t **p) {
    unsigned b = **p;
    if (varint_likely(b < VARINT_ONE)) {
        *p += 1;
        return b;
    }
    if (varint_likely(b < VARINT_LONG)) {
        uint64_t value = VARINT_ONE + ((b - VARINT_ONE) << 8) + (*p)[1];
        *p += 2;
        return value;
    }
    unsigned bytes = b - (VARINT_LONG - 1);
    uint64_t value;
    memcpy(&value, *p + 1, 8);
    *p += 1 + bytes;
    return value & (~(uint64_t)0 >> (64 - 8 * bytes));
}

/* Signed numbers: 0, −1, 1, −2, … become 0, 1, 2, 3, … */
static inline uint64_t zigzag(int64_t value) {
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value) {
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}
