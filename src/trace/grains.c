#include "trace/grains.h"

#include "base/mem.h"

enum { FIRST_ROOM = 1024 };

struct grain {
    uint64_t number; /* of the piece, counted from 1; 0: free */
    uint32_t index;
};

static struct grain *slot(const struct grains *g, uint64_t number) {
    uint64_t i = number * 0x9e3779b97f4a7c15 >> 32;
    for (;; i++) {
        struct grain *at = &g->at[i & (g->room - 1)];
        if (!at->number || at->number == number)
            return at;
    }
}

static void grow(struct grains *g) {
    struct grains old = *g;
    g->room = old.room ? old.room * 2 : FIRST_ROOM;
    g->at = mem_alloc(g->room * sizeof *g->at);
    for (uint32_t i = 0; i < old.room; i++)
        if (old.at[i].number)
            *slot(g, old.at[i].number) = old.at[i];
    free(old.at);
}

void grains_set(struct grains *g, struct span span, uint32_t index) {
    for (uint64_t at = span.start; at < span.end; at += GRAIN_BYTES) {
        if (g->count >= g->room / 2)
            grow(g);
        struct grain *grain = slot(g, at / GRAIN_BYTES + 1);
        g->count += !grain->number;
        *grain = (struct grain){at / GRAIN_BYTES + 1, index};
    }
}

uint32_t grains_find(const struct grains *g, uint64_t address) {
    if (!g->room)
        return UINT32_MAX;
    const struct grain *grain = slot(g, address / GRAIN_BYTES + 1);
    return grain->number ? grain->index : UINT32_MAX;
}

void grains_done(struct grains *g) {
    free(g->at);
    *g = (struct grains){0};
}
