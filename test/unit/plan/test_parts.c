/* Functions in parts, and code behind and beside the ranges of call-frame information (parts.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

static struct fixture *pic;
static const char *const *files;

#define ASSERT_FREE(fixture, ...)                                                                  \
    do {                                                                                           \
        static const char *const places[] = {__VA_ARGS__};                                         \
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {                              \
            if (!fixture_is_free(fixture, fixture_place(fixture, places[i])))                      \
                fail_msg("%s lies in a window", places[i]);                                        \
        }                                                                                          \
    } while (0)

static void code_behind_a_range(void **state) {
    (void)state;
    const struct plan_function *f = fixture_named(pic, "runs_on");
    const vaddr_t child = fixture_place(pic, "at_runs_on_child");
    assert_int_equal(f->exits[TIER_JUMP], 2);
    assert_true(f->exact);
    assert_int_equal(f->addr + f->size, child);
    assert_non_null(fixture_stub(pic, child - 1, EVENT_RETURN));
    assert_null(fixture_bare(pic, "at_runs_on_child"));
    assert_null(fixture_named(pic, "at_runs_on_error"));
    ASSERT_FREE(pic, "at_runs_on_child");
}

static void parts_in_no_range_of_their_function(void **state) {
    (void)state;
    assert_int_equal(fixture_named(pic, "in_parts")->exits[TIER_JUMP], 2);
    assert_true(fixture_named(pic, "in_parts")->exact);
    for (const char *const *p =
             (const char *const[]){"at_in_parts1", "at_in_parts2", "at_in_parts3", NULL};
         *p; p++)
        assert_null(fixture_bare(pic, *p));
}

static void assert_open(const char *name) {
    const struct plan_function *f = fixture_bare(pic, name);
    assert_non_null(f);
    assert_int_equal(f->exits[TIER_NONE], 1);
    assert_false(f->exact);
}

static void ends_in_unknown_code_are_inferred(void **state) {
    (void)state;
    assert_open("runs_on_popping");
    assert_open("beside");
    ASSERT_FREE(pic, "at_beside", "at_beside0", "at_beside1");
}

static void part_that_loops_to_its_start(void **state) {
    (void)state;
    assert_true(fixture_named(pic, "with_loop")->exact);
    assert_null(fixture_named(pic, "with_loop.cold"));
    assert_null(fixture_stub(pic, fixture_place(pic, "at_with_loop"), EVENT_TAIL));
    ASSERT_FREE(pic, "at_with_loop");
}

static int open_fixtures(void **state) {
    (void)state;
    pic = fixture_open(files[0], files[1]);
    return 0;
}

static int close_fixtures(void **state) {
    (void)state;
    fixture_close(pic);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_behind_a_range),
        cmocka_unit_test(parts_in_no_range_of_their_function),
        cmocka_unit_test(ends_in_unknown_code_are_inferred),
        cmocka_unit_test(part_that_loops_to_its_start),
    };
    return cmocka_run_group_tests(tests, open_fixtures, close_fixtures);
}
