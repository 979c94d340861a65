/*
 * The functions of one block, numbered from 1 in order of appearance. For each: the step from its
 * frame to the last callee's, which predicts the next callee's stack pointer. Number 0 is the
 * unknown caller below all frames.
 *
 * A callee's stack pointer is below its caller's. If it is not, the caller has ended. So a step of
 * 0, as all functions have at first, predicts no callee: it is kept as a value that no difference
 * of stack pointers has. Only number 0 may have callees at a step of 0.
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
    uint32_t *id;                  /* by number */
    uint64_t *step;                /* by number; DICTIONARY_NO_STEP: 0 */
    uint32_t count, room;
};
#define DICTIONARY_NO_STEP UINT64_MAX

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
