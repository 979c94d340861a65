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

bool kept_calls_has(const struct lane_handle *handle, taddr_t sp) {
    enum { SP_ALIGN = 4, FOLD = 6 };
    const struct kept_calls *k = kept_of(handle);
    const uint64_t *set = k->sets[((sp ^ sp >> FOLD) >> SP_ALIGN) % KEPT_SETS];
    bool has = k->full || ~(uint64_t)sp <= k->from;
    for (int i = 0; i < KEPT_WAYS; i++)
        has |= set[i] == sp;
    return has && k->count;
}
