/*
 * The functions of one block, numbered from 1 in order of appearance. For each: the step from its
 * frame to the last callee's, which predicts the next callee's stack pointer. Number 0 is the
 * unknown caller below all frames.
 */
#pragma once

#include "base/types.h"

struct dictionary_slot {
    uint32_t tag; /* dictionary_tag(); 0: free */
    uint32_t number;
};

struct dictionary {
    struct dictionary_slot *slots; /* open addressing */
    uint32_t mask;                 /* number of slots − 1 */
    uint32_t *id, *step;           /* by number */
    uint32_t count, room;
};

/* Empties D for the next block. D may be zeroed. */
void dictionary_clear(struct dictionary *d);
void dictionary_done(struct dictionary *d);
uint32_t dictionary_add(struct dictionary *d, uint32_t id);

static inline uint32_t dictionary_tag(uint32_t id) { return id << 2 | 1; }

/* Where to begin to look for TAG. */
static inline uint32_t dictionary_place(uint32_t tag, uint32_t mask) {
    return (uint32_t)((tag * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
}

/* NULL: there is none. */
const struct dictionary_slot *dictionary_find(const struct dictionary *d, uint32_t tag);

/* The number of ID. A new ID is added. */
static inline uint32_t dictionary_number(struct dictionary *d, uint32_t id) {
    const struct dictionary_slot *slot = dictionary_find(d, dictionary_tag(id));
    return slot ? slot->number : dictionary_add(d, id);
}
