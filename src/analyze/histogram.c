/* See histogram.h: growing the range of buckets, and finding a rank. */
#include "analyze/histogram.h"

#include <string.h>

#include "base/mem.h"

/* Makes room for the groups FROM … TO − 1. */
static void widen(struct histogram *h, uint32_t from, uint32_t to) {
    uint32_t first = h->groups && h->first < from ? h->first : from;
    uint32_t end = h->groups && h->first + h->groups > to ? h->first + h->groups : to;
    uint64_t *counts = mem_alloc((end - first) * HISTOGRAM_GROUP * sizeof *counts);
    if (h->groups)
        memcpy(counts + (h->first - first) * HISTOGRAM_GROUP, h->counts,
               h->groups * HISTOGRAM_GROUP * sizeof *counts);
    free(h->counts);
    h->counts = counts;
    h->first = (uint16_t)first;
    h->groups = (uint16_t)(end - first);
}

void histogram_widen(struct histogram *h, uint64_t value) {
    uint32_t group = histogram_bucket(value) / HISTOGRAM_GROUP;
    widen(h, group, group + 1);
}

uint64_t *histogram_counter(struct histogram *h, uint64_t value) {
    if (!histogram_slot(h, value))
        histogram_widen(h, value);
    return histogram_slot(h, value);
}

void histogram_add(struct histogram *h, const struct histogram *from) {
    uint32_t end = from->first + from->groups;
    if (!from->groups)
        return;
    if (!h->groups || from->first < h->first || end > h->first + h->groups)
        widen(h, from->first, end);
    uint64_t *counts = h->counts + (from->first - h->first) * HISTOGRAM_GROUP;
    for (uint32_t i = 0; i < from->groups * HISTOGRAM_GROUP; i++)
        counts[i] += from->counts[i];
}

uint64_t histogram_count(const struct histogram *h) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < h->groups * HISTOGRAM_GROUP; i++)
        sum += h->counts[i];
    return sum;
}

uint64_t histogram_least(uint32_t bucket) {
    if (bucket < 128)
        return bucket;
    return (uint64_t)((bucket & 63) + 64) << ((bucket >> 6) - 1);
}

static uint64_t middle(uint32_t bucket) {
    uint64_t width = bucket < 128 ? 1 : (uint64_t)1 << ((bucket >> 6) - 1);
    return histogram_least(bucket) + (width - 1) / 2;
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
