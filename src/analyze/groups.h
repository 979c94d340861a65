/*
 * The calls of a trace by function and chain of callers (record --stack), as dense numbers. Calls
 * of a function whose callers were not recorded are one group.
 */
#ifndef SPOOR_ANALYZE_GROUPS_H
#define SPOOR_ANALYZE_GROUPS_H

#include "analyze/walk.h"

struct group {
    uint32_t function, chain;
};

struct groups;
/* Reads all that SOURCE shows. */
struct groups *groups_new(const struct source *source);
void groups_free(struct groups *g);
uint32_t groups_count(const struct groups *g);
const struct group *groups_at(const struct groups *g, uint32_t number);
/* Of a call that the same source shows. */
uint32_t groups_number(const struct groups *g, uint32_t function, uint32_t chain);

#endif
