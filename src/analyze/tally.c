/* See tally.h. */
#include "analyze/tally.h"

#include <string.h>

#include "base/mem.h"

static void widen(struct tally *t, uint32_t from, uint32_t to) {
    uint32_t first = t->groups && t->first < from ? t->first : from;
    uint32_t end = t->groups && t->first + t->groups > to ? t->first + t->groups : to;
    uint8_t *counts = mem_alloc((end - first) * (size_t)TALLY_GROUP);
    if (t->groups)
        memcpy(counts + (t->first - first) * (size_t)TALLY_GROUP, t->counts,
               t->groups * (size_t)TALLY_GROUP);
    free(t->counts);
    t->counts = counts;
    t->first = (uint16_t)first;
    t->groups = t->room = (uint16_t)(end - first);
}

static void make_room(struct tally *t, uint32_t bucket) {
    uint32_t group = bucket / TALLY_GROUP;
    if (!t->groups)
        t->groups = t->room;
    if (group - t->first >= t->groups)
        widen(t, group, group + 1);
}

void tally_widen(struct tally *t, uint64_t value) { make_room(t, histogram_bucket(value)); }

static void add_carries(struct tally *t, uint32_t bucket, uint64_t carries) {
    *histogram_counter(&t->carries, histogram_least(bucket)) += carries;
}

void tally_carry(struct tally *t, const uint8_t *slot) {
    add_carries(t, t->first * (uint32_t)TALLY_GROUP + (uint32_t)(slot - t->counts), 1);
}

void tally_add(struct tally *t, uint32_t bucket, uint64_t calls) {
    make_room(t, bucket);
    uint8_t *slot = &t->counts[bucket - t->first * (uint32_t)TALLY_GROUP];
    uint64_t carries = (*slot + (calls & UINT8_MAX)) / 256 + calls / 256;
    *slot = (uint8_t)(*slot + calls);
    if (carries)
        add_carries(t, bucket, carries);
}

static uint64_t carried(const struct tally *t, uint32_t bucket) {
    const uint64_t *slot = histogram_slot(&t->carries, histogram_least(bucket));
    return slot ? *slot * 256 : 0;
}

/* The first counter from I on that is not 0, or END. */
static uint32_t skip_zeros(const uint8_t *counts, uint32_t i, uint32_t end) {
    for (uint64_t eight; i + sizeof eight <= end; i += sizeof eight) {
        memcpy(&eight, counts + i, sizeof eight);
        if (eight)
            break;
    }
    while (i < end && !counts[i])
        i++;
    return i;
}

bool tally_next(const struct tally *t, uint32_t *bucket, uint64_t *ret_calls) {
    uint32_t base = t->first * (uint32_t)TALLY_GROUP, end = t->groups * (uint32_t)TALLY_GROUP;
    for (uint32_t i = *bucket > base ? *bucket - base : 0; i < end; i++) {
        if (!t->carries.groups)
            i = skip_zeros(t->counts, i, end);
        uint64_t calls = i == end ? 0 : t->counts[i];
        calls += t->carries.groups ? carried(t, base + i) : 0;
        if (calls) {
            *bucket = base + i;
            *ret_calls = calls;
            return true;
        }
    }
    return false;
}

uint64_t tally_sum(const struct tally *t) {
    uint64_t sum = histogram_count(&t->carries) * 256;
    for (uint32_t i = 0; i < t->groups * (uint32_t)TALLY_GROUP; i++)
        sum += t->counts[i];
    return sum;
}

static bool is_empty(const struct tally *t, uint32_t group) {
    uint32_t first = (t->first + group) * (uint32_t)TALLY_GROUP, bucket = first;
    uint64_t calls;
    return !tally_next(t, &bucket, &calls) || bucket >= first + TALLY_GROUP;
}

void tally_add_to(const struct tally *t, struct histogram *h) {
    uint32_t group = t->groups;
    uint64_t calls;
    while (group && is_empty(t, group - 1))
        group--;
    if (!group)
        return;
    histogram_counter(h, histogram_least((t->first + group) * (uint32_t)TALLY_GROUP - 1));
    for (uint32_t bucket = 0; tally_next(t, &bucket, &calls); bucket++)
        *histogram_counter(h, histogram_least(bucket)) += calls;
}

void tally_clear(struct tally *t) {
    if (t->groups)
        memset(t->counts, 0, t->groups * (size_t)TALLY_GROUP);
    t->groups = 0;
    histogram_done(&t->carries);
}

void tally_done(struct tally *t) {
    free(t->counts);
    histogram_done(&t->carries);
    *t = (struct tally){0};
}
