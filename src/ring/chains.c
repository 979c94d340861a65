/* Hash tables of places and chains, and their records in the trace. */
#include "ring/chains.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_ROOM = 1024, NOTHING = UINT32_MAX };

/* Finds numbers by content: open addressing, at most half full. */
struct table {
    uint32_t *at; /* NOTHING: free */
    size_t room, count;
};

struct chains {
    struct trace_writer *writer;
    uint64_t serial;
    ARRAY(struct trace_place) places; /* owns their texts */
    ARRAY(struct trace_chain) chains; /* from CHAIN_FIRST on */
    struct table place_table, chain_table;
    uint32_t written_places, written_chains;
};

static void table_init(struct table *t, size_t room) {
    *t = (struct table){.at = mem_resize(NULL, room, sizeof *t->at), .room = room};
    memset(t->at, 0xff, room * sizeof *t->at);
}

struct chains *chains_new(struct trace_writer *writer) {
    static atomic_ullong made;
    struct chains *c = mem_alloc(sizeof *c);
    c->writer = writer;
    c->serial = atomic_fetch_add(&made, 1) + 1;
    table_init(&c->place_table, FIRST_ROOM);
    table_init(&c->chain_table, FIRST_ROOM);
    return c;
}

uint64_t chains_serial(const struct chains *c) { return c->serial; }

void chains_free(struct chains *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->places.count; i++) {
        free((void *)c->places.at[i].function);
        free((void *)c->places.at[i].module);
    }
    ARRAY_FREE(&c->places);
    ARRAY_FREE(&c->chains);
    free(c->place_table.at);
    free(c->chain_table.at);
    free(c);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = mix(hash, (uint8_t)*text);
    return mix(hash, 0);
}

static uint64_t hash_place(const struct trace_place *p) {
    return mix_text(mix_text(mix(0, p->address), p->function), p->module);
}

static uint64_t hash_chain(const struct trace_chain *chain) {
    return mix(0, (uint64_t)chain->callers << 32 | chain->place);
}

static bool same_place(const struct trace_place *a, const struct trace_place *b) {
    return a->address == b->address && strcmp(a->function, b->function) == 0 &&
           strcmp(a->module, b->module) == 0;
}

static uint64_t hash_of(const struct chains *c, const struct table *t, uint32_t number) {
    return t == &c->place_table ? hash_place(&c->places.at[number])
                                : hash_chain(&c->chains.at[number]);
}

static uint32_t *free_place(struct table *t, uint64_t hash) {
    size_t i = hash & (t->room - 1);
    while (t->at[i] != NOTHING)
        i = (i + 1) & (t->room - 1);
    return &t->at[i];
}

static void table_add(const struct chains *c, struct table *t, uint64_t hash, uint32_t number) {
    if (++t->count > t->room / 2) {
        struct table old = *t;
        table_init(t, old.room * 2);
        t->count = old.count;
        for (size_t i = 0; i < old.room; i++)
            if (old.at[i] != NOTHING)
                *free_place(t, hash_of(c, t, old.at[i])) = old.at[i];
        free(old.at);
    }
    *free_place(t, hash) = number;
}

uint32_t chains_place(struct chains *c, const struct trace_place *place) {
    const struct table *t = &c->place_table;
    uint64_t hash = hash_place(place);
    for (size_t i = hash & (t->room - 1); t->at[i] != NOTHING; i = (i + 1) & (t->room - 1))
        if (same_place(&c->places.at[t->at[i]], place))
            return t->at[i];
    uint32_t number = (uint32_t)c->places.count;
    struct trace_place own = {mem_strdup(place->function), mem_strdup(place->module),
                              place->address};
    ARRAY_PUSH(&c->places, own);
    table_add(c, &c->place_table, hash, number);
    return number;
}

uint32_t chains_add(struct chains *c, uint32_t callers, uint32_t place) {
    const struct table *t = &c->chain_table;
    struct trace_chain chain = {callers, place};
    uint64_t hash = hash_chain(&chain);
    for (size_t i = hash & (t->room - 1); t->at[i] != NOTHING; i = (i + 1) & (t->room - 1)) {
        const struct trace_chain *known = &c->chains.at[t->at[i]];
        if (known->callers == callers && known->place == place)
            return CHAIN_FIRST + t->at[i];
    }
    uint32_t number = (uint32_t)c->chains.count;
    ARRAY_PUSH(&c->chains, chain);
    table_add(c, &c->chain_table, hash, number);
    return CHAIN_FIRST + number;
}

void chains_write_new(struct chains *c) {
    uint32_t places = (uint32_t)c->places.count, chains = (uint32_t)c->chains.count;
    if (places == c->written_places && chains == c->written_chains)
        return;
    struct trace_chains fresh = {c->written_places,
                                 places - c->written_places,
                                 c->places.at + c->written_places,
                                 CHAIN_FIRST + c->written_chains,
                                 chains - c->written_chains,
                                 c->chains.at + c->written_chains};
    trace_writer_chains(c->writer, &fresh);
    c->written_places = places;
    c->written_chains = chains;
}
