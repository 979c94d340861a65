/* Says which calls of judged functions are recorded. */
#include "ring/kept_calls.h"

#include <string.h>

static struct kept_calls *kept_of(const struct lane_handle *handle) {
    return (void *)((uint8_t *)handle->lane + LANE_RING + handle->ring_bytes);
}

void kept_calls_begin(struct lane_handle *handle) {
    memset(kept_of(handle), 0, sizeof(struct kept_calls));
}

void kept_calls_all(struct lane_handle *handle) {
    struct kept_calls *k = kept_of(handle);
    kept_calls_begin(handle);
    k->count = 1; /* stubs look at `from` */
    k->from = UINT64_MAX;
}

void kept_calls_from(struct lane_handle *handle, taddr_t lowest) {
    __atomic_store_n(&kept_of(handle)->from, ~(uint64_t)lowest, __ATOMIC_RELAXED);
}

static uint64_t *set_of(struct kept_calls *k, taddr_t sp) {
    enum { SP_ALIGN = 4, FOLD = 6 };
    return k->sets[((sp ^ sp >> FOLD) >> SP_ALIGN) % KEPT_SETS];
}

/* The first place of SET that has SP; 0: that is free. NULL: none. */
static uint64_t *place_of(uint64_t *set, taddr_t sp) {
    for (int i = 0; i < KEPT_WAYS; i++)
        if (set[i] == sp)
            return &set[i];
    return NULL;
}

bool kept_calls_has(const struct lane_handle *handle, taddr_t sp) {
    struct kept_calls *k = kept_of(handle);
    return k->count && (k->full || ~(uint64_t)sp <= k->from || place_of(set_of(k, sp), sp));
}

void kept_calls_add(struct lane_handle *handle, taddr_t sp) {
    struct kept_calls *k = kept_of(handle);
    uint64_t *set = set_of(k, sp), *place = place_of(set, 0);
    if (place_of(set, sp) || (!place && k->full))
        return;
    k->count++;
    if (!place) {
        k->full = 1;
        return;
    }
    *place = sp;
    k->newest = ~(uint64_t)sp;
}
