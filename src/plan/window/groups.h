/*
 * Stage 7: which ranges are one function, and which of them are entered from outside. A range that
 * is left for the middle of another, or at another depth than a function's entry, is part of that
 * function: .cold parts, and the pieces of hand-written code. A *group* is all ranges of one
 * function; its *root* is the lowest of them.
 */
#pragma once

#include "plan/depth/depth.h"

struct func_group {
    uint32_t root;
    uint32_t tables; /* jump tables of its own that were decoded */
    bool called;     /* entered from outside its group */
    bool entry;      /* what users see as a function */
    bool falls;      /* its end runs into the next range */
    bool in_table;   /* its start is an entry of another range's jump table */
};

struct group { /* of all its ranges */
    uint32_t tables, code_refs;
    bool bad, unproven, loose;
};

struct groups {
    const struct code *code;
    const struct depths *depths;
    struct func_group *by_func;
    struct group *by_root;
    uint8_t *targets; /* bitmap by place: code.targets, depths.labels, entries of tables, starts */
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
/* An indirect jump to somewhere in its own function, so many bytes from a place there. */
bool transfer_is_computed(const struct groups *g, const struct transfer *t);

/* What a table of addresses leads to. */
enum table_use { TABLE_UNKNOWN, TABLE_SWITCH, TABLE_FUNCTIONS };
enum table_use table_use(const struct groups *g, uint32_t func, vaddr_t table);
