/* src/analyze/names.h, filter.h and suggest.h: functions by name. */
#include "support.h"

#include <string.h>

#define TESTS                                                                                      \
    TEST(dense_function_ids)                                                                       \
    TEST(unknown_function_of_foreign_ids)                                                          \
    TEST(demangled_names_or_addresses)                                                             \
    TEST(control_characters_in_names)                                                              \
    TEST(distinct_aliases)                                                                         \
    TEST(pattern_fits_any_form_of_a_name)                                                          \
    TEST(unmatched_filter_suggests_near_names)                                                     \
    TEST(filter_on_uninstrumented_functions)                                                       \
    TEST(missing_module_is_an_error)                                                               \
    TEST(missing_thread_is_an_error)                                                               \
    TEST(excluding_nothing_is_no_error)

static struct lab lab;

static int open_lab(void **state) {
    (void)state;
    lab_init(&lab);
    lab_enter(&lab, 0, 10, MAIN, 0x1ff00);
    lab_open(&lab, "");
    return 0;
}

static int close_lab(void **state) {
    (void)state;
    lab_done(&lab);
    return 0;
}

static const char *name(uint32_t id) {
    struct names *n = lab.source.names;
    return names_function(n, names_index(n, id));
}

static bool matches(uint32_t id, const char *text) {
    struct names *n = lab.source.names;
    struct pattern *p;
    assert_int_equal(pattern_new(text, &p, NULL), 0);
    bool match = names_match(n, names_index(n, id), p);
    pattern_free(p);
    return match;
}

static void expect_error(const char *line, const char *tag, const char *part) {
    struct err err = {0};
    assert_true(lab_try(&lab, line, &err) < 0);
    assert_string_equal(err.tag, tag);
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in '%s'", part, err.text);
}

static void dense_function_ids(void **state) {
    struct names *n = lab.source.names;
    uint8_t seen[FUNCTIONS] = {0};
    (void)state;
    assert_int_equal(names_count(n), FUNCTIONS);
    for (uint32_t id = MAIN; id < FUNCTIONS; id++)
        seen[names_index(n, id)]++;
    for (uint32_t i = 0; i + 1 < FUNCTIONS; i++)
        assert_int_equal(seen[i], 1);
}

static void unknown_function_of_foreign_ids(void **state) {
    struct names *n = lab.source.names;
    (void)state;
    assert_int_equal(names_index(n, 0), FUNCTIONS - 1);
    assert_int_equal(names_index(n, FUNCTIONS), FUNCTIONS - 1);
    assert_int_equal(names_index(n, 0x3fffffff), FUNCTIONS - 1);
    assert_string_equal(name(0), "<unknown>");
    assert_int_equal(names_module(n, FUNCTIONS - 1), names_module_count(n) - 1);
    assert_string_equal(names_module_name(n, names_module_count(n) - 1), "<unknown>");
    assert_false(names_instrumented(n, FUNCTIONS - 1));
}

static void demangled_names_or_addresses(void **state) {
    (void)state;
    assert_string_equal(name(MAIN), "main");
    assert_string_equal(name(DRAW), "ns::draw(int)");
    assert_string_equal(name(UNNAMED), "prog+0x1030");
}

static void control_characters_in_names(void **state) {
    (void)state;
    assert_string_equal(name(SKIPPED), "skipped?[2J");
}

static void distinct_aliases(void **state) {
    struct names *n = lab.source.names;
    const char *const *alias = names_aliases(n, names_index(n, MAKE));
    (void)state;
    assert_non_null(alias);
    assert_string_equal(alias[0], "make_shape"); /* the constructors' names are the same */
    assert_null(alias[1]);
    assert_null(names_aliases(n, names_index(n, MAIN)));
    assert_null(names_aliases(n, names_index(n, 0)));
}

static void pattern_fits_any_form_of_a_name(void **state) {
    (void)state;
    assert_true(matches(DRAW, "ns::draw(int)"));
    assert_true(matches(DRAW, "ns::draw"));
    assert_true(matches(DRAW, "_ZN2ns4drawEi"));
    assert_true(matches(DRAW, "/^ns::/"));
    assert_true(matches(DRAW, "libdraw*!ns::draw"));
    assert_false(matches(DRAW, "prog!ns::draw"));
    assert_false(matches(DRAW, "draw"));
    assert_true(matches(MAKE, "make_shape"));
    assert_true(matches(MAKE, "_ZN2ns5ShapeC2Ei"));
    assert_true(matches(UNNAMED, "prog+0x10*"));
}

static void unmatched_filter_suggests_near_names(void **state) {
    (void)state;
    expect_error("-F fibb", "no-match",
                 "'fibb': matches no function of the trace (did you mean fib?)");
    expect_error("-F drwa", "no-match", "ns::draw");
    expect_error("-F nothing_like_this", "no-match", "matches no function of the trace");
}

static void filter_on_uninstrumented_functions(void **state) {
    (void)state;
    expect_error("-F skipped*", "no-match", "matches 1 function, but none that was instrumented");
}

static void missing_module_is_an_error(void **state) {
    (void)state;
    expect_error("-M libdrow.so", "no-module", "libdraw.so");
}

static void missing_thread_is_an_error(void **state) {
    (void)state;
    expect_error("-T 99", "no-thread", "nearest is 100");
}

static void excluding_nothing_is_no_error(void **state) {
    (void)state;
    lab_open(&lab, "-N nothing_like_this");
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
