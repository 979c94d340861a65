/* The average and the standard deviation of durations. Sums are whole numbers, so that the order in
 * which they are added does not matter. */
#pragma once

#include "base/wide.h"

struct spread { /* zeroed: of no durations */
    uint64_t sum_ns;
    struct wide squares; /* modulo 2^128 */
};

static inline void spread_add(struct spread *s, uint64_t ns) {
    s->sum_ns += ns;
    s->squares = wide_sum(s->squares, wide_product(ns, ns));
}

static inline void spread_join(struct spread *s, const struct spread *from) {
    s->sum_ns += from->sum_ns;
    s->squares = wide_sum(s->squares, from->squares);
}

/* Of COUNT durations; 0 if there are none. The fraction is cut off. */
uint64_t spread_average(const struct spread *s, uint64_t count);
/* The square root of the mean square distance from the average. */
uint64_t spread_deviation(const struct spread *s, uint64_t count);
