/*
 * Reads a lane's ring (wire/ring.h) while its thread may be writing. Positions are bytes since the
 * lane was taken; a ring holds the newest bytes.
 */
#pragma once

#include "arch/clock.h"
#include "ring/lanes.h"

enum {
    SKEW_TICKS = CLOCK_SKEW_TICKS, /* less than any ring's lap takes */
};

static inline struct event *ring_of(const struct lane_handle *handle) {
    return (struct event *)((uint8_t *)handle->lane + LANE_RING);
}

/* Position behind the last committed event: at least TAIL, up to which the caller has read.
 * LAST_CLOCK is not newer than the event at TAIL. */
uint64_t ring_head(const struct lane_handle *handle, uint64_t tail, uint64_t last_clock);

/* The first position that may be whole in a ring that is overwritten and was reserved up to HEAD.
 * The slots behind HEAD may have been begun, and those of an event reserved and released. */
static inline uint64_t ring_oldest(const struct lane_handle *handle, uint64_t head) {
    const uint64_t slots = captures_longest(handle->values.captures);
    uint64_t end = head + (slots ? slots : 1) * EVENT_BYTES;
    return end > handle->ring_bytes ? end - handle->ring_bytes : 0;
}

/* How many events were written before position AT, in a ring that is whole from AT up to HEAD.
 * SLICE_SLOTS: the lane's, read before HEAD. */
uint64_t ring_events_before(const struct lane_handle *handle, uint64_t at, uint64_t head,
                            uint64_t slice_slots);

/* Copies positions FROM up to HEAD, less than a lap, to TO. Returns the first whole position, at
 * least FROM and at most HEAD: what is before was overwritten meanwhile. */
uint64_t ring_copy(const struct lane_handle *handle, uint64_t from, uint64_t head,
                   struct event *to);
