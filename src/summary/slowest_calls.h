/* The slowest calls of each function, in a heap each: the least slow one first. Of equal ones, at
 * its limit, a heap has those that came first. */
#pragma once

#include "summary/summary.h"

enum { SLOW_CALLS = 100, SLOW_ALL = 800000 /* about so many in all */ };

struct slow_heap {
    struct summary_call *at; /* without room: in a file */
    uint32_t count, room;
};

struct slow {
    struct slow_heap *heaps; /* by function */
    uint32_t functions;
    uint32_t most; /* calls of each function */
};

void slow_init(struct slow *s, uint32_t functions);
void slow_done(struct slow *s);
/* Returns the least duration that may have a place in the function's heap from now on. */
uint64_t slow_add(struct slow *s, const struct summary_call *call);
