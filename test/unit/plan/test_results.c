/* Whether functions return something, by what their callers need: results.S. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "plan/results.h"

enum { AX = 0, DX = 1, XMM0 = DATA_VECTOR };
static struct module *module;
static struct plan *plan;
static struct result_uses *uses;

static uint32_t function(const char *name) {
    for (uint32_t i = 0; i < plan_function_count(plan); i++)
        if (strcmp(plan_function(plan, i)->name, name) == 0)
            return i;
    fail_msg("no function %s", name);
    return 0;
}
static bool is_used(const char *name, unsigned reg) {
    return result_is_used(uses, function(name), reg);
}

static void what_a_caller_reads_is_a_result(void **state) {
    (void)state;
    assert_true(is_used("gives", AX));
    assert_true(is_used("used_later", AX));
    assert_true(is_used("gives_double", XMM0));
}

static void only_the_register_that_is_read_counts(void **state) {
    (void)state;
    assert_false(is_used("gives", DX));
    assert_false(is_used("gives", XMM0));
    assert_false(is_used("gives_double", AX));
}

static void a_callers_own_value_is_no_result(void **state) {
    (void)state;
    assert_false(is_used("leaves_alone", AX));
    assert_false(is_used("leaves_alone_too", AX));
}

static void a_callees_result_may_be_the_functions(void **state) {
    (void)state;
    assert_true(is_used("passes_on", AX));
}

static void what_is_overwritten_is_no_result(void **state) {
    (void)state;
    assert_false(is_used("ignored", AX));
    assert_false(is_used("ignored_double", XMM0));
}

static void bytes_that_look_like_a_call_are_none(void **state) {
    (void)state;
    assert_false(is_used("looks_called", AX));
}

static void addresses_are_taken_by_code_and_in_data(void **state) {
    (void)state;
    assert_true(result_address_is_taken(uses, function("taken")));
    assert_true(result_address_is_taken(uses, function("in_data")));
    assert_false(result_address_is_taken(uses, function("gives")));
}

static bool is_hands_on(void *ctx, uint32_t caller) {
    return *(bool *)ctx && caller == function("hands_on");
}
static bool is_gone(const char *name, bool hands_on_is_void) {
    const struct result_question q = {function(name), is_hands_on, &hands_on_is_void};
    return result_is_gone(uses, &q, AX);
}

static void what_nobody_takes_is_gone_if_a_way_leaves_it_out(void **state) {
    (void)state;
    assert_true(is_gone("gone", false));
    assert_false(is_gone("all_write", false));
    assert_false(is_gone("gives", false));
}

static void what_may_be_taken_is_not_gone(void **state) {
    (void)state;
    assert_false(is_gone("pushed", false));
    assert_false(is_gone("in_part", false));
    assert_false(is_gone("tail_called", false));
    assert_false(is_gone("taken", false));
    assert_false(is_gone("in_data", false));
    assert_false(is_gone("visible", false));
}

static void callers_that_return_nothing_hand_nothing_on(void **state) {
    (void)state;
    assert_true(is_gone("handed_on", true));
    assert_false(is_gone("handed_on", false));
}

static bool is_made(const char *name, unsigned reg) {
    return result_is_made(uses, function(name), reg);
}

static void what_only_a_caller_can_need_is_a_result(void **state) {
    (void)state;
    assert_true(is_made("makes", AX));
    assert_true(is_made("makes_two", AX));
    assert_true(is_made("makes_double", XMM0));
    assert_false(is_made("makes", DX));
}

static void what_the_function_may_need_itself_is_not_made(void **state) {
    (void)state;
    assert_false(is_made("needs_itself", AX));
    assert_false(is_made("needs_for_a_call", AX));
    assert_false(is_made("needs_for_a_jump", AX));
    assert_false(is_made("overwrites", AX));
}

static void what_may_have_another_reason_is_not_made(void **state) {
    (void)state;
    assert_false(is_made("makes_one", AX));
    assert_false(is_made("makes_an_address", AX));
    assert_false(is_made("loads", AX));
    assert_false(is_made("cleans_up", AX));
    assert_false(is_made("compares", AX));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_caller_reads_is_a_result),
        cmocka_unit_test(only_the_register_that_is_read_counts),
        cmocka_unit_test(a_callers_own_value_is_no_result),
        cmocka_unit_test(a_callees_result_may_be_the_functions),
        cmocka_unit_test(what_is_overwritten_is_no_result),
        cmocka_unit_test(bytes_that_look_like_a_call_are_none),
        cmocka_unit_test(addresses_are_taken_by_code_and_in_data),
        cmocka_unit_test(what_nobody_takes_is_gone_if_a_way_leaves_it_out),
        cmocka_unit_test(what_may_be_taken_is_not_gone),
        cmocka_unit_test(callers_that_return_nothing_hand_nothing_on),
        cmocka_unit_test(what_only_a_caller_can_need_is_a_result),
        cmocka_unit_test(what_the_function_may_need_itself_is_not_made),
        cmocka_unit_test(what_may_have_another_reason_is_not_made),
    };
    if (argc != 2 || module_load(argv[1], 0, &module, NULL) || plan_new(module, &plan, NULL))
        return 1;
    uses = result_uses_new(plan, module);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    result_uses_free(uses);
    plan_free(plan);
    module_free(module);
    return failed;
}
