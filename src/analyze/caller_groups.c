/* See caller_groups.h: a hash table over the list of groups. */
#include "analyze/caller_groups.h"

#include "base/mem.h"

enum { FIRST_TABLE_SIZE = 256 };

struct caller_groups {
    const struct places *places; /* NULL: by value */
    const struct value_groups *values;
    ARRAY(struct caller_group) list;
    uint32_t *table; /* number + 1, open addressing, at most half full; 0: a free entry */
    uint32_t room;
};

static uint32_t *entry_of(const struct caller_groups *g, uint32_t function, uint32_t chain) {
    uint64_t key = (uint64_t)function << 32 | chain;
    uint32_t i = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (g->room - 1);
    for (; g->table[i]; i = (i + 1) & (g->room - 1)) {
        const struct caller_group *group = &g->list.at[g->table[i] - 1];
        if (group->function == function && group->chain == chain)
            break;
    }
    return &g->table[i];
}

static void grow(struct caller_groups *g) {
    free(g->table);
    g->room *= 2;
    g->table = mem_alloc(g->room * sizeof *g->table);
    for (uint32_t i = 0; i < g->list.count; i++)
        *entry_of(g, g->list.at[i].function, g->list.at[i].chain) = i + 1;
}

static uint32_t chain_of(const struct caller_groups *g, const struct walk_call *call) {
    return g->values ? value_groups_of(g->values, call) : places_chain(g->places, call->chain);
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct caller_groups *g = ctx;
    uint32_t chain = chain_of(g, call);
    if (*entry_of(g, call->function, chain))
        return 0;
    if (g->list.count + 1 > g->room / 2)
        grow(g);
    ARRAY_PUSH(&g->list, ((struct caller_group){call->function, chain}));
    *entry_of(g, call->function, chain) = (uint32_t)g->list.count;
    return 0;
}

/* Also of functions that are hidden with their time: statistics count them. */
static struct caller_groups *read_groups(struct caller_groups *g, const struct source *source) {
    struct visitor visitor = {.ctx = g, .no_self = true, .wants_silent = true, .open = on_open};
    g->room = FIRST_TABLE_SIZE;
    g->table = mem_alloc(g->room * sizeof *g->table);
    walk_all(source, &visitor);
    return g;
}

struct caller_groups *caller_groups_new(const struct source *source, const struct places *places) {
    struct caller_groups *g = mem_alloc(sizeof *g);
    g->places = places;
    return read_groups(g, source);
}

struct caller_groups *caller_groups_by_value(const struct source *source,
                                             const struct value_groups *values) {
    struct caller_groups *g = mem_alloc(sizeof *g);
    g->values = values;
    return read_groups(g, source);
}

void caller_groups_free(struct caller_groups *g) {
    if (!g)
        return;
    ARRAY_FREE(&g->list);
    free(g->table);
    free(g);
}

uint32_t caller_groups_count(const struct caller_groups *g) { return (uint32_t)g->list.count; }
const struct caller_group *caller_groups_at(const struct caller_groups *g, uint32_t number) {
    return &g->list.at[number];
}

uint32_t caller_groups_number(const struct caller_groups *g, const struct walk_call *call) {
    return *entry_of(g, call->function, chain_of(g, call)) - 1;
}
