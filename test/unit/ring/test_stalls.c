/* Where a thread that found its ring full has lost events. */
#include "ring/stalls.h"

#include "../trace/support.h"

#define TESTS                                                                                      \
    TEST(no_gap_where_nothing_was_lost)                                                            \
    TEST(gap_at_the_limit)                                                                         \
    TEST(no_gap_for_a_head_below_the_limit)                                                        \
    TEST(gap_for_a_head_shortly_before_the_limit)                                                  \
    TEST(both_of_two_possible_positions)                                                           \
    TEST(losses_at_the_limit_before_and_the_present)                                               \
    TEST(passed_positions_get_no_more)                                                             \
    TEST(more_losses_at_one_position)                                                              \
    TEST(loss_at_an_unseen_position)                                                               \
    TEST(counter_that_goes_back)

enum { RING = 4096 };

/* A look at LIMIT, after which there was no other. */
static void look(struct stalls *s, uint64_t limit, uint64_t lost, uint64_t head) {
    stalls_look(s, &(struct stall_limits){limit, limit}, lost, head);
}

static void expect_gap(struct stalls *s, uint64_t at, uint64_t lost) {
    const struct stall *gap = stalls_first_gap(s);
    assert_non_null(gap);
    assert_int_equal(gap->at, at);
    assert_int_equal(gap->lost, lost);
    stalls_remove_first_gap(s);
}

static void expect_no_gap(const struct stalls *s) { assert_null(stalls_first_gap(s)); }

static void no_gap_where_nothing_was_lost(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, 0, RING);
    look(&s, 2 * RING, 0, 2 * RING);
    stalls_pass(&s, 3 * RING);
    expect_no_gap(&s);
    stalls_done(&s);
}

static void gap_at_the_limit(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, 7, RING);
    stalls_pass(&s, RING + 16);
    look(&s, 2 * RING, 12, 2 * RING);
    expect_gap(&s, RING, 7);
    expect_gap(&s, 2 * RING, 5);
    expect_no_gap(&s);
    stalls_done(&s);
}

static void no_gap_for_a_head_below_the_limit(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, 0, RING / 2);
    look(&s, 2 * RING, 3, 2 * RING);
    expect_gap(&s, 2 * RING, 3);
    expect_no_gap(&s);
    stalls_done(&s);
}

/* The thread has come to the first limit, and its processor has not shown that yet. */
static void gap_for_a_head_shortly_before_the_limit(void **state) {
    (void)state;
    struct stalls s = {0};
    stalls_look(&s, &(struct stall_limits){RING, 2 * RING}, 0, RING - 16);
    look(&s, 2 * RING, 3, 2 * RING);
    expect_gap(&s, RING, 0);
    expect_gap(&s, 2 * RING, 3);
    stalls_done(&s);
}

/* The thread may have been about to count one event at the first. */
static void both_of_two_possible_positions(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, 0, RING);
    look(&s, 2 * RING, 3, 2 * RING);
    stalls_pass(&s, 2 * RING);
    expect_gap(&s, RING, 0);
    expect_gap(&s, 2 * RING, 3);
    stalls_done(&s);
}

/* The thread has come to the new limit before the look: the losses may be of either. */
static void losses_at_the_limit_before_and_the_present(void **state) {
    (void)state;
    struct stalls s = {0};
    stalls_look(&s, &(struct stall_limits){RING, 2 * RING}, 5, 2 * RING);
    expect_gap(&s, RING, 0);
    expect_gap(&s, 2 * RING, 5);
    stalls_look(&s, &(struct stall_limits){2 * RING, 3 * RING}, 6, 2 * RING + 16);
    expect_gap(&s, 2 * RING, 1);
    expect_no_gap(&s);
    stalls_done(&s);
}

static void passed_positions_get_no_more(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, 0, RING);
    look(&s, 2 * RING, 0, RING + 32);
    stalls_pass(&s, RING + 32);
    look(&s, 2 * RING, 3, 2 * RING);
    expect_gap(&s, 2 * RING, 3);
    expect_no_gap(&s);
    stalls_done(&s);
}

static void more_losses_at_one_position(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, 1, RING); /* before the limit moves */
    stalls_pass(&s, RING);
    look(&s, RING, 4, RING + 16); /* behind its move */
    expect_gap(&s, RING, 4);
    expect_no_gap(&s);
    stalls_done(&s);
}

/* Stores of the thread may be seen out of order. */
static void loss_at_an_unseen_position(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, 2, RING - 16);
    expect_gap(&s, RING, 2);
    stalls_done(&s);
}

static void counter_that_goes_back(void **state) {
    (void)state;
    struct stalls s = {0};
    look(&s, RING, UINT64_MAX, RING);
    stalls_forget(&s);
    look(&s, 2 * RING, 3, 2 * RING);
    expect_no_gap(&s);
    stalls_begin(&s);
    look(&s, RING, 3, RING);
    expect_gap(&s, RING, 3);
    stalls_done(&s);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring stalls", tests, NULL, NULL);
}
