/*
 * The calls of a trace by function and chain of callers (record --stack), as dense numbers: chains
 * that are shown alike (places.h) are one. Calls of a function whose callers were not recorded are
 * one group.
 */
#ifndef SPOOR_ANALYZE_GROUPS_H
#define SPOOR_ANALYZE_GROUPS_H

#include "analyze/places.h"
#include "analyze/walk.h"

struct group {
    uint32_t function, chain;
};

struct groups;
/* Reads all that SOURCE shows. PLACES must outlive the groups. */
struct groups *groups_new(const struct source *source, const struct places *places);
void groups_free(struct groups *g);
uint32_t groups_count(const struct groups *g);
const struct group *groups_at(const struct groups *g, uint32_t number);
/* Of a call that the same source shows. */
uint32_t groups_number(const struct groups *g, uint32_t function, uint32_t chain);

#endif
