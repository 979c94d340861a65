/* See histogram.h: growing the range of buckets, and finding a rank. */
#include "analyze/histogram.h"

#include <string.h>

#include "base/mem.h"

void histogram_widen(struct histogram *h, uint64_t value) {
    uint32_t group = histogram_bucket(value) / HISTOGRAM_GROUP;
    uint32_t first = h->groups && h->first < group ? h->first : group;
    uint32_t end = h->groups && h->first + h->groups > group ? h->first + h->groups : group + 1u;
    uint64_t *counts = mem_alloc((end - first) * HISTOGRAM_GROUP * sizeof *counts);
    if (h->groups)
        memcpy(counts + (h->first - first) * HISTOGRAM_GROUP, h->counts,
               h->groups * HISTOGRAM_GROUP * sizeof *counts);
    free(h->counts);
    h->counts = counts;
    h->first = (uint16_t)first;
    h->groups = (uint16_t)(end - first);
}

static uint64_t middle(uint32_t bucket) {
    if (bucket < 128)
        return bucket;
    unsigned shift = (bucket >> 6) - 1;
    uint64_t low = (uint64_t)((bucket & 63) + 64) << shift;
    return low + (((uint64_t)1 << shift) - 1) / 2;
}

uint64_t histogram_value(const struct histogram *h, uint64_t rank) {
    uint32_t first = h->first * HISTOGRAM_GROUP, count = h->groups * HISTOGRAM_GROUP, last = 0;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        seen += h->counts[i];
        last = h->counts[i] ? first + i : last;
        if (seen >= rank)
            break;
    }
    return middle(last);
}

void histogram_done(struct histogram *h) {
    free(h->counts);
    *h = (struct histogram){0};
}
