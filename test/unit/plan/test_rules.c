/* The rules of the planner, one test each (rules.S, fixed.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

static struct fixture *pic, *fixed;

static const struct plan_function *traced(const char *name) {
    const struct plan_function *f = fixture_bare(pic, name);
    assert_non_null(f);
    assert_int_equal(f->refused, REFUSED_NOT);
    assert_int_equal(f->entry, TIER_JUMP);
    return f;
}

/* NARROW: exits that have room for a hop or a pun only. */
static void assert_exits(const struct plan_function *f, uint32_t jump, uint32_t narrow) {
    assert_int_equal(f->exits[TIER_JUMP], jump);
    assert_int_equal(f->exits[TIER_HOP] + f->exits[TIER_PUN], narrow);
    assert_int_equal(f->exits[TIER_NONE], 0);
    assert_true(f->exact);
}

static uint32_t all_exits(const struct plan_function *f) {
    uint32_t all = 0;
    for (int tier = TIER_NONE; tier < TIER_COUNT; tier++)
        all += f->exits[tier];
    return all;
}

/* Its entry has no room for a jump: one of the other tiers serves it. */
static void assert_narrow(const char *name) {
    const struct plan_function *f = fixture_named(pic, name);
    assert_non_null(f);
    assert_true(f->entry == TIER_HOP || f->entry == TIER_PUN);
    assert_int_equal(f->refused, REFUSED_NOT);
}

static void assert_refused(const char *name, enum refusal why) {
    const struct plan_function *f = fixture_named(pic, name);
    assert_non_null(f);
    assert_string_equal(refusal_tag(f->refused), refusal_tag(why));
    assert_int_equal(f->entry, TIER_NONE);
}

#define ASSERT_FREE(fixture, ...)                                                                  \
    do {                                                                                           \
        static const char *const places[] = {__VA_ARGS__};                                         \
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {                              \
            if (!fixture_is_free(fixture, fixture_place(fixture, places[i])))                      \
                fail_msg("%s lies in a window", places[i]);                                        \
        }                                                                                          \
    } while (0)

/* ---- rule 1: unwind information is the oracle ---- */

static void an_ordinary_function_has_an_entry_and_its_returns(void **state) {
    (void)state;
    assert_exits(traced("ordinary"), 1, 0);
    assert_non_null(fixture_patch_at(pic, fixture_place(pic, "ordinary")));
}

static void without_unwind_information_a_symbol_makes_a_function(void **state) {
    (void)state;
    const struct plan_function *f = fixture_named(pic, "without_unwind_info");
    assert_int_equal(f->entry, TIER_JUMP);
    assert_exits(f, 1, 0);
    assert_null(fixture_bare(pic, "without_unwind_info"));
}

static void without_unwind_information_code_that_may_be_copied_is_refused(void **state) {
    (void)state;
    assert_refused("movable", REFUSED_LOOSE);
    assert_refused("movable_caller", REFUSED_LOOSE);
}

