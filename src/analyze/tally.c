/* See tally.h. */
#include "analyze/tally.h"

#include <string.h>

#include "base/mem.h"

static uint32_t end_of(const struct tally *t) { return (uint32_t)t->first + t->groups; }

static uint32_t counters(const struct tally *t) { return t->groups * (uint32_t)TALLY_GROUP; }

/* Makes room for the groups FROM … TO − 1. */
static void widen(struct tally *t, uint32_t from, uint32_t to) {
    uint32_t first = t->groups && t->first < from ? t->first : from;
    uint32_t end = t->groups && end_of(t) > to ? end_of(t) : to;
    struct tally_room *old = t->room;
    t->room = mem_alloc(sizeof *old + (end - first) * (size_t)TALLY_GROUP);
    t->room->groups = end - first;
    if (old) {
        t->room->carries = old->carries;
        memcpy(t->room->counts + (t->first - first) * (size_t)TALLY_GROUP, old->counts,
               counters(t));
    }
    free(old);
    t->first = (uint16_t)first;
    t->groups = (uint16_t)(end - first);
}

static void make_room(struct tally *t, uint32_t from, uint32_t to) {
    if (!t->groups && t->room)
        t->groups = (uint16_t)t->room->groups;
    if (!t->groups || from < t->first || to > end_of(t))
        widen(t, from, to);
}

void tally_widen(struct tally *t, uint64_t value) {
    uint32_t group = histogram_bucket(value) / TALLY_GROUP;
    make_room(t, group, group + 1);
}

static void add_carries(struct tally *t, uint32_t bucket, uint64_t carries) {
    *histogram_counter(&t->room->carries, histogram_least(bucket)) += carries;
}

void tally_carry(struct tally *t, const uint8_t *slot) {
    uint32_t first = t->first * (uint32_t)TALLY_GROUP;
    add_carries(t, first + (uint32_t)(slot - t->room->counts), 1);
}

void tally_add(struct tally *t, uint32_t bucket, uint64_t calls) {
    make_room(t, bucket / TALLY_GROUP, bucket / TALLY_GROUP + 1);
    uint8_t *slot = &t->room->counts[bucket - t->first * (uint32_t)TALLY_GROUP];
    uint64_t carries = (*slot + (calls & UINT8_MAX)) / 256 + calls / 256;
    *slot = (uint8_t)(*slot + calls);
    if (carries)
        add_carries(t, bucket, carries);
}

/* ---- reading ---- */

static bool has_carries(const struct tally *t) { return t->groups && t->room->carries.groups; }

static uint64_t carried(const struct tally *t, uint32_t bucket) {
    const uint64_t *slot = histogram_slot(&t->room->carries, histogram_least(bucket));
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
    uint32_t first = t->first * (uint32_t)TALLY_GROUP, end = counters(t);
    bool carries = has_carries(t);
    for (uint32_t i = *bucket > first ? *bucket - first : 0; i < end; i++) {
        if (!carries && (i = skip_zeros(t->room->counts, i, end)) == end)
            break;
        uint64_t calls = t->room->counts[i] + (carries ? carried(t, first + i) : 0);
        if (calls) {
            *bucket = first + i;
            *ret_calls = calls;
            return true;
        }
    }
    return false;
}

/* The sum of the 8 bytes of EIGHT. */
static uint64_t sum_of_bytes(uint64_t eight) {
    const uint64_t even = 0x00ff00ff00ff00ff;
    return (((eight & even) + (eight >> 8 & even)) * 0x0001000100010001) >> 48;
}

uint64_t tally_sum(const struct tally *t) {
    uint64_t sum = t->groups ? histogram_count(&t->room->carries) * 256 : 0;
    for (uint32_t i = 0; i < counters(t); i += 8) {
        uint64_t eight;
        memcpy(&eight, t->room->counts + i, sizeof eight);
        sum += sum_of_bytes(eight);
    }
    return sum;
}

/* Adds the 8 counters FROM to those from BUCKET on. */
static void join_eight(struct tally *t, uint32_t bucket, const uint8_t *from) {
    const uint64_t high = 0x8080808080808080u;
    uint8_t *to = &t->room->counts[bucket - t->first * (uint32_t)TALLY_GROUP];
    uint64_t a, b;
    memcpy(&a, to, sizeof a);
    memcpy(&b, from, sizeof b);
    if (!((a | b) & high)) {
        a += b;
        memcpy(to, &a, sizeof a);
        return;
    }
    for (uint32_t i = 0; i < sizeof a; i++)
        tally_add(t, bucket + i, from[i]);
}

void tally_join(struct tally *t, const struct tally *from) {
    uint32_t first = from->first * (uint32_t)TALLY_GROUP;
    if (!from->groups)
        return;
    make_room(t, from->first, end_of(from));
    for (uint32_t i = 0; i < counters(from); i += 8)
        join_eight(t, first + i, from->room->counts + i);
    histogram_add(&t->room->carries, &from->room->carries);
}

static void add_carries_to(const struct histogram *carries, struct histogram *h) {
    uint32_t first = carries->first * (uint32_t)HISTOGRAM_GROUP;
    for (uint32_t i = 0; i < carries->groups * (uint32_t)HISTOGRAM_GROUP; i++)
        if (carries->counts[i])
            *histogram_counter(h, histogram_least(first + i)) += carries->counts[i] * 256;
}

/* Room in H from the first counter that is not 0 to the last one: *RET_FIRST and *RET_END − 1. */
static void make_room_in(const struct tally *t, struct histogram *h, uint32_t *ret_first,
                         uint32_t *ret_end) {
    uint32_t base = t->first * (uint32_t)TALLY_GROUP, end = counters(t);
    uint32_t first = end ? skip_zeros(t->room->counts, 0, end) : 0;
    while (end > first && !t->room->counts[end - 1])
        end--;
    if (first < end) {
        histogram_counter(h, histogram_least(base + first));
        histogram_counter(h, histogram_least(base + end - 1));
    }
    *ret_first = first;
    *ret_end = end;
}

uint64_t tally_add_to(const struct tally *t, struct histogram *h) {
    uint32_t first, end;
    uint64_t sum = 0, eight;
    make_room_in(t, h, &first, &end);
    for (uint32_t i = first & ~7u; i < end; i += 8) {
        const uint8_t *from = t->room->counts + i;
        uint64_t *to = h->counts + (t->first * TALLY_GROUP + i - h->first * HISTOGRAM_GROUP);
        memcpy(&eight, from, sizeof eight);
        sum += sum_of_bytes(eight);
        for (uint32_t k = 0; k < 8 && eight; k++)
            to[k] += from[k];
    }
    if (has_carries(t)) {
        sum += histogram_count(&t->room->carries) * 256;
        add_carries_to(&t->room->carries, h);
    }
    return sum;
}

/* ---- ends ---- */

void tally_clear(struct tally *t) {
    if (!t->groups)
        return;
    memset(t->room->counts, 0, counters(t));
    histogram_done(&t->room->carries);
    t->groups = 0;
}

void tally_done(struct tally *t) {
    if (t->room)
        histogram_done(&t->room->carries);
    free(t->room);
    *t = (struct tally){0};
}
