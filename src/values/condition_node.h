/* The tree of a condition, for condition.c and predicate.c. */
#pragma once

#include "base/mem.h"
#include "values/condition.h"

enum condition_op {
    CONDITION_OR,
    CONDITION_AND,
    CONDITION_NOT,
    COMPARE_EQUAL,
    COMPARE_UNEQUAL,
    COMPARE_LESS,
    COMPARE_AT_MOST,
    COMPARE_MORE,
    COMPARE_AT_LEAST
};

struct compared { /* an operand of a comparison */
    bool is_expression;
    size_t number; /* of the expression */
    struct plain_value constant;
    bool masked; /* "& mask" */
    uint64_t mask;
};

struct condition_node {
    enum condition_op op;
    const struct condition_node *left, *right; /* of or, and; of not: left */
    struct compared values[2];                 /* of comparisons */
};

struct condition {
    struct arena *arena;
    const struct condition_node *root;
    ARRAY(struct condition_operand) expressions;
};

static inline bool condition_compares(const struct condition_node *n) {
    return n->op >= COMPARE_EQUAL;
}

/* Whether the order −1, 0, 1 of two values fits OP. */
static inline bool condition_fits(enum condition_op op, int order) {
    switch (op) {
    case COMPARE_EQUAL:
        return order == 0;
    case COMPARE_UNEQUAL:
        return order != 0;
    case COMPARE_LESS:
        return order < 0;
    case COMPARE_AT_MOST:
        return order <= 0;
    case COMPARE_MORE:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* Makes VALUE that of the operand V: applies its mask. */
void condition_mask(const struct compared *v, struct plain_value *value);
