/* The rules of the planner, one test each (rules.S, fixed.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#define TESTS                                                                                      \
    TEST(entry_and_returns_of_an_ordinary_function)                                                \
    TEST(symbol_without_unwind_information)                                                        \
    TEST(copyable_code_without_cfi_refused)                                                        \
    TEST(code_called_by_the_dynamic_linker)                                                        \
    TEST(signal_frame_refused)                                                                     \
    TEST(cfi_range_at_another_depth_is_a_part)                                                     \
    TEST(named_range_at_another_depth_has_own_abi)                                                 \
    TEST(jump_at_entry_depth_is_a_tail_call)                                                       \
    TEST(linker_stubs_are_no_functions)                                                            \
    TEST(switch_in_a_leaf)                                                                         \
    TEST(unoptimised_switch)                                                                       \
    TEST(switch_table_relative_to_a_label)                                                         \
    TEST(jump_through_a_function_table)                                                            \
    TEST(address_tables_by_content)                                                                \
    TEST(targets_in_fixed_programs)                                                                \
    TEST(text_that_looks_like_a_jump)                                                              \
    TEST(jump_outside_any_function)                                                                \
    TEST(return_without_room)                                                                      \
    TEST(return_with_unpatched_ways_is_inexact)                                                    \
    TEST(part_that_jumps_back_is_no_function)                                                      \
    TEST(part_reached_by_a_switch_only)                                                            \
    TEST(function_that_falls_through)                                                              \
    TEST(branch_before_the_next_function)                                                          \
    TEST(stack_move_before_the_next_function)                                                      \
    TEST(conditional_tail_call_saves_flags)                                                        \
    TEST(jump_to_another_stack_is_no_exit)                                                         \
    TEST(jump_to_the_own_entry)                                                                    \
    TEST(loop_head_entry_skips_the_red_zone)                                                       \
    TEST(flags_that_carry_arguments)                                                               \
    TEST(flags_that_carry_results)                                                                 \
    TEST(jump_to_a_retpoline)                                                                      \
    TEST(padding_after_a_return)                                                                   \
    TEST(padding_after_a_call)                                                                     \
    TEST(unresolved_flow_limits_windows)                                                           \
    TEST(landing_instruction_stays)                                                                \
    TEST(calls_are_never_moved)                                                                    \
    TEST(system_calls_are_never_moved)                                                             \
    TEST(branch_into_the_window)                                                                   \
    TEST(entry_with_too_few_bytes)                                                                 \
    TEST(patchable_nops_are_not_padding)                                                           \
    TEST(pad_of_nops_around_an_entry)                                                              \
    TEST(false_pad_not_used)                                                                       \
    TEST(call_moved_as_last_resort)                                                                \
    TEST(return_at_the_end_of_a_loop)                                                              \
    TEST(short_branch_without_a_long_form)                                                         \
    TEST(restartable_sequences_untouched)                                                          \
    TEST(undecodable_bytes_refuse_the_function)                                                    \
    TEST(functions_that_return_twice)                                                              \
    TEST(entry_point_refused)                                                                      \
    TEST(second_return_is_a_control_site)                                                          \
    TEST(stack_switch_is_a_control_site)                                                           \
    TEST(tag_and_meaning_of_every_refusal)

static struct fixture *pic, *fixed;

static const struct plan_function *traced(const char *name) {
    const struct plan_function *f = fixture_bare(pic, name);
    assert_non_null(f);
    assert_int_equal(f->refused, REFUSED_NOT);
    assert_int_equal(f->entry, TIER_JUMP);
    return f;
}

/* NARROW: exits with room for a hop or a pun only. */
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

/* The entry has no room for a jump, so another tier serves it. */
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

static void entry_and_returns_of_an_ordinary_function(void **state) {
    (void)state;
    assert_exits(traced("ordinary"), 1, 0);
    assert_non_null(fixture_patch_at(pic, fixture_place(pic, "ordinary")));
}

