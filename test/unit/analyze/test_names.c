/* src/analyze/names.h, filter.h and suggest.h: functions by name. */
#include "support.h"

#include <string.h>

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

static void ids_become_numbers_without_gaps(void **state) {
    struct names *n = lab.source.names;
    uint8_t seen[FUNCTIONS] = {0};
    (void)state;
    assert_int_equal(names_count(n), FUNCTIONS);
    for (uint32_t id = MAIN; id < FUNCTIONS; id++)
        seen[names_index(n, id)]++;
    for (uint32_t i = 0; i + 1 < FUNCTIONS; i++)
        assert_int_equal(seen[i], 1);
}

static void an_id_of_no_module_is_the_unknown_function(void **state) {
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

static void names_are_demangled_or_made_of_addresses(void **state) {
    (void)state;
    assert_string_equal(name(MAIN), "main");
    assert_string_equal(name(DRAW), "ns::draw(int)");
    assert_string_equal(name(UNNAMED), "prog+0x1030");
}

static void control_characters_in_names_are_shown_as_question_marks(void **state) {
    (void)state;
    assert_string_equal(name(SKIPPED), "skipped?[2J");
}

static void aliases_are_other_names_each_once(void **state) {
    struct names *n = lab.source.names;
    const char *const *alias = names_aliases(n, names_index(n, MAKE));
    (void)state;
    assert_non_null(alias);
    assert_string_equal(alias[0], "make_shape"); /* the constructors' names are the same */
    assert_null(alias[1]);
    assert_null(names_aliases(n, names_index(n, MAIN)));
    assert_null(names_aliases(n, names_index(n, 0)));
}

static void a_pattern_fits_any_form_of_a_name(void **state) {
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

static void a_filter_that_fits_nothing_names_what_is_near(void **state) {
    (void)state;
    expect_error("-F fibb", "no-match",
                 "'fibb': matches no function of the trace (did you mean fib?)");
    expect_error("-F drwa", "no-match", "ns::draw(int)");
    expect_error("-F nothing_like_this", "no-match", "matches no function of the trace");
}

static void a_filter_that_fits_only_what_was_not_instrumented_says_so(void **state) {
    (void)state;
    expect_error("-F skipped*", "no-match", "matches 1 function, but none that was instrumented");
}

static void a_module_that_is_not_there_is_an_error(void **state) {
    (void)state;
    expect_error("-M libdrow.so", "no-module", "libdraw.so");
}

static void a_thread_that_is_not_there_is_an_error(void **state) {
    (void)state;
    expect_error("-T 99", "no-thread", "nearest is 100");
}

static void excluding_what_is_not_there_is_none(void **state) {
    (void)state;
    lab_open(&lab, "-N nothing_like_this");
}

#define WITH_LAB(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LAB(ids_become_numbers_without_gaps),
        WITH_LAB(an_id_of_no_module_is_the_unknown_function),
        WITH_LAB(names_are_demangled_or_made_of_addresses),
        WITH_LAB(control_characters_in_names_are_shown_as_question_marks),
        WITH_LAB(aliases_are_other_names_each_once),
        WITH_LAB(a_pattern_fits_any_form_of_a_name),
        WITH_LAB(a_filter_that_fits_nothing_names_what_is_near),
        WITH_LAB(a_filter_that_fits_only_what_was_not_instrumented_says_so),
        WITH_LAB(a_module_that_is_not_there_is_an_error),
        WITH_LAB(a_thread_that_is_not_there_is_an_error),
        WITH_LAB(excluding_what_is_not_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
