/*
 * A predicate: the part of a condition that a stub judges before it records an entry. Its tests
 * compare integers with constants. It holds wherever the condition holds, and may hold elsewhere:
 * the reader of the ring judges the whole condition. So a comparison that no test can express
 * counts as true. A value that cannot be read counts as false, as it meets no condition. ("!" is
 * moved into the comparisons.)
 */
#pragma once

#include "values/condition.h"

/* Where a test leads: to a test of a lower number, or … */
enum { PREDICATE_FALSE = -1, PREDICATE_TRUE = -2, PREDICATE_MOST_TESTS = 12 };

enum predicate_op { TEST_EQUAL, TEST_UNEQUAL, TEST_LESS, TEST_AT_MOST, TEST_MORE, TEST_AT_LEAST };

struct predicate_test {
    struct capture_value value; /* the program that leads to it (capture.h) */
    uint16_t at;                /* the first of the bytes that are loaded: in its words, or behind
                                   the address of its last step */
    uint8_t size;               /* of these: 1, 2, 4 or 8 */
    uint8_t shift, bits;        /* which bits of them */
    bool is_signed;
    bool masked;
    uint64_t mask;
    enum predicate_op op;
    uint64_t constant; /* of 64 bits, signed as the value */
    int8_t on_true, on_false;
};

struct predicate {
    struct predicate_test *tests; /* the last one is the first to be made */
    size_t count;                 /* 0: all is left to the reader */
};

/* READERS: of the operands in CAPTURE (condition_bind). */
void predicate_init(const struct condition *c, const struct operand_reader *readers,
                    const struct capture *capture, struct predicate *ret);
void predicate_done(struct predicate *p);
