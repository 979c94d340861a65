/* What the planner learns of AArch64 from several instructions together (a64.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "fixture.h"

static struct fixture *a64;

static void assert_exact(const struct plan_function *f, uint32_t exits) {
    assert_non_null(f);
    assert_string_equal(refusal_tag(f->refused), refusal_tag(REFUSED_NOT));
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP], exits);
    assert_int_equal(f->exits[TIER_NONE], 0);
    assert_true(f->exact);
}

static void a_table_ends_where_the_comparison_before_the_jump_says(void **state) {
    (void)state;
    assert_exact(fixture_named(a64, "guarded"), 3);
}

static void a_table_that_no_comparison_guards_ends_at_other_data(void **state) {
    (void)state;
    assert_exact(fixture_named(a64, "masked"), 2);
}

static void what_only_a_scaled_table_leads_to_is_a_part_of_its_function(void **state) {
    (void)state;
    assert_null(fixture_bare(a64, "parted_rest"));
    assert_exact(fixture_bare(a64, "parted"), 3);
}

static void calls_of_what_returns_twice_are_known_by_stub_and_by_slot(void **state) {
    (void)state;
    assert_non_null(fixture_patch_at(a64, fixture_place(a64, "behind_setjmp")));
    assert_non_null(fixture_patch_at(a64, fixture_place(a64, "behind_vfork")));
    assert_null(fixture_patch_at(a64, fixture_place(a64, "behind_puts")));
    assert_null(fixture_patch_at(a64, fixture_place(a64, "behind_second_puts")));
}

static void a_resolver_s_choice_is_told_by_instructions_and_variables(void **state) {
    (void)state;
    static const char *const chosen[] = {"first_choice", "second_choice", "third_choice"};
    size_t count = plan_function_count(a64->plan), found = 0;
    AUTO_FREE uint8_t *bits = mem_alloc(count / 8 + 1);
    plan_implementations(a64->plan, fixture_place(a64, "resolver"), bits);
    for (size_t i = 0; i < count; i++) {
        if (bits[i / 8] >> i % 8 & 1)
            assert_int_equal(plan_function(a64->plan, i)->addr,
                             fixture_place(a64, chosen[found++]));
    }
    assert_int_equal(found, sizeof chosen / sizeof *chosen);
}

static void what_pops_what_it_was_called_with_is_no_function(void **state) {
    (void)state;
    const struct plan_function *f = fixture_named(a64, "binds");
    assert_non_null(f);
    assert_string_equal(refusal_tag(f->refused), refusal_tag(REFUSED_OWN_ABI));
}

static void a_sum_of_two_members_is_where_a_tail_call_leads(void **state) {
    (void)state;
    assert_exact(fixture_named(a64, "adds_members"), 2);
}

static void the_code_tells_what_its_description_does_not(void **state) {
    (void)state;
    assert_exact(fixture_bare(a64, "told_at_calls"), 3);
    assert_exact(fixture_bare(a64, "keeps_frame"), 1);
}

static void constants_between_instructions_are_none(void **state) {
    (void)state;
    assert_exact(fixture_bare(a64, "generates"), 1);
    assert_exact(fixture_bare(a64, "looks_like_a_load"), 1);
}

static void a_stub_with_data_for_its_linker_is_no_function(void **state) {
    (void)state;
    const struct plan_function *stub = fixture_named(a64, "late_stub");
    const struct plan_function *other = fixture_named(a64, "through_variable");
    assert_true(stub && other);
    assert_string_equal(refusal_tag(stub->refused), refusal_tag(REFUSED_NO_CFI));
    assert_string_not_equal(refusal_tag(other->refused), refusal_tag(REFUSED_NO_CFI));
}

/* The site is behind what must stay. EXITS: which can be moved, all or none. */
static void assert_signs(const struct plan_function *f, const char *body, bool exits) {
    assert_non_null(f);
    assert_int_equal(f->entry, TIER_JUMP);
    assert_non_null(fixture_patch_at(a64, fixture_place(a64, body)));
    assert_true(fixture_is_free(a64, f->addr));
    assert_int_equal(f->exits[TIER_JUMP], exits);
    assert_int_equal(f->exits[TIER_NONE], !exits);
    assert_int_equal(f->exact, exits);
}

static void what_signs_by_its_address_stays_where_it_is(void **state) {
    (void)state;
    assert_signs(fixture_named(a64, "signs_here"), "signs_here_body", true);
    assert_signs(fixture_named(a64, "signs_for_a_register"), "signs_for_a_register_body", true);
    assert_signs(fixture_named(a64, "signs_undescribed"), "signs_undescribed_body", true);
    assert_signs(fixture_named(a64, "signs_behind_bti"), "signs_behind_bti_body", false);
}

static void a_hint_and_what_it_is_for_are_not_parted(void **state) {
    (void)state;
    assert_signs(fixture_named(a64, "signs_by_hint"), "signs_by_hint_body", true);
    assert_signs(fixture_named(a64, "returns_by_hint"), "returns_by_hint_body", false);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_ends_where_the_comparison_before_the_jump_says),
        cmocka_unit_test(a_table_that_no_comparison_guards_ends_at_other_data),
        cmocka_unit_test(what_only_a_scaled_table_leads_to_is_a_part_of_its_function),
        cmocka_unit_test(calls_of_what_returns_twice_are_known_by_stub_and_by_slot),
        cmocka_unit_test(a_resolver_s_choice_is_told_by_instructions_and_variables),
        cmocka_unit_test(what_pops_what_it_was_called_with_is_no_function),
        cmocka_unit_test(a_sum_of_two_members_is_where_a_tail_call_leads),
        cmocka_unit_test(the_code_tells_what_its_description_does_not),
        cmocka_unit_test(constants_between_instructions_are_none),
        cmocka_unit_test(a_stub_with_data_for_its_linker_is_no_function),
        cmocka_unit_test(what_signs_by_its_address_stays_where_it_is),
        cmocka_unit_test(a_hint_and_what_it_is_for_are_not_parted),
    };
    if (argc != 3)
        return 2;
    a64 = fixture_open(argv[1], argv[2]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_close(a64);
    return failed;
}
