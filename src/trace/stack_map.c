/* Open addressing by granule number; the table doubles when it is half full. */
#include "trace/stack_map.h"

#include "base/mem.h"

enum { FIRST_ROOM = 1024 };

struct stack_granule {
    uint64_t number; /* address / STACK_GRANULE_BYTES + 1; 0: a free slot */
    uint32_t index;
};

static struct stack_granule *slot(const struct stack_map *g, uint64_t number) {
    uint64_t i = number * 0x9e3779b97f4a7c15 >> 32;
    for (;; i++) {
        struct stack_granule *at = &g->at[i & (g->room - 1)];
        if (!at->number || at->number == number)
            return at;
    }
}

static void grow(struct stack_map *g) {
    struct stack_map old = *g;
    g->room = old.room ? old.room * 2 : FIRST_ROOM;
    g->at = mem_alloc(g->room * sizeof *g->at);
    for (uint32_t i = 0; i < old.room; i++)
        if (old.at[i].number)
            *slot(g, old.at[i].number) = old.at[i];
    free(old.at);
}

void stack_map_set(struct stack_map *g, struct span span, uint32_t index) {
    for (uint64_t at = span.start; at < span.end; at += STACK_GRANULE_BYTES) {
        if (g->count >= g->room / 2)
            grow(g);
        struct stack_granule *granule = slot(g, at / STACK_GRANULE_BYTES + 1);
        g->count += !granule->number;
        *granule = (struct stack_granule){at / STACK_GRANULE_BYTES + 1, index};
    }
}

uint32_t stack_map_find(const struct stack_map *g, uint64_t address) {
    if (!g->room)
        return UINT32_MAX;
    const struct stack_granule *granule = slot(g, address / STACK_GRANULE_BYTES + 1);
    return granule->number ? granule->index : UINT32_MAX;
}

void stack_map_free(struct stack_map *g) {
    free(g->at);
    *g = (struct stack_map){0};
}
