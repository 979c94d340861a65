/* Reads rings that are being written, without stopping their threads. */
#include "ring/rings.h"

#include <string.h>

/*
 * All slots are committed, except possibly the newest: it may be reserved and not written yet (see
 * wire/ring.h; on 32-bit Arm it is committed, too). The event that was there a lap ago is older
 * than its predecessor. In a new ring it is zero, which no event's clock is (two of them are no
 * ring of spoor's).
 */
uint64_t ring_head(const struct lane_handle *handle, uint64_t tail, uint64_t last_clock) {
    uint64_t head = __atomic_load_n(&handle->lane->head, __ATOMIC_ACQUIRE) & ~(uint64_t)15;
    if (head == tail)
        return head;
    const struct event *ring = ring_of(handle);
    uint64_t mask = handle->ring_bytes - 1, last = (head - EVENT_BYTES) & mask, before = last_clock;
    if (head - tail >= 2 * EVENT_BYTES)
        before = ring[((head - 2 * EVENT_BYTES) & mask) / EVENT_BYTES].clock_sp >> 16;
    uint64_t word = __atomic_load_n(&ring[last / EVENT_BYTES].clock_sp, __ATOMIC_ACQUIRE);
    if (!before) /* a hole, or a head that no stub wrote */
        return head;
    bool newer = (((word >> 16) + SKEW_TICKS - before) & EVENT_CLOCK_MASK) <= EVENT_CLOCK_MASK / 2;
    return newer && word ? head : head - EVENT_BYTES;
}

uint64_t ring_events_before(const struct lane_handle *handle, uint64_t at, uint64_t head,
                            uint64_t slice_slots) {
    const struct event *ring = ring_of(handle);
    const uint64_t mask = handle->ring_bytes - 1, all = at / EVENT_BYTES;
    if (!slice_slots)
        return all;
    uint64_t first = handle->ring_bytes - (at & mask); /* bytes up to the ring's end */
    size_t n = (head - at < first ? head - at : first) / EVENT_BYTES;
    size_t rest = (head - at) / EVENT_BYTES - n;
    uint64_t behind = slice_slots_before(ring, rest, slice_slots);
    uint64_t before = slice_slots_before(ring + (at & mask) / EVENT_BYTES, n, behind);
    return before < all ? all - before : 0;
}

/*
 * The thread is not stopped meanwhile. It stores to the slot of position P + ring size only after
 * the store that moves head beyond that. (On x86-64 xadd is a full barrier, and stores stay in
 * order. On Arm there is a barrier between the two.) The loaded slot P may be of the next lap. Then
 * the later load of head, which earlier loads cannot pass, sees that store, and P is before its
 * ring_oldest().
 */
uint64_t ring_copy(const struct lane_handle *handle, uint64_t from, uint64_t head,
                   struct event *to) {
    const uint8_t *ring = (const uint8_t *)ring_of(handle);
    uint64_t at = from & (handle->ring_bytes - 1), count = head - from;
    uint64_t first = count < handle->ring_bytes - at ? count : handle->ring_bytes - at;
    memcpy(to, ring + at, first);
    memcpy((uint8_t *)to + first, ring, count - first);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t now = __atomic_load_n(&handle->lane->head, __ATOMIC_RELAXED) & ~(uint64_t)15;
    uint64_t oldest = ring_oldest(handle, now);
    return oldest < from ? from : oldest < head ? oldest : head;
}
