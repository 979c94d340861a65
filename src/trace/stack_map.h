/*
 * A hash table from addresses to stacks, in granules of 2048 bytes. Entries may be out of date: the
 * caller compares the address with the stack's bounds.
 */
#pragma once

#include "base/types.h"

/* The smallest stack of Go's runtime. All its stacks begin and end at multiples of this. */
enum { STACK_GRANULE_BYTES = 2048 };

struct stack_granule;
struct stack_map {
    struct stack_granule *at;
    uint32_t count, room; /* room: a power of two, at most half used */
};

/* SPAN belongs to stack INDEX from now on. */
void stack_map_set(struct stack_map *g, struct span span, uint32_t index);
/* The stack that ADDRESS belongs to, or UINT32_MAX. */
uint32_t stack_map_find(const struct stack_map *g, uint64_t address);
void stack_map_free(struct stack_map *g);
