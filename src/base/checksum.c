/* XXH64; lanes, stripes and primes have the names of its specification. */
#include "base/checksum.h"

#include <string.h>

#define PRIME1 0x9e3779b185ebca87u
#define PRIME2 0xc2b2ae3d27d4eb4fu
#define PRIME3 0x165667b19e3779f9u
#define PRIME4 0x85ebca77c2b2ae63u
#define PRIME5 0x27d4eb2f165667c5u

static uint64_t rotate(uint64_t x, unsigned n) { return x << n | x >> (64 - n); }

static uint64_t load64(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t mix(uint64_t lane, uint64_t input) {
    return rotate(lane + input * PRIME2, 31) * PRIME1;
}

/* Runs the four lanes over all whole stripes of 32 bytes and merges them. */
static uint64_t stripes(const uint8_t *p, const uint8_t *end) {
    uint64_t lane[4] = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1};
    for (; end - p >= 32; p += 32)
        for (int i = 0; i < 4; i++)
            lane[i] = mix(lane[i], load64(p + 8 * i));
    uint64_t h =
        rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ mix(0, lane[i])) * PRIME1 + PRIME4;
    return h;
}

uint64_t checksum(const void *bytes, size_t count) {
    const uint8_t *p = bytes, *end = p + count;
    uint64_t h = count >= 32 ? stripes(p, end) : PRIME5;
    p += count & ~(size_t)31;
    h += count;
    for (; end - p >= 8; p += 8)
        h = rotate(h ^ mix(0, load64(p)), 27) * PRIME1 + PRIME4;
    if (end - p >= 4) {
        uint32_t word;
        memcpy(&word, p, sizeof word);
        h = rotate(h ^ word * PRIME1, 23) * PRIME2 + PRIME3;
        p += 4;
    }
    for (; p < end; p++)
        h = rotate(h ^ *p * PRIME5, 11) * PRIME1;
    h = (h ^ h >> 33) * PRIME2;
    h = (h ^ h >> 29) * PRIME3;
    return h ^ h >> 32;
}
