/*
 * How deep the stack is at each instruction of a function, told from its code: for functions that
 * no call-frame information describes.
 *
 * Private to src/plan.
 */
#ifndef SPOOR_PLAN_DEPTH_H
#define SPOOR_PLAN_DEPTH_H

#include "plan/analysis.h"

/* Follows the code of each function without call-frame information; finds out which are proven, and
 * completes their transfers. After targets_note() and transfers_resolve(). */
void depths_find(struct analysis *a);
/* Follows FUNC, whatever describes it, and the parts that it jumps to. False when not all that it
 * may do was followed. */
bool depth_follow(struct analysis *a, uint32_t func);
/* func_depth() as F's code tells it, once that was followed. */
int32_t depth_at(const struct analysis *a, const struct func *f, vaddr_t addr);
/* A jump into another function: do both say the same depth there, counted from the frame that inner
 * functions return for? */
bool depths_agree(const struct analysis *a, const struct transfer *t);

/* ---- inner.c ---- */
/* Finds out which functions without call-frame information are inner, and what calls them; those
 * that are not proven to be. */
void inner_find(struct analysis *a);

/* ---- anchors.c ---- */
/* Finds out which functions without call-frame information are loose. */
void anchors_find(struct analysis *a);

/* ---- labels.c ---- */
typedef address_list label_list;
/* Adds the places in FUNC and in parts that FUNC's indirect jumps may lead to; all are targets. */
void labels_find(struct analysis *a, uint32_t func, label_list *ret);
/* Index of the first of LOADS that is of FUNC or of a later function. */
size_t loads_first(const struct address_load *loads, size_t count, uint32_t func);
/* How many words of SIZE bytes there can be in a table at TABLE: up to other data. */
size_t data_room(struct analysis *a, vaddr_t table, size_t size);
/* Index of the first transfer at or behind FROM. */
size_t transfer_at(const struct analysis *a, vaddr_t from);

/* Is F no function of its own? */
static inline bool func_is_part(const struct func *f) { return f->cold || !f->entry_depth; }

#endif
