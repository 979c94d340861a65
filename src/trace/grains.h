/*
 * Which stack a piece of memory belongs to: a hash table by address. What it says of a piece may be
 * out of date; whoever asks compares with the stack's bounds.
 */
#ifndef SPOOR_TRACE_GRAINS_H
#define SPOOR_TRACE_GRAINS_H

#include "base/types.h"

enum { GRAIN_BYTES = 2048 }; /* the smallest stack of Go's runtime; all begin and end at such */

struct grain;
struct grains {
    struct grain *at;
    uint32_t count, room; /* room: a power of two, at most half used */
};

/* All of SPAN belongs to INDEX, whatever it belonged to. */
void grains_set(struct grains *g, struct span span, uint32_t index);
/* What ADDRESS belongs to, or UINT32_MAX. */
uint32_t grains_find(const struct grains *g, uint64_t address);
void grains_done(struct grains *g);

#endif