static void symbol_without_unwind_information(void **state) {
    (void)state;
    const struct plan_function *f = fixture_named(pic, "without_unwind_info");
    assert_int_equal(f->entry, TIER_JUMP);
    assert_exits(f, 1, 0);
    assert_null(fixture_bare(pic, "without_unwind_info"));
}

static void copyable_code_without_cfi_refused(void **state) {
    (void)state;
    assert_refused("movable", REFUSED_MOVABLE);
    assert_refused("movable_caller", REFUSED_MOVABLE);
}

static void code_called_by_the_dynamic_linker(void **state) {
    (void)state;
    static const char *const names[] = {"_init", "called_by_init", "tail_called_by_init"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(fixture_named(pic, names[i])->entry, TIER_JUMP);
}

static void signal_frame_refused(void **state) {
    (void)state;
    assert_refused("restorer", REFUSED_SIGNAL_FRAME);
}

static void cfi_range_at_another_depth_is_a_part(void **state) {
    (void)state;
    assert_null(fixture_bare(pic, "split_rest"));
    assert_exits(traced("split"), 1, 0);
    ASSERT_FREE(pic, "at_split_back", "split_rest");
}

static void named_range_at_another_depth_has_own_abi(void **state) {
    (void)state;
    assert_refused("own_convention", REFUSED_OWN_ABI);
}

static void jump_at_entry_depth_is_a_tail_call(void **state) {
    (void)state;
    assert_exits(traced("tail_call"), 1, 0);
}

static void linker_stubs_are_no_functions(void **state) {
    (void)state;
    for (size_t i = 0; i < plan_function_count(pic->plan); i++) {
        const struct section *s = module_section_at(pic->bare, plan_function(pic->plan, i)->addr);
        assert_false(s->plt);
    }
}

/* ---- rules 2 and 3: switches and tables ---- */

static void switch_in_a_leaf(void **state) {
    (void)state;
    assert_exits(traced("leaf_switch"), 1, 1); /* the arm's return is alone in its block */
    ASSERT_FREE(pic, "at_arm0", "at_arm1", "at_arm2", "at_arm3");
}

static void unoptimised_switch(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(pic, "unoptimised_switch");
    assert_int_equal(all_exits(f), 1);
    ASSERT_FREE(pic, "at_old0", "at_old1");
}

static void switch_table_relative_to_a_label(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(pic, "label_switch");
    assert_int_equal(all_exits(f), 1);
    ASSERT_FREE(pic, "at_label0", "at_label1", "at_label2");
}

static void jump_through_a_function_table(void **state) {
    (void)state;
    assert_exits(traced("calls_by_table"), 1, 0);
    assert_exits(traced("calls_by_pointer"), 1, 0);
}

static void address_tables_by_content(void **state) {
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

static void targets_in_fixed_programs(void **state) {
    (void)state;
    ASSERT_FREE(fixed, "at_immediate", "at_pointed");
}

/* ---- bytes of no function ---- */

static void text_that_looks_like_a_jump(void **state) {
    (void)state;
    assert_int_equal(fixture_bare(fixed, "after_text")->entry, TIER_JUMP);
    assert_false(fixture_is_free(fixed, fixture_place(fixed, "at_text_target")));
}

static void jump_outside_any_function(void **state) {
    (void)state;
    ASSERT_FREE(fixed, "at_code_target");
}

/* ---- returns without room ---- */

static void return_without_room(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(fixed, "all_ways");
    assert_exits(f, 1, 0);
    ASSERT_FREE(fixed, "at_all_ways");
    assert_non_null(fixture_stub(fixed, fixture_place(fixed, "at_all_ways"), EVENT_RETURN));
    assert_null(fixture_patch_at(fixed, fixture_place(fixed, "at_all_ways")));
}

static void return_with_unpatched_ways_is_inexact(void **state) {
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

static void part_that_jumps_back_is_no_function(void **state) {
    (void)state;
    assert_null(fixture_bare(pic, "parent_part"));
    assert_exits(traced("parent"), 1, 0);
    ASSERT_FREE(pic, "parent_part", "at_parent_back");
}

static void part_reached_by_a_switch_only(void **state) {
    (void)state;
    assert_null(fixture_bare(pic, "table_parent_part"));
    assert_int_equal(traced("table_parent")->exits[TIER_JUMP], 2);
    ASSERT_FREE(pic, "table_parent_part", "at_table_parent0");
}

/* ---- rule 5 ---- */

static void function_that_falls_through(void **state) {
    (void)state;
    assert_exits(traced("falls"), 1, 0);
    traced("fallen_into");
    vaddr_t last = fixture_place(pic, "falls") + 6;
    const struct mark *stub = fixture_stub(pic, last, EVENT_TAIL);
    assert_non_null(stub);
    assert_int_equal(stub->variant, STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE);
}

static void branch_before_the_next_function(void **state) {
    (void)state;
    assert_exits(traced("falls_branching"), 1, 0);
    vaddr_t branch = fixture_place(pic, "falls_branching") + 3;
    const struct mark *stub = fixture_stub(pic, branch, EVENT_TAIL);
    assert_non_null(stub);
    assert_int_equal(stub[1].kind, MARK_INSN);
    assert_int_equal(stub[1].orig, branch);
}

static void stack_move_before_the_next_function(void **state) {
    (void)state;
    assert_refused("falls_popping", REFUSED_FALL_THROUGH);
    traced("fallen_into_last");
}

/* ---- rules 6, 10 and 11: exits ---- */

static void conditional_tail_call_saves_flags(void **state) {
    (void)state;
    assert_exits(traced("conditional_tail"), 2, 0);
    vaddr_t branch = fixture_place(pic, "conditional_tail") + 5;
    const struct mark *stub = fixture_stub(pic, branch, EVENT_TAIL);
    assert_non_null(stub);
    assert_true(stub->variant & STUB_SAVE_FLAGS);
}

static void jump_to_another_stack_is_no_exit(void **state) {
    (void)state;
    assert_exits(traced("leaves_for_good"), 0, 0);
}

static void jump_to_the_own_entry(void **state) {
    (void)state;
    const struct plan_function *f = traced("self_call");
    assert_int_equal(all_exits(f), 2);
    const struct mark *stub = fixture_stub(pic, f->addr, EVENT_ENTRY);
    assert_true(stub->variant & STUB_SKIP_RED_ZONE);
}

static void loop_head_entry_skips_the_red_zone(void **state) {
    (void)state;
    vaddr_t loop = fixture_place(pic, "loops_to_entry"), plain = fixture_place(pic, "ordinary");
    assert_true(fixture_stub(pic, loop, EVENT_ENTRY)->variant & STUB_SKIP_RED_ZONE);
    assert_false(fixture_stub(pic, plain, EVENT_ENTRY)->variant & STUB_SKIP_RED_ZONE);
}

/* ---- rule 7: flags ---- */

static void flags_that_carry_arguments(void **state) {
    (void)state;
    vaddr_t takes = fixture_place(pic, "takes_carry"), plain = fixture_place(pic, "ordinary");
    assert_true(fixture_stub(pic, takes, EVENT_ENTRY)->variant & STUB_SAVE_FLAGS);
    assert_false(fixture_stub(pic, plain, EVENT_ENTRY)->variant & STUB_SAVE_FLAGS);
}

static void flags_that_carry_results(void **state) {
    (void)state;
    enum { RETURN = 6 };
    vaddr_t gives = fixture_place(pic, "gives_carry") + RETURN;
    assert_true(fixture_stub(pic, gives, EVENT_RETURN)->variant & STUB_SAVE_FLAGS);
    vaddr_t user = fixture_place(pic, "carry_user") + 20;
    assert_false(fixture_stub(pic, user, EVENT_RETURN)->variant & STUB_SAVE_FLAGS);
}

/* ---- rule 9 ---- */

static void jump_to_a_retpoline(void **state) {
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

static void padding_after_a_return(void **state) {
    (void)state;
    assert_exits(traced("only_return"), 1, 0);
}

static void padding_after_a_call(void **state) {
    (void)state;
    ASSERT_FREE(pic, "at_behind_call");
    assert_null(fixture_patch_at(pic, fixture_place(pic, "at_behind_call")));
}

/* ---- rule 15 ---- */

static void unresolved_flow_limits_windows(void **state) {
    (void)state;
    assert_narrow("open_flow");
    traced("open_flow_long");
}

/* ---- windows ---- */

static void landing_instruction_stays(void **state) {
    (void)state;
    vaddr_t entry = fixture_place(pic, "landing");
    traced("landing");
    assert_null(fixture_patch_at(pic, entry));
    assert_non_null(fixture_patch_at(pic, entry + 4));
}

static void calls_are_never_moved(void **state) {
    (void)state;
    assert_narrow("calls_early");
}

static void system_calls_are_never_moved(void **state) {
    (void)state;
    assert_narrow("system_call");
}

static void branch_into_the_window(void **state) {
    (void)state;
    assert_narrow("branch_to_second");
    ASSERT_FREE(pic, "at_second");
}

static void entry_with_too_few_bytes(void **state) {
    (void)state;
    assert_narrow("tiny_before_neighbour");
    traced("neighbour");
}

static void patchable_nops_are_not_padding(void **state) {
    (void)state;
    assert_narrow("before_patchable");
    traced("patchable");
}

static void pad_of_nops_around_an_entry(void **state) {
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

static void false_pad_not_used(void **state) {
    (void)state;
    traced("lying"); /* by a jump */
    assert_null(fixture_patch_over(pic, fixture_place(pic, "at_lying") + 1));
}

static void call_moved_as_last_resort(void **state) {
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

static void return_at_the_end_of_a_loop(void **state) {
    (void)state;
    vaddr_t entry = fixture_place(pic, "loop_exit");
    traced("loop_exit");
    assert_true(fixture_is_free(pic, entry + 7)); /* the loop's head */
}

static void short_branch_without_a_long_form(void **state) {
    (void)state;
    assert_exits(traced("loop_first"), 2, 0);
}

static void restartable_sequences_untouched(void **state) {
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

static void undecodable_bytes_refuse_the_function(void **state) {
    (void)state;
    assert_refused("undecodable", REFUSED_UNDECODABLE);
}

/* ---- names ---- */

static void functions_that_return_twice(void **state) {
    (void)state;
    assert_exits(traced("setjmp"), 1, 0);
    const struct plan_function *f = fixture_named(pic, "setjmp");
    assert_string_equal(f->name, "setjmp");
    assert_non_null(f->aliases);
    assert_string_equal(f->aliases[0], "setjmp_alias");
    assert_null(f->aliases[1]);
}

static void entry_point_refused(void **state) {
    (void)state;
    assert_refused("_start", REFUSED_OWN_ABI);
    assert_int_equal(fixture_bare(fixed, "_start")->refused, REFUSED_OWN_ABI); /* e_entry */
}

static void tag_and_meaning_of_every_refusal(void **state) {
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

static void second_return_is_a_control_site(void **state) {
    (void)state;
    const struct mark *stub =
        fixture_stub(pic, fixture_place(pic, "at_second_return"), EVENT_CONTROL);
    assert_non_null(stub);
    assert_int_equal(stub->variant, STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE);
    assert_exits(traced("calls_setjmp"), 1, 0);
}

static void stack_switch_is_a_control_site(void **state) {
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
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, open_fixtures, close_fixtures);
}
