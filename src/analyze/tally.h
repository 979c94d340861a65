/*
 * Counts durations in the buckets of histogram.h, in counters of one byte: thousands of functions
 * are counted at a time, and their counters have to fit into a near cache. What does not fit into a
 * byte is carried to a histogram. A zeroed struct is empty.
 */
#pragma once

#include "analyze/histogram.h"

enum { TALLY_GROUP = 64 }; /* counters of a line of the cache, for a power of two */

struct tally { /* 16 bytes: functions have them in an array */
    struct tally_room {
        struct histogram carries; /* so many times 256 */
        uint32_t groups;
        uint8_t counts[]; /* modulo 256 */
    } * room;
    uint16_t first, groups; /* room->counts[0] belongs to bucket first × TALLY_GROUP */
};

/* Makes room for VALUE. May move all counters. */
void tally_widen(struct tally *t, uint64_t value);

/* VALUE's counter; NULL: call tally_widen() first. A caller that increments it to 0 calls
 * tally_carry(). */
static inline uint8_t *tally_slot(const struct tally *t, uint64_t value) {
    uint32_t bucket = histogram_bucket(value);
    if (bucket / TALLY_GROUP - t->first >= t->groups)
        return NULL;
    return &t->room->counts[bucket - t->first * (uint32_t)TALLY_GROUP];
}

void tally_carry(struct tally *t, const uint8_t *slot);
/* Adds CALLS to BUCKET. */
void tally_add(struct tally *t, uint32_t bucket, uint64_t calls);
/* The first bucket from *BUCKET on that has calls. False: there is none. */
bool tally_next(const struct tally *t, uint32_t *bucket, uint64_t *ret_calls);
/* The number of all calls. */
uint64_t tally_sum(const struct tally *t);
/* Adds all of FROM. */
void tally_join(struct tally *t, const struct tally *from);
/* Adds all calls to H. Returns their number. */
uint64_t tally_add_to(const struct tally *t, struct histogram *h);
/* Empties T, but keeps its room. */
void tally_clear(struct tally *t);
void tally_done(struct tally *t);
