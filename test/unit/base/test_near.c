/* "Did you mean": which names are near a mistyped one, and in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/near.h"

#define TESTS                                                                                      \
    TEST(names_of_the_same_scope_come_first)                                                       \
    TEST(a_mistyped_scope_stands_for_the_nearest_one)                                              \
    TEST(scopes_are_compared_from_their_ends)                                                      \
    TEST(other_scopes_are_not_near)

static const char *const names[] = {
    "frob",  "ns::Box::take", "ns::Box::give", "ns::Cls::frob",   "ns::Cls::draw",
    "ns::f", "other::Job::h", "other::paint",  "app.store.write", "app.stone.read",
};

static void expect(const char *typed, const char *right) {
    struct near_names near;
    near_init(&near, typed);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        near_consider(&near, names[i]);
    AUTO_FREE char *list = near_list(&near);
    assert_string_equal(list ? list : "none", right);
    near_done(&near);
}

static void names_of_the_same_scope_come_first(void **state) {
    (void)state;
    expect("ns::Cls::drow(int)", "ns::Cls::draw, ns::Cls::frob");
    expect("ns::Box<int>::tke", "ns::Box::take, ns::Box::give");
    expect("frop", "frob, ns::Cls::frob");
}

static void a_mistyped_scope_stands_for_the_nearest_one(void **state) {
    (void)state;
    expect("nss::Cls::frob", "ns::Cls::frob, ns::Cls::draw");
    expect("ns::Clss::a_long_name", "ns::Cls::frob, ns::Cls::draw");
    expect("othr::Jop::hh", "other::Job::h");
    expect("app.storr.write", "app.store.write, app.stone.read");
}

static void scopes_are_compared_from_their_ends(void **state) {
    (void)state;
    expect("Clss::frob", "ns::Cls::frob, ns::Cls::draw");
    expect("Bxo::give", "ns::Box::give, ns::Box::take");
}

static void other_scopes_are_not_near(void **state) {
    (void)state;
    expect("elsewhere::Cell::qqqqq", "none");
}

#define TEST(name) cmocka_unit_test(name),
int main(void) {
    static const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
