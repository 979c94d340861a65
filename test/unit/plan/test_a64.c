/* Facts that the planner learns from several AArch64 instructions together (a64.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "fixture.h"

#define TESTS                                                                                      \
    TEST(table_end_from_comparison)                                                                \
    TEST(table_end_at_other_data)                                                                  \
    TEST(scaled_table_targets_are_parts)                                                           \
    TEST(setjmp_calls_by_stub_and_slot)                                                            \
    TEST(ifunc_resolver_choices)                                                                   \
    TEST(function_that_pops_its_arguments_refused)                                                 \
    TEST(tail_call_through_summed_members)                                                         \
    TEST(stack_depth_from_code)                                                                    \
    TEST(constants_between_instructions)                                                           \
    TEST(linker_stub_with_data_refused)                                                            \
    TEST(pac_lr_signing_stays_in_place)                                                            \
    TEST(pacm_stays_before_its_instruction)                                                        \
    TEST(no_way_back_from_pieces_of_a_first_instruction)

static struct fixture *a64;

static void assert_exact(const struct plan_function *f, uint32_t exits) {
    assert_non_null(f);
    assert_string_equal(refusal_tag(f->refused), refusal_tag(REFUSED_NOT));
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP], exits);
    assert_int_equal(f->exits[TIER_NONE], 0);
    assert_true(f->exact);
}

static void table_end_from_comparison(void **state) {
    (void)state;
    assert_exact(fixture_named(a64, "guarded"), 3);
}

static void table_end_at_other_data(void **state) {
    (void)state;
    assert_exact(fixture_named(a64, "masked"), 2);
}

static void scaled_table_targets_are_parts(void **state) {
    (void)state;
    assert_null(fixture_bare(a64, "parted_rest"));
    assert_exact(fixture_bare(a64, "parted"), 3);
}

static void setjmp_calls_by_stub_and_slot(void **state) {
    (void)state;
    assert_non_null(fixture_patch_at(a64, fixture_place(a64, "behind_setjmp")));
    assert_non_null(fixture_patch_at(a64, fixture_place(a64, "behind_vfork")));
    assert_null(fixture_patch_at(a64, fixture_place(a64, "behind_puts")));
    assert_null(fixture_patch_at(a64, fixture_place(a64, "behind_second_puts")));
}

static void ifunc_resolver_choices(void **state) {
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

static void function_that_pops_its_arguments_refused(void **state) {
    (void)state;
    const struct plan_function *f = fixture_named(a64, "binds");
    assert_non_null(f);
    assert_string_equal(refusal_tag(f->refused), refusal_tag(REFUSED_OWN_ABI));
}

static void tail_call_through_summed_members(void **state) {
    (void)state;
    assert_exact(fixture_named(a64, "adds_members"), 2);
}

static void stack_depth_from_code(void **state) {
    (void)state;
    assert_exact(fixture_bare(a64, "described_at_calls"), 3);
    /* A jump with a frame up is no tail call. Where it leads is not known. */
    const struct plan_function *f = fixture_bare(a64, "keeps_frame");
    assert_int_equal(f->exits[TIER_JUMP], 1);
    assert_int_equal(f->exits[TIER_NONE], 1);
    assert_false(f->exact);
}

static void constants_between_instructions(void **state) {
    (void)state;
    assert_exact(fixture_bare(a64, "generates"), 1);
    assert_exact(fixture_bare(a64, "looks_like_a_load"), 1);
}

static void linker_stub_with_data_refused(void **state) {
    (void)state;
    const struct plan_function *stub = fixture_named(a64, "late_stub");
    const struct plan_function *other = fixture_named(a64, "through_variable");
    assert_true(stub && other);
    assert_string_equal(refusal_tag(stub->refused), refusal_tag(REFUSED_NO_CFI));
    assert_string_not_equal(refusal_tag(other->refused), refusal_tag(REFUSED_NO_CFI));
}

/* The site is behind the instruction that must stay. EXITS: the number of movable exits, all or
 * none. */
static void assert_signs(const struct plan_function *f, const char *body, bool exits) {
    assert_non_null(f);
    assert_int_equal(f->entry, TIER_JUMP);
    assert_non_null(fixture_patch_at(a64, fixture_place(a64, body)));
    assert_true(fixture_is_free(a64, f->addr));
    assert_int_equal(f->exits[TIER_JUMP], exits);
    assert_int_equal(f->exits[TIER_NONE], !exits);
    assert_int_equal(f->exact, exits);
}

static void pac_lr_signing_stays_in_place(void **state) {
    (void)state;
    assert_signs(fixture_named(a64, "signs_here"), "signs_here_body", true);
    assert_signs(fixture_named(a64, "signs_for_a_register"), "signs_for_a_register_body", true);
    assert_signs(fixture_named(a64, "signs_undescribed"), "signs_undescribed_body", true);
    assert_signs(fixture_named(a64, "signs_behind_bti"), "signs_behind_bti_body", false);
}

static void pacm_stays_before_its_instruction(void **state) {
    (void)state;
    assert_signs(fixture_named(a64, "signs_by_hint"), "signs_by_hint_body", true);
    assert_signs(fixture_named(a64, "returns_by_hint"), "returns_by_hint_body", false);
}

static void no_way_back_from_pieces_of_a_first_instruction(void **state) {
    (void)state;
    static const struct {
        const char *function;
        size_t pieces;
    } all[] = {{"begins_with_address", 2},
               {"begins_with_literal", 2},
               {"begins_with_odd_literal", 3},
               {"begins_with_vector", 1}, /* behind the load, a thread is at the next instruction */
               {"begins_with_call", 2}};  /* before the jump, it is at the called function */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(fixture_check_pieces(a64, fixture_place(a64, all[i].function)),
                         all[i].pieces);
}

int main(int argc, char **argv) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    if (argc != 3)
        return 2;
    a64 = fixture_open(argv[1], argv[2]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_close(a64);
    return failed;
}
