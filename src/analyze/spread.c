/* See spread.h. The sum of squared distances is made of whole numbers, before it is divided: it is
 * small where the squares are large and nearly equal. */
#include "analyze/spread.h"

/* A times B modulo 2^128. */
static struct wide times(struct wide a, uint64_t b) {
    struct wide product = wide_product(a.low, b);
    product.high += a.high * b;
    return product;
}

/* Newton's method; from above, so that it only falls. */
static double square_root(double value) {
    double root = value > 1 ? value : 1;
    for (double next = (root + value / root) / 2; next < root; next = (root + value / root) / 2)
        root = next;
    return root;
}

uint64_t spread_average(const struct spread *s, uint64_t count) {
    return count ? s->sum_ns / count : 0;
}

uint64_t spread_deviation(const struct spread *s, uint64_t count) {
    if (!count)
        return 0;
    uint64_t near = s->sum_ns / count; /* the average without its fraction */
    struct wide distances = wide_sum(s->squares, times(wide_product(near, near), count));
    distances = wide_difference(distances, times(wide_product(near, s->sum_ns), 2));
    double sum = (double)distances.high * 0x1p64 + (double)distances.low;
    double fraction = (double)(s->sum_ns % count) / (double)count;
    double variance = sum / (double)count - fraction * fraction;
    return variance > 0 ? (uint64_t)square_root(variance) : 0;
}