static void what_the_dynamic_linker_calls_is_tied_and_what_that_branches_to(void **state) {
    (void)state;
    static const char *const names[] = {"_init", "called_by_init", "tail_called_by_init"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(fixture_named(pic, names[i])->entry, TIER_JUMP);
}

static void a_signal_frame_is_refused(void **state) {
    (void)state;
    assert_refused("restorer", REFUSED_SIGNAL_FRAME);
}

static void a_range_that_begins_at_another_depth_is_a_part_of_its_function(void **state) {
    (void)state;
    assert_null(fixture_bare(pic, "split_rest"));
    assert_exits(traced("split"), 1, 0);
    ASSERT_FREE(pic, "at_split_back", "split_rest");
}

static void a_named_range_that_begins_at_another_depth_has_its_own_convention(void **state) {
    (void)state;
    assert_refused("own_convention", REFUSED_OWN_ABI);
}

static void a_jump_to_another_function_at_entry_depth_is_a_tail_call(void **state) {
    (void)state;
    assert_exits(traced("tail_call"), 1, 0);
}

static void linker_made_stubs_are_no_functions(void **state) {
    (void)state;
    for (size_t i = 0; i < plan_function_count(pic->plan); i++) {
        const struct section *s = module_section_at(pic->bare, plan_function(pic->plan, i)->addr);
        assert_false(s->plt);
    }
}

/* ---- rules 2 and 3: switches and tables ---- */

static void a_switch_in_a_leaf_is_no_tail_call_and_its_arms_are_free(void **state) {
    (void)state;
    assert_exits(traced("leaf_switch"), 1, 1); /* the arm's return is alone in its block */
    ASSERT_FREE(pic, "at_arm0", "at_arm1", "at_arm2", "at_arm3");
}

static void an_unoptimised_switch_is_one_too(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(pic, "unoptimised_switch");
    assert_int_equal(all_exits(f), 1);
    ASSERT_FREE(pic, "at_old0", "at_old1");
}

static void a_table_may_count_from_a_label(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(pic, "label_switch");
    assert_int_equal(all_exits(f), 1);
    ASSERT_FREE(pic, "at_label0", "at_label1", "at_label2");
}

static void a_jump_through_a_table_of_functions_is_a_tail_call(void **state) {
    (void)state;
    assert_exits(traced("calls_by_table"), 1, 0);
    assert_exits(traced("calls_by_pointer"), 1, 0);
}

static void tables_of_addresses_are_judged_by_their_content(void **state) {
    (void)state;
    const struct plan_function *memory = fixture_bare(fixed, "switch_in_memory");
    const struct plan_function *reg = fixture_bare(fixed, "switch_in_register");
    const struct plan_function *functions = fixture_bare(fixed, "table_of_functions");
    ASSERT_FREE(fixed, "at_word0", "at_word1", "at_word2", "at_more0", "at_more1");
    /* its own return, and that of the part that only the switch reaches */
    assert_int_equal(all_exits(memory), 2);
    assert_int_equal(all_exits(reg), 1);
    assert_exits(functions, 1, 0);
    assert_null(fixture_bare(fixed, "switch_part"));
}

static void addresses_in_code_and_data_of_fixed_programs_are_targets(void **state) {
    (void)state;
    ASSERT_FREE(fixed, "at_immediate", "at_pointed");
}

/* ---- bytes of no function ---- */

static void text_that_reads_like_a_jump_is_none(void **state) {
    (void)state;
    assert_int_equal(fixture_bare(fixed, "after_text")->entry, TIER_JUMP);
    assert_false(fixture_is_free(fixed, fixture_place(fixed, "at_text_target")));
}

static void a_jump_of_no_function_is_one(void **state) {
    (void)state;
    ASSERT_FREE(fixed, "at_code_target");
}

/* ---- returns without room ---- */

static void a_return_without_room_is_left_to_the_ways_to_it(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(fixed, "all_ways");
    assert_exits(f, 1, 0);
    ASSERT_FREE(fixed, "at_all_ways");
    assert_non_null(fixture_stub(fixed, fixture_place(fixed, "at_all_ways"), EVENT_RETURN));
    assert_null(fixture_patch_at(fixed, fixture_place(fixed, "at_all_ways")));
}

static void a_return_to_which_other_ways_lead_is_not_exact(void **state) {
    (void)state;
    static const char *const names[] = {"way_by_table", "way_by_counter"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct plan_function *f = fixture_bare(fixed, names[i]);
        assert_int_equal(f->exits[TIER_NONE], 1);
        assert_false(f->exact);
    }
    ASSERT_FREE(fixed, "at_way_by_table", "at_way_by_counter");
}

/* ---- rule 4: parts that look like functions ---- */

static void a_part_at_entry_depth_that_jumps_back_is_no_function(void **state) {
    (void)state;
    assert_null(fixture_bare(pic, "parent_part"));
    assert_exits(traced("parent"), 1, 0);
    ASSERT_FREE(pic, "parent_part", "at_parent_back");
}

static void a_part_that_only_a_switch_reaches_is_no_function(void **state) {
    (void)state;
    assert_null(fixture_bare(pic, "table_parent_part"));
    assert_int_equal(traced("table_parent")->exits[TIER_JUMP], 2);
    ASSERT_FREE(pic, "table_parent_part", "at_table_parent0");
}

/* ---- rule 5 ---- */

static void a_function_that_falls_into_the_next_ends_there(void **state) {
    (void)state;
    assert_exits(traced("falls"), 1, 0);
    traced("fallen_into");
    vaddr_t last = fixture_place(pic, "falls") + 6;
    const struct mark *stub = fixture_stub(pic, last, EVENT_TAIL);
    assert_non_null(stub);
    assert_int_equal(stub->variant, STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE);
}

static void a_branch_before_the_next_function_is_one_exit_for_both_ways(void **state) {
    (void)state;
    assert_exits(traced("falls_branching"), 1, 0);
    vaddr_t branch = fixture_place(pic, "falls_branching") + 3;
    const struct mark *stub = fixture_stub(pic, branch, EVENT_TAIL);
    assert_non_null(stub);
    assert_int_equal(stub[1].kind, MARK_INSN);
    assert_int_equal(stub[1].orig, branch);
}

static void a_function_whose_last_instruction_moves_the_stack_does_not_fall(void **state) {
    (void)state;
    assert_refused("falls_popping", REFUSED_FALL_THROUGH);
    traced("fallen_into_last");
}

/* ---- rules 6, 10 and 11: exits ---- */

static void a_conditional_tail_call_is_an_exit_that_saves_flags(void **state) {
    (void)state;
    assert_exits(traced("conditional_tail"), 2, 0);
    vaddr_t branch = fixture_place(pic, "conditional_tail") + 5;
    const struct mark *stub = fixture_stub(pic, branch, EVENT_TAIL);
    assert_non_null(stub);
    assert_true(stub->variant & STUB_SAVE_FLAGS);
}

static void a_jump_away_at_another_depth_is_no_exit(void **state) {
    (void)state;
    assert_exits(traced("leaves_for_good"), 0, 0);
}

static void a_jump_to_the_own_entry_is_a_tail_call(void **state) {
    (void)state;
    const struct plan_function *f = traced("self_call");
    assert_int_equal(all_exits(f), 2);
    const struct mark *stub = fixture_stub(pic, f->addr, EVENT_ENTRY);
    assert_true(stub->variant & STUB_SKIP_RED_ZONE);
}

static void an_entry_that_is_a_loop_head_keeps_clear_of_the_red_zone(void **state) {
    (void)state;
    vaddr_t loop = fixture_place(pic, "loops_to_entry"), plain = fixture_place(pic, "ordinary");
    assert_true(fixture_stub(pic, loop, EVENT_ENTRY)->variant & STUB_SKIP_RED_ZONE);
    assert_false(fixture_stub(pic, plain, EVENT_ENTRY)->variant & STUB_SKIP_RED_ZONE);
}

/* ---- rule 7: flags ---- */

static void flags_are_saved_where_they_carry_arguments(void **state) {
    (void)state;
    vaddr_t takes = fixture_place(pic, "takes_carry"), plain = fixture_place(pic, "ordinary");
    assert_true(fixture_stub(pic, takes, EVENT_ENTRY)->variant & STUB_SAVE_FLAGS);
    assert_false(fixture_stub(pic, plain, EVENT_ENTRY)->variant & STUB_SAVE_FLAGS);
}

static void flags_are_saved_where_they_carry_results(void **state) {
    (void)state;
    enum { RETURN = 6 };
    vaddr_t gives = fixture_place(pic, "gives_carry") + RETURN;
    assert_true(fixture_stub(pic, gives, EVENT_RETURN)->variant & STUB_SAVE_FLAGS);
    vaddr_t user = fixture_place(pic, "carry_user") + 20;
    assert_false(fixture_stub(pic, user, EVENT_RETURN)->variant & STUB_SAVE_FLAGS);
}

/* ---- rule 9 ---- */

static void a_jump_to_a_retpoline_is_an_indirect_jump(void **state) {
    (void)state;
    const struct plan_function *sw = fixture_named(pic, "thunk_switch");
    const struct plan_function *tail = fixture_named(pic, "thunk_tail_call");
    assert_int_equal(all_exits(sw), 1);
    assert_exits(tail, 1, 0);
    assert_refused("__x86_indirect_thunk_rax", REFUSED_OWN_ABI);
    const struct plan_function *thunk = fixture_named(pic, "__x86_indirect_thunk_rax");
    assert_int_equal(all_exits(thunk), 0);
}

/* ---- rule 14 ---- */

static void padding_behind_a_return_makes_room(void **state) {
    (void)state;
    assert_exits(traced("only_return"), 1, 0);
}

static void padding_behind_a_call_makes_none(void **state) {
    (void)state;
    ASSERT_FREE(pic, "at_behind_call");
    assert_null(fixture_patch_at(pic, fixture_place(pic, "at_behind_call")));
}

/* ---- rule 15 ---- */

static void open_flow_allows_windows_of_one_instruction_only(void **state) {
    (void)state;
    assert_narrow("open_flow");
    traced("open_flow_long");
}

/* ---- windows ---- */

static void a_landing_instruction_stays(void **state) {
    (void)state;
    vaddr_t entry = fixture_place(pic, "landing");
    traced("landing");
    assert_null(fixture_patch_at(pic, entry));
    assert_non_null(fixture_patch_at(pic, entry + 4));
}

static void a_call_is_never_moved(void **state) {
    (void)state;
    assert_narrow("calls_early");
}

static void a_system_call_is_never_moved(void **state) {
    (void)state;
    assert_narrow("system_call");
}

static void a_branch_into_the_window_makes_it_narrow(void **state) {
    (void)state;
    assert_narrow("branch_to_second");
    ASSERT_FREE(pic, "at_second");
}

static void too_few_bytes_make_the_entry_narrow(void **state) {
    (void)state;
    assert_narrow("tiny_before_neighbour");
    traced("neighbour");
}

static void nops_that_are_meant_for_patching_are_no_padding(void **state) {
    (void)state;
    assert_narrow("before_patchable");
    traced("patchable");
}

static void nops_before_and_at_an_entry_make_a_pad(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(pic, "padded");
    assert_int_equal(f->entry, TIER_PAD);
    const struct patch *hop = fixture_patch_at(pic, f->addr);
    const struct patch *jump = fixture_patch_at(pic, fixture_place(pic, "at_padded"));
    assert_non_null(hop);
    assert_non_null(jump);
    assert_int_equal(hop->size, 2);
    assert_memory_equal(hop->after, "\xeb\xf9", 2);
    assert_int_equal(jump->size, 5);
    ASSERT_FREE(pic, "at_padded_body");
}

static void a_pad_that_is_none_is_not_used(void **state) {
    (void)state;
    traced("lying"); /* by a jump */
    assert_null(fixture_patch_over(pic, fixture_place(pic, "at_lying") + 1));
}

static void a_call_is_moved_where_nothing_else_fits_unless_it_must_stay(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(fixed, "calls_at_once");
    assert_int_equal(f->entry, TIER_JUMP);
    ASSERT_FREE(fixed, "at_calls_at_once");
    struct plan_request request = {.area = fixed->area,
                                   .area_size = plan_area_size(fixed->plan),
                                   .ring_bytes = 1 << 16,
                                   .keep_calls = true};
    struct plan_code code;
    assert_int_equal(plan_emit(fixed->plan, &request, &code, NULL), 0);
    for (size_t i = 0; i < code.patch_count; i++)
        assert_int_not_equal(code.patches[i].at, f->addr);
    for (size_t i = 0; i < plan_function_count(fixed->plan); i++) {
        bool missed = code.missed[i / 8] >> (i % 8) & 1;
        assert_int_equal(missed, plan_function(fixed->plan, i) == f);
    }
    plan_code_done(&code);
}

static void a_return_at_the_end_of_a_loop_leaves_the_loop_alone(void **state) {
    (void)state;
    vaddr_t entry = fixture_place(pic, "loop_exit");
    traced("loop_exit");
    assert_true(fixture_is_free(pic, entry + 7)); /* the loop's head */
}

static void a_short_branch_without_a_long_form_is_moved(void **state) {
    (void)state;
    assert_exits(traced("loop_first"), 2, 0);
}

static void restartable_sequences_are_left_alone(void **state) {
    (void)state;
    vaddr_t start = fixture_place(pic, "at_sequence"), end = fixture_place(pic, "at_sequence_end");
    for (vaddr_t at = start; at < end; at++) {
        assert_null(fixture_patch_at(pic, at));
        assert_null(fixture_patch_over(pic, at));
    }
    vaddr_t handler = fixture_place(pic, "at_abort");
    for (vaddr_t at = handler - 4; at < handler; at++)
        assert_null(fixture_patch_over(pic, at));
    assert_exits(traced("restartable"), 1, 1); /* the return behind the sequence has less room */
}

static void bytes_that_are_no_instruction_refuse_the_function(void **state) {
    (void)state;
    assert_refused("undecodable", REFUSED_UNDECODABLE);
}

/* ---- names ---- */

static void functions_that_return_twice_are_traced_as_others(void **state) {
    (void)state;
    assert_exits(traced("setjmp"), 1, 0);
    const struct plan_function *f = fixture_named(pic, "setjmp");
    assert_string_equal(f->name, "setjmp");
    assert_non_null(f->aliases);
    assert_string_equal(f->aliases[0], "setjmp_alias");
    assert_null(f->aliases[1]);
}

static void the_entry_point_is_refused(void **state) {
    (void)state;
    assert_refused("_start", REFUSED_OWN_ABI);
    assert_int_equal(fixture_bare(fixed, "_start")->refused, REFUSED_OWN_ABI); /* e_entry */
}

static void every_refusal_has_a_tag_and_a_meaning(void **state) {
    (void)state;
    for (int i = REFUSED_NOT + 1; i < REFUSED_COUNT; i++) {
        assert_true(refusal_tag((enum refusal)i)[0]);
        assert_true(refusal_meaning((enum refusal)i)[0]);
        for (int j = REFUSED_NOT; j < i; j++)
            assert_string_not_equal(refusal_tag((enum refusal)i), refusal_tag((enum refusal)j));
    }
    assert_string_equal(tier_name(TIER_JUMP), "jump");
}

static const char *const *files;

/* ---- control ---- */

static void a_second_return_is_a_control_site_that_clobbers_nothing(void **state) {
    (void)state;
    const struct mark *stub =
        fixture_stub(pic, fixture_place(pic, "at_second_return"), EVENT_CONTROL);
    assert_non_null(stub);
    assert_int_equal(stub->variant, STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE);
    assert_exits(traced("calls_setjmp"), 1, 0);
}

static void a_jump_to_another_stack_is_a_control_site_and_no_exit(void **state) {
    (void)state;
    assert_non_null(fixture_stub(pic, fixture_place(pic, "at_far_jump"), EVENT_CONTROL));
    assert_exits(traced("jumps_far"), 0, 0);
}

static int open_fixtures(void **state) {
    (void)state;
    pic = fixture_open(files[0], files[1]);
    fixed = fixture_open(files[2], files[3]);
    return 0;
}

static int close_fixtures(void **state) {
    (void)state;
    fixture_close(pic);
    fixture_close(fixed);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_function_has_an_entry_and_its_returns),
        cmocka_unit_test(without_unwind_information_a_symbol_makes_a_function),
        cmocka_unit_test(without_unwind_information_code_that_may_be_copied_is_refused),
        cmocka_unit_test(what_the_dynamic_linker_calls_is_tied_and_what_that_branches_to),
        cmocka_unit_test(a_signal_frame_is_refused),
        cmocka_unit_test(a_range_that_begins_at_another_depth_is_a_part_of_its_function),
        cmocka_unit_test(a_named_range_that_begins_at_another_depth_has_its_own_convention),
        cmocka_unit_test(a_jump_to_another_function_at_entry_depth_is_a_tail_call),
        cmocka_unit_test(linker_made_stubs_are_no_functions),
        cmocka_unit_test(a_switch_in_a_leaf_is_no_tail_call_and_its_arms_are_free),
        cmocka_unit_test(an_unoptimised_switch_is_one_too),
        cmocka_unit_test(a_table_may_count_from_a_label),
        cmocka_unit_test(a_jump_through_a_table_of_functions_is_a_tail_call),
        cmocka_unit_test(tables_of_addresses_are_judged_by_their_content),
        cmocka_unit_test(addresses_in_code_and_data_of_fixed_programs_are_targets),
        cmocka_unit_test(text_that_reads_like_a_jump_is_none),
        cmocka_unit_test(a_jump_of_no_function_is_one),
        cmocka_unit_test(a_return_without_room_is_left_to_the_ways_to_it),
        cmocka_unit_test(a_return_to_which_other_ways_lead_is_not_exact),
        cmocka_unit_test(a_part_at_entry_depth_that_jumps_back_is_no_function),
        cmocka_unit_test(a_part_that_only_a_switch_reaches_is_no_function),
        cmocka_unit_test(a_function_that_falls_into_the_next_ends_there),
        cmocka_unit_test(a_branch_before_the_next_function_is_one_exit_for_both_ways),
        cmocka_unit_test(a_function_whose_last_instruction_moves_the_stack_does_not_fall),
        cmocka_unit_test(a_conditional_tail_call_is_an_exit_that_saves_flags),
        cmocka_unit_test(a_jump_away_at_another_depth_is_no_exit),
        cmocka_unit_test(a_jump_to_the_own_entry_is_a_tail_call),
        cmocka_unit_test(an_entry_that_is_a_loop_head_keeps_clear_of_the_red_zone),
        cmocka_unit_test(flags_are_saved_where_they_carry_arguments),
        cmocka_unit_test(flags_are_saved_where_they_carry_results),
        cmocka_unit_test(a_jump_to_a_retpoline_is_an_indirect_jump),
        cmocka_unit_test(padding_behind_a_return_makes_room),
        cmocka_unit_test(padding_behind_a_call_makes_none),
        cmocka_unit_test(open_flow_allows_windows_of_one_instruction_only),
        cmocka_unit_test(a_landing_instruction_stays),
        cmocka_unit_test(a_call_is_never_moved),
        cmocka_unit_test(a_system_call_is_never_moved),
        cmocka_unit_test(a_branch_into_the_window_makes_it_narrow),
        cmocka_unit_test(too_few_bytes_make_the_entry_narrow),
        cmocka_unit_test(nops_that_are_meant_for_patching_are_no_padding),
        cmocka_unit_test(nops_before_and_at_an_entry_make_a_pad),
        cmocka_unit_test(a_pad_that_is_none_is_not_used),
        cmocka_unit_test(a_call_is_moved_where_nothing_else_fits_unless_it_must_stay),
        cmocka_unit_test(a_return_at_the_end_of_a_loop_leaves_the_loop_alone),
        cmocka_unit_test(a_short_branch_without_a_long_form_is_moved),
        cmocka_unit_test(restartable_sequences_are_left_alone),
        cmocka_unit_test(bytes_that_are_no_instruction_refuse_the_function),
        cmocka_unit_test(functions_that_return_twice_are_traced_as_others),
        cmocka_unit_test(the_entry_point_is_refused),
        cmocka_unit_test(a_second_return_is_a_control_site_that_clobbers_nothing),
        cmocka_unit_test(a_jump_to_another_stack_is_a_control_site_and_no_exit),
        cmocka_unit_test(every_refusal_has_a_tag_and_a_meaning),
    };
    return cmocka_run_group_tests(tests, open_fixtures, close_fixtures);
}
