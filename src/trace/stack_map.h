/*
 * Which stack a piece of memory belongs to: a hash table by address. What it says of a piece may be
 * out of date; whoever asks compares with the stack's bounds.
 */
#pragma once

#include "base/types.h"

enum {
    STACK_PIECE_BYTES = 2048
}; /* the smallest stack of Go's runtime; all begin and end at such */

struct stack_piece;
struct stack_map {
    struct stack_piece *at;
    uint32_t count, room; /* room: a power of two, at most half used */
};

/* All of SPAN belongs to INDEX, whatever it belonged to. */
void stack_map_set(struct stack_map *g, struct span span, uint32_t index);
/* What ADDRESS belongs to, or UINT32_MAX. */
uint32_t stack_map_find(const struct stack_map *g, uint64_t address);
void stack_map_free(struct stack_map *g);
