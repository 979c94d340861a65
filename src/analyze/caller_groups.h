/* Numbers the pairs of function and chain of callers (record --stack) that a trace's calls have.
 * Chains that are shown alike (places.h) are one. Calls of a function whose callers were not
 * recorded are one group. */
#pragma once

#include "analyze/places.h"
#include "analyze/walk.h"

struct caller_group {
    uint32_t function, chain;
};

struct caller_groups;
/* Reads all calls that SOURCE shows. PLACES must outlive the groups. */
struct caller_groups *caller_groups_new(const struct source *source, const struct places *places);
void caller_groups_free(struct caller_groups *g);
uint32_t caller_groups_count(const struct caller_groups *g);
const struct caller_group *caller_groups_at(const struct caller_groups *g, uint32_t number);
/* The number of a call that the same source shows. */
uint32_t caller_groups_number(const struct caller_groups *g, uint32_t function, uint32_t chain);
