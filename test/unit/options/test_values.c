/* Sizes, times, numbers and words of the command line; distances between names; searches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/near.h"
#include "base/search.h"
#include "cmd/values.h"

#define TESTS                                                                                      \
    TEST(sizes_in_units_of_1024)                                                                   \
    TEST(times_with_units)                                                                         \
    TEST(waits_in_seconds)                                                                         \
    TEST(invalid_quantities_refused)                                                               \
    TEST(parts_in_percent)                                                                         \
    TEST(whole_positive_numbers)                                                                   \
    TEST(choices_of_words)                                                                         \
    TEST(edit_distance_one)                                                                        \
    TEST(long_names_compared_by_their_start)                                                       \
    TEST(first_match_of_a_search)

static void sizes_in_units_of_1024(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0", 0},           {"512", 512},        {"64K", 65536},   {"64k", 65536},
                 {"1M", 1 << 20},    {"1MiB", 1 << 20},   {"1MB", 1 << 20}, {"1.5M", 3 << 19},
                 {"2G", 2ull << 30}, {"8GiB", 8ull << 30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 1;
        assert_true(value_size(cases[i].text, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void times_with_units(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {{"0", 0},
                 {"100", 100},
                 {"100ns", 100},
                 {"10us", 10000},
                 {"1.5ms", 1500000},
                 {"2s", 2000000000},
                 {"2sec", 2000000000},
                 {"1m", 60000000000},
                 {"1h", 3600000000000},
                 {"1.5 h", 5400000000000},
                 {"24.285ms", 24285000},
                 {"24.28 ms", 24280000},
                 {"3.4  s", 3400000000},
                 {"10µs", 10000},
                 {"10μs", 10000},
                 {"0.000000001s", 1},
                 {"1.999ns", 1},
                 {"0.25us", 250}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t ns = 7;
        assert_true(value_time(cases[i].text, &ns));
        assert_int_equal(ns, cases[i].ns);
    }
}

static void waits_in_seconds(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {{"2", 2000000000},
                 {"0.5", 500000000},
                 {"2s", 2000000000},
                 {"1ms", 1000000},
                 {"100ns", 100}};
    static const char *const none[] = {"0", "0s", "0.1ns", "", "2x", "9223372037", "-1"};
    uint64_t ns = 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(value_wait(cases[i].text, &ns));
        assert_int_equal(ns, cases[i].ns);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(value_wait(none[i], &ns));
    assert_int_equal(ns, 100);
}

static void invalid_quantities_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      " 1",
                                      "-1",
                                      "+1",
                                      "1 K",
                                      "K",
                                      "1x",
                                      ".5s",
                                      "1e3",
                                      "0x10",
                                      "1.2.3s",
                                      "1ms2",
                                      "99999999999999999999",
                                      "9223372036854775808",
                                      "9007199254740993K",
                                      "1.0000000001s"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t value = 42;
        assert_false(value_size(bad[i], &value));
        assert_false(value_time(bad[i], &value));
        assert_int_equal(value, 42);
    }
}

static void parts_in_percent(void **state) {
    (void)state;
    uint64_t n = 42;
    assert_true(value_percent("99%", &n));
    assert_int_equal(n, 99000000);
    assert_true(value_percent("0.000001%", &n));
    assert_int_equal(n, 1);
    assert_true(value_percent("12.5%", &n));
    assert_int_equal(n, 12500000);
    assert_true(value_percent("100%", &n));
    assert_int_equal(n, 100000000);
    static const char *const bad[] = {"",    "%",    "100.1%", "101%",       "-1%",
                                      "5",   "5%%",  "5 %",    "1.0000001%", ".5%",
                                      "5%x", "1.%2", "5.5.5%", "1e1%"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(value_percent(bad[i], &n));
}

static void whole_positive_numbers(void **state) {
    (void)state;
    uint32_t n = 42;
    assert_true(value_number("1", &n));
    assert_int_equal(n, 1);
    assert_true(value_number("4294967295", &n));
    assert_int_equal(n, UINT32_MAX);
    static const char *const bad[] = {"", "0", "-1", "4294967296", "1.5", "1 ", "99999999999", "a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(value_number(bad[i], &n));
    assert_int_equal(n, UINT32_MAX);
}

static void choices_of_words(void **state) {
    (void)state;
    assert_int_equal(value_choice("a", 1, "a|bc|d"), 0);
    assert_int_equal(value_choice("bcx", 2, "a|bc|d"), 1);
    assert_int_equal(value_choice("d", 1, "a|bc|d"), 2);
    assert_int_equal(value_choice("b", 1, "a|bc|d"), -1);
    assert_int_equal(value_choice("", 0, "a|bc|d"), -1);
    assert_int_equal(value_choice("a|bc", 4, "a|bc|d"), -1);
}

static void edit_distance_one(void **state) {
    (void)state;
    assert_int_equal(near_distance("report", "report"), 0);
    assert_int_equal(near_distance("reprot", "report"), 1);
    assert_int_equal(near_distance("repor", "report"), 1);
    assert_int_equal(near_distance("reportt", "report"), 1);
    assert_int_equal(near_distance("rebort", "report"), 1);
    assert_int_equal(near_distance("", "report"), 6);
    assert_int_equal(near_distance("kitten", "sitting"), 3);
}

static void long_names_compared_by_their_start(void **state) {
    (void)state;
    char a[1000], b[1000];
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = b[i] = 'x';
    a[sizeof a - 1] = b[sizeof b - 1] = 0;
    b[0] = 'y';
    assert_int_equal(near_distance(a, b), 1);
}

static void first_match_of_a_search(void **state) {
    (void)state;
    static const int numbers[] = {1, 3, 3, 3, 7};
    for (size_t count = 0; count <= sizeof numbers / sizeof *numbers; count++) {
        for (int wanted = 0; wanted < 9; wanted++) {
            size_t first = 0;
            while (first < count && numbers[first] < wanted)
                first++;
            assert_int_equal(SEARCH(i, count, numbers[i] < wanted), first);
        }
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
