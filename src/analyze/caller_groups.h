/* Numbers the pairs of function and chain of callers (record --stack) that a trace's calls have; or
 * those of function and value (value_groups.h), which stands in the place of the chain.
 * Chains that are shown alike (places.h) are one. Calls of a function whose callers were not
 * recorded are one group. */
#pragma once

#include "analyze/places.h"
#include "analyze/value_groups.h"
#include "analyze/walk.h"

struct caller_group {
    uint32_t function, chain;
};

struct caller_groups;
/* Reads all calls that SOURCE shows. PLACES must outlive the groups. */
struct caller_groups *caller_groups_new(const struct source *source, const struct places *places);
/* VALUES are of the same source, and must outlive the groups. */
struct caller_groups *caller_groups_by_value(const struct source *source,
                                             const struct value_groups *values);
void caller_groups_free(struct caller_groups *g);
uint32_t caller_groups_count(const struct caller_groups *g);
const struct caller_group *caller_groups_at(const struct caller_groups *g, uint32_t number);
/* The number of a call that the same source shows. */
uint32_t caller_groups_number(const struct caller_groups *g, const struct walk_call *call);
