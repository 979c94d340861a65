/*
 * The code of stubs that judge calls (stub.h, STUB_JUDGE), as far as it is the same for AArch64,
 * A32 and T32: the order of what is read, tested and written. (x86-64 keeps flags and lane in ways
 * of its own: x86_64/judge.h.) A machine's part writes the instructions. In these there are the
 * registers of value_reader, and two more, which may be the same ones: the call, which is the stack
 * pointer at its function's entry, and a place in the sets of struct kept_calls (wire/ring.h).
 *
 *   an entry:            the predicate's tests; where one fails, the next look; where all hold,
 *                        `keep`
 *   an entry, an exit:   is the call kept, or does an entry show that a kept one is over?
 *   keep:                the call is added to the sets
 *   an exit's end:       the call is removed from the sets
 */
#pragma once

#include "arch/capture.h"
#include "values/predicate.h"

/* Where code goes on, besides at the test with a number. */
enum judge_label {
    JUDGE_FALSE = PREDICATE_FALSE,
    JUDGE_TRUE = PREDICATE_TRUE,
    JUDGE_KEEP = -3,
    JUDGE_FREE = -4,  /* the place is a free one */
    JUDGE_FOUND = -5, /* the place is the call's */
    JUDGE_PASS = -6,  /* the event is not recorded: behind the code */
    JUDGE_GO = -7     /* it is: where the stub goes on to the event */
};

/* CTX is a struct reading. FIELD: KEPT_COUNT and the like. */
struct judge_machine {
    const struct value_reader *reader;
    void (*begin_label)(void *ctx, int label);
    void (*jump)(void *ctx, int label);
    /* The word becomes the number that the bits of T are; goes to LABEL if OP holds for it. */
    void (*take_number)(void *ctx, const struct predicate_test *t);
    void (*compare)(void *ctx, const struct predicate_test *t, enum predicate_op op, int label);

    void (*find_kept)(void *ctx); /* the lane's register becomes the address of kept_calls */
    void (*test_field)(void *ctx, unsigned field, bool set, int label); /* goes to it if not 0, or
                                                                           unless SET, if 0 */
    void (*load_call)(void *ctx);
    /* Goes to LABEL if the call is not below that whose complement FIELD has; ABOVE: above it. */
    void (*compare_call)(void *ctx, unsigned field, bool above, int label);
    void (*find_set)(void *ctx); /* the place becomes the first one of the call's set */
    void (*next_place)(void *ctx, bool back);
    /* Goes to LABEL if the place has the call; FREE: has none. */
    void (*compare_place)(void *ctx, bool free, int label);
    void (*set_place)(void *ctx, bool free); /* it gets the call; FREE: none */
    void (*count)(void *ctx, bool more);
    void (*set_full)(void *ctx);
    void (*set_newest)(void *ctx); /* the call is the newest one */
    size_t (*size)(void *ctx);     /* of the code and what is before it */
    size_t test_most_bytes;        /* of the code of a test */
};

/* Writes the code for R's stub. False: it has no room for that. */
bool judge_put(const struct judge_machine *machine, struct reading *r);
