/*
 * Stretches of addresses by which threads with one thread pointer are told apart
 * (wire/lane_lookup.h): each has those around the places where its stack pointer has been seen, and
 * more of them whenever it is seen somewhere new. Pure.
 *
 * Where a stack that nobody has described ends cannot be known. So ranges begin small, grow
 * by their own length, and never come nearer to another thread than half-way. Two threads have
 * none in common: where they run on one stack, what they do there is told of neither.
 */
#ifndef SPOOR_RING_STACK_RANGES_H
#define SPOOR_RING_STACK_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/lane_lookup.h"

struct stack_ranges {
    struct lane_stack_range at[LANE_STACK_RANGES_MOST];
    size_t count;
};

/* A thread that shares its pointer, as it stands. */
struct stopped_thread {
    uint64_t pointer, lane; /* lanes are of one thread each, but for the sink */
    uint64_t sp;
    uint64_t top; /* where its stack pointer was when it was born, if it was seen then; else 0 */
};

/* Each of the COUNT THREADS, which are all that have pointers in common, is in a range
 * afterwards, or in one of SINK where that cannot be. False: there is no room for that. */
bool stack_ranges_claim(struct stack_ranges *s, const struct stopped_thread *threads, size_t count,
                        uint64_t sink);
/* Those of POINTER are gone. */
void stack_ranges_drop(struct stack_ranges *s, uint64_t pointer);

#endif
