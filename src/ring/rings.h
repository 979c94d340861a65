/*
 * Reading a lane's ring (wire/ring.h) while its thread may go on writing. Positions are bytes since
 * the lane was taken; a ring holds the newest.
 */
#pragma once

#include "arch/clock.h"
#include "ring/lanes.h"

enum {
    SKEW_TICKS = CLOCK_SKEW_TICKS, /* less than any ring's lap takes */
};

static inline struct event *ring_of(const struct lane_handle *s) {
    return (struct event *)((uint8_t *)s->lane + LANE_RING);
}

/* Where the events end that are committed: TAIL at the least, up to where the caller has read;
 * LAST_CLOCK is not newer than the event that stands there. */
uint64_t ring_head(const struct lane_handle *s, uint64_t tail, uint64_t last_clock);

/* Where what may be whole begins, in a ring that is overwritten and was reserved up to HEAD: the
 * slot behind that may have been reserved, begun, and given back. */
static inline uint64_t ring_oldest(const struct lane_handle *s, uint64_t head) {
    uint64_t end = head + EVENT_BYTES;
    return end > s->ring_bytes ? end - s->ring_bytes : 0;
}

/* How many events were written before position AT, in a ring that is whole from there up to HEAD;
 * SLOTS: the lane's slice_slots, read before HEAD was. */
uint64_t ring_events_before(const struct lane_handle *s, uint64_t at, uint64_t head,
                            uint64_t slots);

/* Copies what stands from FROM up to HEAD, less than a lap, to TO. Returns where what is whole
 * begins: FROM or later, HEAD at most; what was overwritten meanwhile lies before. */
uint64_t ring_copy(const struct lane_handle *s, uint64_t from, uint64_t head, struct event *to);
