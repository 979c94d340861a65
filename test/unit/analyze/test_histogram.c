/* src/analyze/histogram.h: the histograms behind percentiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../trace/generate.h"
#include "analyze/histogram.h"
#include "base/mem.h"

#define TESTS                                                                                      \
    TEST(contiguous_buckets)                                                                       \
    TEST(values_within_one_percent)                                                                \
    TEST(exact_small_values)                                                                       \
    TEST(ranks_within_one_percent)                                                                 \
    TEST(memory_of_the_range_in_use)

static void add(struct histogram *h, uint64_t value) {
    if (!histogram_slot(h, value))
        histogram_widen(h, value);
    ++*histogram_slot(h, value);
}

static uint64_t distance(uint64_t a, uint64_t b) { return a < b ? b - a : a - b; }

static void contiguous_buckets(void **state) {
    (void)state;
    for (uint64_t v = 0; v < 100000; v++)
        assert_in_range(histogram_bucket(v + 1) - histogram_bucket(v), 0, 1);
    for (unsigned bit = 7; bit < 64; bit++) {
        uint64_t power = (uint64_t)1 << bit;
        assert_int_equal(histogram_bucket(power), histogram_bucket(power - 1) + 1);
        assert_int_equal(histogram_bucket(power), 64 * (bit - 5));
    }
    assert_int_equal(histogram_bucket(UINT64_MAX), 64 * 59 - 1);
}

static void values_within_one_percent(void **state) {
    uint64_t random = 1;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t value = random_next(&random) >> random_below(&random, 64);
        struct histogram h = {0};
        add(&h, value);
        uint64_t got = histogram_value(&h, 1);
        if (distance(got, value) > value / 100)
            fail_msg("%lu became %lu", value, got);
        histogram_done(&h);
    }
}

static void exact_small_values(void **state) {
    (void)state;
    for (uint64_t value = 0; value < 128; value++) {
        struct histogram h = {0};
        add(&h, value);
        assert_int_equal(histogram_value(&h, 1), value);
        histogram_done(&h);
    }
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void ranks_within_one_percent(void **state) {
    enum { COUNT = 20000 };
    uint64_t random = 7, *values = mem_alloc(COUNT * sizeof *values);
    struct histogram h = {0};
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        values[i] = random_next(&random) >> random_below(&random, 64);
        add(&h, values[i]);
    }
    qsort(values, COUNT, sizeof *values, compare);
    for (uint64_t rank = 1; rank <= COUNT; rank += 13) {
        uint64_t got = histogram_value(&h, rank), right = values[rank - 1];
        if (distance(got, right) > right / 100)
            fail_msg("rank %lu: %lu instead of %lu", rank, got, right);
    }
    histogram_done(&h);
    free(values);
}

static void memory_of_the_range_in_use(void **state) {
    struct histogram h = {0};
    (void)state;
    add(&h, 1000000);
    assert_int_equal(h.groups, 1);
    add(&h, 2000000);
    assert_in_range(h.groups, 2, 64 / HISTOGRAM_GROUP + 1);
    add(&h, 500);
    assert_true(h.first * HISTOGRAM_GROUP <= histogram_bucket(500));
    assert_int_equal(histogram_value(&h, 1), 501);
    assert_in_range(histogram_value(&h, 3), 1990000, 2010000);
    histogram_done(&h);
    assert_null(h.counts);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
