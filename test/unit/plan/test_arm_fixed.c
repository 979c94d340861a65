/*
 * Numbers in code and words of data that look like addresses, in a 32-bit Arm program at a fixed
 * address (arm_fixed.S).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#define TESTS                                                                                      \
    TEST(numbers_taken_for_functions)                                                              \
    TEST(tables_end_by_compared_register)                                                          \
    TEST(words_into_known_switches_are_not_labels)                                                 \
    TEST(words_as_labels_need_a_label_jump)                                                        \
    TEST(mutual_noreturn_calls)

enum { PADDING = 2 };

static struct fixture *fixed;

/* A nop may follow the function. */
static void assert_whole(const char *name) {
    const struct plan_function *f = fixture_bare(fixed, name), *named = fixture_named(fixed, name);
    if (!f)
        fail_msg("%s was not found", name);
    if (f->entry == TIER_NONE || !f->exact)
        fail_msg("%s: tier %d, refused %d, exact %d", name, f->entry, f->refused, f->exact);
    assert_in_range(f->size, named->size, named->size + PADDING);
}

static void assert_none(const char *name) {
    if (fixture_bare(fixed, name))
        fail_msg("%s is no function", name);
}

static void numbers_taken_for_functions(void **state) {
    (void)state;
    assert_none("in_a_loop");
    assert_none("on_the_way");
    assert_none("behind_a_jump");
    assert_none("on_padding");
    assert_whole("uses_numbers");
    assert_whole("loops");
    assert_whole("jumps");
    assert_whole("is_called_back");
}

static void tables_end_by_compared_register(void **state) {
    (void)state;
    assert_whole("switches_by_register");
    assert_whole("switches_a32_by_register");
}

static void words_into_known_switches_are_not_labels(void **state) {
    (void)state;
    assert_none("behind_a_push");
    assert_whole("is_pointed_into");
}

/* Symbols name the functions here. */
static void words_as_labels_need_a_label_jump(void **state) {
    (void)state;
    assert_int_equal(fixture_named(fixed, "holds_no_label")->entry, TIER_JUMP);
    assert_int_not_equal(fixture_named(fixed, "holds_a_label")->entry, TIER_JUMP);
}

static void mutual_noreturn_calls(void **state) {
    (void)state;
    assert_none("padding");
    assert_whole("fails");
    assert_whole("reports");
    assert_whole("checks");
    assert_whole("follows");
}

static const char *const *files;

static int open_fixture(void **state) {
    (void)state;
    fixed = fixture_open(files[0], files[1]);
    return 0;
}

static int close_fixture(void **state) {
    (void)state;
    fixture_close(fixed);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
