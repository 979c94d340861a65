/*
 * Stage 7: which ranges form one function, and which are entered from outside. A range that jumps
 * into the middle of another, or to it at another depth than a function's entry has, is part of
 * that function. Such ranges are .cold parts and pieces of hand-written code. A *group* is all
 * ranges of one function. Its *root* is the lowest range.
 */
#pragma once

#include "plan/depth/depth.h"

struct func_group {
    uint32_t root;
    uint32_t tables; /* jump tables of the range that were decoded */
    bool called;     /* entered from outside of its group */
    bool entry;      /* users see it as a function */
    bool falls;      /* its end runs into the next range */
    bool strays;     /* perhaps, some of its code is not known to belong to its group */
    bool inside;     /* another range jumps to it by a table, or to a bottom of a stack */
};

struct group { /* sums over its ranges; as in func_code, func_depth, func_group */
    uint32_t tables, code_refs;
    bool undecodable, unproven, movable;
};

struct groups {
    const struct code *code;
    const struct depths *depths;
    struct func_group *by_func;
    struct group *by_root;
    uint8_t *targets; /* bitmap by place: code.targets, depths.labels, table entries, starts */
};

struct groups groups_find(const struct depths *depths);
void groups_done(struct groups *groups);

static inline uint32_t group_of(const struct groups *g, uint32_t func) {
    while (g->by_func[func].root != func)
        func = g->by_func[func].root;
    return func;
}
static inline const struct group *group_at(const struct groups *g, uint32_t func) {
    return &g->by_root[group_of(g, func)];
}
/* True for an indirect jump to a computed distance from a place in its own function. */
bool transfer_is_computed(const struct groups *g, const struct transfer *t);

/* What a table of addresses leads to: labels in the jump's function, or functions. */
enum table_use { TABLE_UNKNOWN, TABLE_SWITCH, TABLE_FUNCTIONS };
enum table_use table_use(const struct groups *g, uint32_t func, vaddr_t table);
