/* Comparisons: names that a new build changes, rows of two sides, their differences and order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyze/compare.h"
#include "analyze/stems.h"
#include "base/mem.h"

#define TESTS                                                                                      \
    TEST(suffixes_of_copies_and_parts_go)                                                          \
    TEST(versions_of_modules_go)                                                                   \
    TEST(rows_meet_by_name_and_module)                                                             \
    TEST(many_functions_stay_apart)                                                                \
    TEST(the_largest_difference_comes_first)                                                       \
    TEST(equal_functions_of_a_side_are_one)

struct pair {
    const char *name, *stem;
};

static void suffixes_of_copies_and_parts_go(void **state) {
    (void)state;
    static const struct pair pairs[] = {
        {"f", "f"},
        {"f.isra.0", "f"},
        {"f.constprop.12", "f"},
        {"f.part.2.isra.0", "f"},
        {"f.cold", "f"},
        {"f.lto_priv.0", "f"},
        {"f.llvm.1234567890", "f"},
        {"ns::f(int) [clone .isra.0]", "ns::f(int)"},
        {"ns::f(int) [clone .part.0] [clone .cold]", "ns::f(int)"},
        {"ns::f(int) [clone .constprop.0.isra.1]", "ns::f(int)"},
        {"task::run() [clone .actor]", "task::run() [clone .actor]"},
        {"f.isra.0.actor", "f.isra.0.actor"},
        {"f.12", "f.12"},
        {"f.israel", "f.israel"},
        {"main.part", "main"},
        {".isra.0", ".isra.0"},
        {"[clone .isra.0]", "[clone .isra.0]"},
        {"]", "]"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        AUTO_FREE char *stem = stem_of_name(pairs[i].name);
        assert_string_equal(stem, pairs[i].stem);
    }
}

static void versions_of_modules_go(void **state) {
    (void)state;
    static const struct pair pairs[] = {
        {"libfoo.so", "libfoo.so"},
        {"libfoo.so.1", "libfoo.so"},
        {"libfoo.so.1.2.3", "libfoo.so"},
        {"libc-2.36.so", "libc.so"},
        {"prog", "prog"},
        {"prog-1.2", "prog-1.2"},
        {"lib-a.so", "lib-a.so"},
        {"x.so.old", "x.so.old"},
        {"-1.so", "-1.so"},
        {"a.so.d.so.2", "a.so.d.so"},
        {"ld-linux-x86-64.so.2", "ld-linux-x86-64.so"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        AUTO_FREE char *stem = stem_of_module(pairs[i].name);
        assert_string_equal(stem, pairs[i].stem);
    }
}

static struct compare_figures figures(uint64_t calls, uint64_t total, uint64_t p50) {
    return (struct compare_figures){.is_there = true, .numbers = {calls, total, total, p50, p50}};
}

static void add(struct comparison *c, int index, const char *name, struct compare_figures f) {
    compare_add(c, compare_row_of(c, 0, compare_function(c, index, name, "m.so.1")), index, &f);
}

static void rows_meet_by_name_and_module(void **state) {
    (void)state;
    struct comparison *c = comparison_new((const char *const[]){"old-prog", "new-prog"});
    uint32_t f = compare_function(c, 0, "f", "old-prog");
    assert_int_equal(compare_function(c, 1, "f.isra.0", "new-prog"), f);
    assert_string_equal(compare_module(c, f), "new-prog");
    assert_string_equal(compare_name(c, f), "f");
    assert_int_not_equal(compare_function(c, 1, "f", "old-prog"), f);
    uint32_t g = compare_function(c, 1, "g", "lib.so.2");
    assert_int_equal(compare_function(c, 0, "g", "lib.so.1"), g);
    assert_string_equal(compare_module(c, g), "lib.so.2");
    comparison_free(c);
}

static void many_functions_stay_apart(void **state) {
    (void)state;
    enum { MANY = 5000 };
    struct comparison *c = comparison_new(NULL);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < MANY; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%u", i);
            assert_int_equal(compare_function(c, side, name, "m"), i);
        }
    comparison_free(c);
}

static void the_largest_difference_comes_first(void **state) {
    (void)state;
    struct comparison *c = comparison_new(NULL);
    uint32_t count;
    add(c, 0, "same", figures(1, 1000, 5));
    add(c, 1, "same", figures(1, 1000, 5));
    add(c, 0, "faster", figures(1, 500, 9));
    add(c, 1, "faster", figures(1, 100, 7));
    add(c, 0, "slower", figures(2, 100, 9));
    add(c, 1, "slower", figures(1, 400, 9));
    add(c, 1, "new", figures(1, 50, 50));
    compare_finish(c);
    AUTO_FREE uint32_t *order = compare_order(c, COMPARE_TOTAL, &count);
    static const char *const wanted[] = {"faster", "slower", "new", "same"};
    static const int64_t differences[] = {-400, 300, 50, 0};
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < count; i++) {
        const struct compare_row *row = compare_row(c, order[i]);
        assert_string_equal(compare_name(c, row->function), wanted[i]);
        assert_int_equal(compare_difference(row, COMPARE_TOTAL), differences[i]);
        assert_int_equal(compare_differs(row), i < 3);
    }
    assert_false(compare_row(c, order[2])->sides[0].is_there);
    comparison_free(c);
}

static void equal_functions_of_a_side_are_one(void **state) {
    (void)state;
    struct comparison *c = comparison_new(NULL);
    struct compare_figures a = figures(2, 30, 0), b = figures(1, 1000, 0);
    for (uint64_t ns = 10; ns <= 20; ns += 10) {
        histogram_widen(&a.durations, ns);
        ++*histogram_slot(&a.durations, ns);
    }
    histogram_widen(&b.durations, 1000);
    ++*histogram_slot(&b.durations, 1000);
    a.min_ns = 10, a.max_ns = 20, b.min_ns = b.max_ns = 1000;
    add(c, 0, "f", a);
    add(c, 0, "f.cold", b);
    compare_finish(c);
    const struct compare_figures *sum = &compare_row(c, 1)->sides[0];
    assert_int_equal(compare_count(c), 2);
    assert_int_equal(sum->numbers[COMPARE_CALLS], 3);
    assert_int_equal(sum->numbers[COMPARE_TOTAL], 1030);
    assert_int_equal(sum->numbers[COMPARE_P50], 20);
    assert_int_equal(sum->numbers[COMPARE_P99], 1000);
    histogram_done(&a.durations);
    histogram_done(&b.durations);
    comparison_free(c);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
