/* BLAKE2b; names are those of RFC 7693. Words are stored as on little-endian machines. */
#include "base/digest.h"

#include <string.h>

static const uint64_t iv[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

enum { ROUNDS = 12 };
static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotate(uint64_t x, unsigned n) { return x >> n | x << (64 - n); }

static inline void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, const uint64_t in[2]) {
    *a += *b + in[0];
    *d = rotate(*d ^ *a, 32);
    *c += *d;
    *b = rotate(*b ^ *c, 24);
    *a += *b + in[1];
    *d = rotate(*d ^ *a, 16);
    *c += *d;
    *b = rotate(*b ^ *c, 63);
}

#define MIX(i, a, b, c, d)                                                                         \
    mix(&v[a], &v[b], &v[c], &v[d], (uint64_t[]){m[s[2 * (i)]], m[s[2 * (i) + 1]]})

static void compress(struct digest *d, const uint8_t *block, bool last) {
    uint64_t v[16], m[16];
    memcpy(m, block, sizeof m);
    memcpy(v, d->state, sizeof d->state);
    memcpy(v + 8, iv, sizeof iv);
    v[12] ^= d->count;
    v[14] ^= last ? UINT64_MAX : 0;
#pragma GCC unroll 12
    for (int r = 0; r < ROUNDS; r++) {
        const uint8_t *s = sigma[r % 10];
        MIX(0, 0, 4, 8, 12);
        MIX(1, 1, 5, 9, 13);
        MIX(2, 2, 6, 10, 14);
        MIX(3, 3, 7, 11, 15);
        MIX(4, 0, 5, 10, 15);
        MIX(5, 1, 6, 11, 12);
        MIX(6, 2, 7, 8, 13);
        MIX(7, 3, 4, 9, 14);
    }
    for (int i = 0; i < 8; i++)
        d->state[i] ^= v[i] ^ v[i + 8];
}

void digest_init(struct digest *d) {
    d->count = d->filled = 0;
    memcpy(d->state, iv, sizeof iv);
    d->state[0] ^= 0x01010000 ^ DIGEST_BYTES; /* parameter block: fanout and depth 1, no key */
}

/* The last block is compressed by digest_finish() only, so one is kept. */
void digest_add(struct digest *d, const void *bytes, size_t count) {
    const uint8_t *at = bytes;
    while (count) {
        if (d->filled == DIGEST_BLOCK) {
            d->count += DIGEST_BLOCK;
            compress(d, d->block, false);
            d->filled = 0;
        }
        for (; !d->filled && count > DIGEST_BLOCK; at += DIGEST_BLOCK, count -= DIGEST_BLOCK) {
            d->count += DIGEST_BLOCK;
            compress(d, at, false);
        }
        size_t room = DIGEST_BLOCK - d->filled, part = count < room ? count : room;
        memcpy(d->block + d->filled, at, part);
        d->filled += part;
        at += part;
        count -= part;
    }
}

void digest_finish(struct digest *d, uint8_t ret[static DIGEST_BYTES]) {
    d->count += d->filled;
    memset(d->block + d->filled, 0, DIGEST_BLOCK - d->filled);
    compress(d, d->block, true);
    memcpy(ret, d->state, DIGEST_BYTES);
}
