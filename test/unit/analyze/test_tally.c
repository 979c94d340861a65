/* src/analyze/tally.h: the same numbers as a histogram of the same values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../trace/generate.h"
#include "analyze/tally.h"

#define TESTS                                                                                      \
    TEST(same_as_a_histogram)                                                                      \
    TEST(more_than_a_byte)                                                                         \
    TEST(many_calls_at_once)                                                                       \
    TEST(empty_again)

static void add(struct tally *t, struct histogram *h, uint64_t value) {
    if (!tally_slot(t, value))
        tally_widen(t, value);
    uint8_t *slot = tally_slot(t, value);
    if (!++*slot)
        tally_carry(t, slot);
    ++*histogram_counter(h, value);
}

/* Bucket by bucket, added to another one, and in all. */
static void compare(const struct tally *t, const struct histogram *h) {
    struct histogram sum = {0};
    uint64_t all = 0, calls;
    for (uint32_t i = 0; tally_next(t, &i, &calls); i++) {
        const uint64_t *slot = histogram_slot(h, histogram_least(i));
        assert_non_null(slot);
        assert_int_equal(calls, *slot);
        all += calls;
    }
    assert_int_equal(all, histogram_count(h));
    assert_int_equal(tally_sum(t), all);
    ++*histogram_counter(&sum, 77);
    assert_int_equal(tally_add_to(t, &sum), all);
    assert_int_equal(histogram_count(&sum), all + 1);
    --*histogram_counter(&sum, 77);
    for (uint64_t rank = 1; rank <= all; rank += 1 + all / 100)
        assert_int_equal(histogram_value(&sum, rank), histogram_value(h, rank));
    histogram_done(&sum);
}

static void done(struct tally *t, struct histogram *h) {
    tally_done(t);
    histogram_done(h);
}

static void same_as_a_histogram(void **state) {
    struct tally t = {0};
    struct histogram h = {0};
    uint64_t random = 3;
    (void)state;
    compare(&t, &h);
    for (int i = 0; i < 20000; i++) {
        add(&t, &h, random_next(&random) >> random_below(&random, 64));
        if (i < 20)
            compare(&t, &h);
    }
    compare(&t, &h);
    done(&t, &h);
}

static void more_than_a_byte(void **state) {
    struct tally t = {0};
    struct histogram h = {0};
    (void)state;
    for (int i = 1; i <= 1024; i++) {
        add(&t, &h, 5000);
        add(&t, &h, i < 300 ? 90 : 100000);
        if (i % 256 == 0 || i % 256 == 255)
            compare(&t, &h);
    }
    compare(&t, &h);
    done(&t, &h);
}

static void many_calls_at_once(void **state) {
    static const uint64_t counts[] = {1, 255, 256, 257, 1000000007, 511};
    struct tally t = {0};
    struct histogram h = {0};
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t bucket = i * i % 23 * 100;
        tally_add(&t, bucket, counts[i % 6]);
        *histogram_counter(&h, histogram_least(bucket)) += counts[i % 6];
        compare(&t, &h);
    }
    done(&t, &h);
}

static void empty_again(void **state) {
    struct tally t = {0};
    struct histogram h = {0};
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2000; i++)
            add(&t, &h, i % 2 ? 1000 : 1000000);
        compare(&t, &h);
        tally_clear(&t);
        histogram_done(&h);
        assert_int_equal(t.groups, 0);
        compare(&t, &h);
        add(&t, &h, round ? 3 : 40000);
        compare(&t, &h);
    }
    done(&t, &h);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
