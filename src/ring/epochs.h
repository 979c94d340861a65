/*
 * Roughly when the events of a ring were written. Events carry 48 bits of the clock (wire/ring.h),
 * which is 26 hours at 3 GHz. But a ring that is only read at the end (overwrite) holds events of
 * any age. The drainer notes at each look how far the ring has come. One note is kept for every
 * EPOCH_TICKS in which the ring has grown.
 */
#pragma once

#include "base/mem.h"
#include "base/types.h"

#define EPOCH_TICKS ((uint64_t)1 << 46)

struct epoch {
    uint64_t head, ticks; /* what is before HEAD was written until TICKS */
};

struct epochs {
    ARRAY(struct epoch) notes;
    struct epoch newest;
    uint64_t since; /* when the ring first grew after the last note */
};

/* Begins again, at TICKS, with an empty ring. */
void epochs_begin(struct epochs *e, uint64_t ticks);
/* The ring has been written up to HEAD by TICKS. */
void epochs_note(struct epochs *e, uint64_t head, uint64_t ticks);
/* The epoch of the event at TAIL, which is before the head of the last look. Up to the epoch's head
 * no event is younger than its ticks, or more than 2^48 ticks older. */
struct epoch epochs_of(const struct epochs *e, uint64_t tail);
