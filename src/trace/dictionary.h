/*
 * The functions of one block, numbered from 1 in order of appearance. For each: the step from its
 * frame to the last callee's, which predicts the next callee's stack pointer. Number 0 is the
 * unknown caller below all frames.
 */
#pragma once

#include "base/types.h"

struct dictionary {
    uint64_t *slots;     /* open addressing: id in the high half, number in the low; 0: free */
    uint32_t shift;      /* 32 − log2 of the number of slots */
    uint32_t *id, *step; /* by number */
    uint32_t count, room;
};

/* Empties D for the next block. D may be zeroed. */
void dictionary_clear(struct dictionary *d);
void dictionary_done(struct dictionary *d);
uint32_t dictionary_add(struct dictionary *d, uint32_t id);

static inline uint32_t dictionary_slot(uint32_t id, uint32_t shift) {
    return (id * 0x9e3779b1u) >> shift;
}

/* The number of ID. A new ID is added. */
static inline uint32_t dictionary_number(struct dictionary *d, uint32_t id) {
    uint32_t mask = 0xffffffffu >> d->shift;
    for (uint32_t i = dictionary_slot(id, d->shift);; i = (i + 1) & mask) {
        uint64_t slot = d->slots[i];
        if ((uint32_t)(slot >> 32) == id && slot)
            return (uint32_t)slot;
        if (!slot)
            return dictionary_add(d, id);
    }
}
