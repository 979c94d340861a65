/* Numbers of 128 bits, for scaling clocks. Compilers for 32-bit machines have no such type. */
#pragma once

#include <stdint.h>

struct wide {
    uint64_t high, low;
};

/* By halves of 32 bits, on any machine. */
static inline struct wide wide_product_of_halves(uint64_t a, uint64_t b) {
    const uint64_t mask = UINT32_MAX;
    uint64_t low = (a & mask) * (b & mask);
    uint64_t middle = (a >> 32) * (b & mask) + (low >> 32); /* cannot overflow */
    uint64_t other = (a & mask) * (b >> 32) + (middle & mask);
    return (struct wide){(a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32),
                         other << 32 | (low & mask)};
}

static inline struct wide wide_product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (struct wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
    return wide_product_of_halves(a, b);
#endif
}

/* Sum and difference modulo 2^128. */
static inline struct wide wide_sum(struct wide a, struct wide b) {
    uint64_t low = a.low + b.low;
    return (struct wide){a.high + b.high + (low < a.low), low};
}

static inline struct wide wide_difference(struct wide a, struct wide b) {
    return (struct wide){a.high - b.high - (a.low < b.low), a.low - b.low};
}

/* The low 64 bits of W >> BITS; 0 < BITS < 64. */
static inline uint64_t wide_shift_right(struct wide w, unsigned bits) {
    return w.high << (64 - bits) | w.low >> bits;
}

/* N divided by D, which is not 0. The remainder goes to *RET_REST, unless that is NULL. */
struct wide wide_quotient(struct wide n, uint64_t d, uint64_t *ret_rest);
