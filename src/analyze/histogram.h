/*
 * Counts durations in buckets whose width is at most 1/64 of their value, so that a percentile errs
 * by less than 0.8 %. Log-linear: each power of two is cut into 64 equal buckets.
 *
 *     value      0 … 127       128 … 255      256 … 511     …
 *     bucket     0 … 127       128 … 191      192 … 255     …
 *     width      1             2              4             …
 *
 * Only the range of buckets in use takes memory: 128 bytes for one value, some kilobytes for a
 * function whose calls differ a hundredfold. A zeroed struct is an empty histogram.
 */
#pragma once

#include "base/types.h"

enum { HISTOGRAM_GROUP = 16 }; /* buckets are allocated in groups of this size */

struct histogram {
    uint64_t *counts;
    uint16_t first, groups; /* counts[0] belongs to bucket first × HISTOGRAM_GROUP */
};

static inline uint32_t histogram_bucket(uint64_t value) {
    if (value < 64)
        return (uint32_t)value;
    unsigned shift = 57u - (unsigned)__builtin_clzll(value); /* leaves 7 bits, the first is 1 */
    return (shift << 6) + (uint32_t)(value >> shift);
}

/* Makes room for VALUE. Moves all counters. */
void histogram_widen(struct histogram *h, uint64_t value);

/* VALUE's counter; NULL: call histogram_widen() first. */
static inline uint64_t *histogram_slot(const struct histogram *h, uint64_t value) {
    uint32_t bucket = histogram_bucket(value);
    if (bucket / HISTOGRAM_GROUP - h->first >= h->groups)
        return NULL;
    return &h->counts[bucket - h->first * HISTOGRAM_GROUP];
}

/* The same, with room for VALUE. */
uint64_t *histogram_counter(struct histogram *h, uint64_t value);
/* The least value of BUCKET. */
uint64_t histogram_least(uint32_t bucket);

/* Adds all values of FROM. */
void histogram_add(struct histogram *h, const struct histogram *from);
/* The number of values. */
uint64_t histogram_count(const struct histogram *h);
/* The RANK-th smallest value that was added, from 1, as the middle of its bucket. */
uint64_t histogram_value(const struct histogram *h, uint64_t rank);
void histogram_done(struct histogram *h);
