/* Functions without call-frame information that their code proves traceable (nocfi.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

#define TESTS                                                                                      \
    TEST(intact_frames_proven)                                                                     \
    TEST(returns_at_wrong_depth_refused)                                                           \
    TEST(jumps_at_entry_depth_are_tail_calls)                                                      \
    TEST(jumps_with_a_frame_refused)                                                               \
    TEST(noreturn_calls_found)                                                                     \
    TEST(switches_and_parts)                                                                       \
    TEST(symbol_without_size)                                                                      \
    TEST(function_that_falls_through)                                                              \
    TEST(entries_with_a_frame_refused)                                                             \
    TEST(shared_ends_at_equal_depth)                                                               \
    TEST(symbol_inside_a_function)                                                                 \
    TEST(possibly_copied_code_refused)                                                             \
    TEST(linker_stub_with_data_refused)                                                            \
    TEST(data_or_half_described_code_refused)

static struct module *module;
static struct plan *plan;

static const struct plan_function *find(const char *name) {
    for (size_t i = 0; i < plan_function_count(plan); i++) {
        const struct plan_function *f = plan_function(plan, i);
        if (f->name && !strcmp(f->name, name))
            return f;
    }
    return NULL;
}

static void assert_traced(const char *name, uint32_t exits) {
    const struct plan_function *f = find(name);
    assert_non_null(f);
    assert_string_equal(refusal_tag(f->refused), "");
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP], exits);
    assert_true(f->exact);
}

static void assert_refused(const char *name, enum refusal why) {
    const struct plan_function *f = find(name);
    assert_non_null(f);
    assert_string_equal(refusal_tag(f->refused), refusal_tag(why));
    assert_int_equal(f->entry, TIER_NONE);
}

static void intact_frames_proven(void **state) {
    (void)state;
    assert_traced("exported", 1);
    assert_traced("framed", 1);
    assert_traced("realigned", 1);
    assert_traced("varies", 1);
    assert_traced("asks_where_it_is", 1);
    assert_traced("both_ways", 1);
}

static void returns_at_wrong_depth_refused(void **state) {
    (void)state;
    assert_refused("varies_for_good", REFUSED_DEPTH);
    assert_refused("loses_its_frame", REFUSED_DEPTH);
    assert_refused("loses_its_frame_in_part", REFUSED_DEPTH);
    assert_refused("loses_its_frame_to_another", REFUSED_DEPTH);
    assert_refused("loses_its_frame_to_a_callee", REFUSED_DEPTH);
    assert_refused("one_way_deeper", REFUSED_DEPTH);
    assert_refused("returns_elsewhere", REFUSED_DEPTH);
}

static void jumps_at_entry_depth_are_tail_calls(void **state) {
    (void)state;
    assert_traced("tail_call", 1);
    assert_traced("jumps_by_pointer", 1);
}

static void jumps_with_a_frame_refused(void **state) {
    (void)state;
    assert_refused("tail_call_with_a_frame", REFUSED_DEPTH);
    assert_refused("jumps_by_pointer_with_a_frame", REFUSED_DEPTH);
    const struct plan_function *f = find("leaves_its_stack");
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP] + f->exits[TIER_NONE], 0);
}

static void noreturn_calls_found(void **state) {
    (void)state;
    assert_traced("gives_up_last", 1);
    assert_traced("gives_up_amid", 1);
}

static void switches_and_parts(void **state) {
    (void)state;
    assert_traced("switches", 1);
    assert_traced("split", 2);
    assert_null(find("split.cold"));
}

static void symbol_without_size(void **state) {
    (void)state;
    assert_traced("without_size", 2);
    const struct segment *s = module_segment_at(module, find("without_size")->addr);
    const struct plan_function *f = find("without_size");
    assert_int_equal(s->bytes[f->addr + f->size - 1 - s->start], 0xc3);
    assert_int_equal(s->bytes[f->addr + f->size - s->start], 0x06);
}

static void function_that_falls_through(void **state) {
    (void)state;
    assert_refused("falls", REFUSED_FALL_THROUGH);
    assert_refused("nops_alone", REFUSED_FALL_THROUGH);
    assert_traced("fallen_into", 1);
}

static void entries_with_a_frame_refused(void **state) {
    (void)state;
    assert_refused("falls_with_a_frame", REFUSED_DEPTH);
    assert_refused("fallen_into_with_a_frame", REFUSED_DEPTH);
    assert_refused("entered_amid", REFUSED_DEPTH);
}

static void shared_ends_at_equal_depth(void **state) {
    (void)state;
    assert_traced("lends_its_end", 1);
    assert_traced("takes_the_end", 0);
    assert_refused("borrows_another_end", REFUSED_DEPTH);
    assert_refused("owns_the_end", REFUSED_DEPTH);
    assert_refused("borrows_the_end", REFUSED_DEPTH);
}

static void symbol_inside_a_function(void **state) {
    (void)state;
    assert_traced("outer", 1);
    assert_refused("inner", REFUSED_NO_CFI);
}

static void possibly_copied_code_refused(void **state) {
    (void)state;
    assert_refused("might_be_copied", REFUSED_MOVABLE);
    assert_refused("might_be_copied_too", REFUSED_MOVABLE);
    assert_traced("is_called", 1);
    assert_traced("uses_data", 1);
    assert_traced("calls_one_that_uses_data", 1);
}

static void linker_stub_with_data_refused(void **state) {
    (void)state;
    assert_refused("stub_with_data", REFUSED_NO_CFI);
    assert_traced("stub_alone", 1);
}

static void data_or_half_described_code_refused(void **state) {
    (void)state;
    assert_refused("data", REFUSED_UNDECODABLE);
    assert_refused("described_in_part", REFUSED_NO_CFI);
}

static const char *path;

static int open_file(void **state) {
    struct err err;
    (void)state;
    return module_load(path, 0, &module, &err) || plan_new(module, &plan, &err);
}

static int close_file(void **state) {
    (void)state;
    plan_free(plan);
    module_free(module);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    path = argv[1];
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, open_file, close_file);
}
