/*
 * When the events of a ring were written, roughly: events carry 48 bits of the clock (wire/ring.h),
 * which is 26 hours at 3 GHz, while a ring that is only read at the end (overwrite) holds events of
 * any age. The drainer tells how far the ring has come, each time that it looks; of that, one note
 * is kept for every EPOCH_TICKS in which there was something new.
 */
#pragma once

#include "base/mem.h"
#include "base/types.h"

#define EPOCH_TICKS ((uint64_t)1 << 46)

struct epoch {
    uint64_t head, ticks; /* what stands before HEAD was written until TICKS */
};

struct epochs {
    ARRAY(struct epoch) notes;
    struct epoch newest;
    uint64_t since; /* when something new was found first after the last note */
};

/* Begins anew, at TICKS, with an empty ring. */
void epochs_begin(struct epochs *e, uint64_t ticks);
/* The ring has been written up to HEAD by TICKS. */
void epochs_look(struct epochs *e, uint64_t head, uint64_t ticks);
/* The epoch of what stands at TAIL, which is before the head that was told last: up to its head,
 * nothing was written after its ticks, nor more than 2^48 ticks before them. */
struct epoch epochs_of(const struct epochs *e, uint64_t tail);
