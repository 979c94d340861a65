/* Sites next to XRay's sleds and to calls of profilers (sleds.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

enum { SLED_BYTES = 11, HEAD = 2, LANDING = 5, SLEDS = 18 };

static const char *const *files;
static struct fixture *sleds;

static const struct plan_function *function(const char *name) {
    const struct plan_function *f = fixture_bare(sleds, name);
    assert_non_null(f);
    assert_int_equal(f->refused, REFUSED_NOT);
    assert_true(f->exact);
    return f;
}

static vaddr_t end_of(const struct plan_function *f) { return f->addr + f->size; }

static void all_sleds_are_known(void **state) {
    (void)state;
    assert_int_equal(sleds->bare->sled_count, SLEDS);
    for (size_t i = 1; i < SLEDS; i++)
        assert_true(sleds->bare->sleds[i - 1].addr < sleds->bare->sleds[i].addr);
}

static void nothing_is_written_into_a_sled_but_its_head(void **state) {
    (void)state;
    for (size_t i = 0; i < sleds->code.patch_count; i++) {
        const struct patch *p = &sleds->code.patches[i];
        for (size_t j = 0; j < SLEDS; j++) {
            vaddr_t sled = sleds->bare->sleds[j].addr;
            bool head = p->at == sled && p->size == HEAD && p->yields;
            bool event = sleds->bare->sleds[j].kind > 3 && p->at >= sled + HEAD;
            if (!head && !event && p->at < sled + SLED_BYTES && sled < p->at + p->reads)
                fail_msg("a patch at %#lx reaches into the sled at %#lx", (unsigned long)p->at,
                         (unsigned long)sled);
        }
    }
}

static void an_entry_is_seen_behind_its_sled(void **state) {
    (void)state;
    assert_int_equal(function("roomy")->entry, TIER_JUMP);
    assert_non_null(fixture_patch_at(sleds, function("roomy")->addr + SLED_BYTES));
    assert_int_equal(function("landed")->entry, TIER_JUMP);
    assert_non_null(fixture_patch_at(sleds, function("landed")->addr + LANDING + SLED_BYTES));
}

static void a_return_is_told_before_its_sled(void **state) {
    (void)state;
    const struct plan_function *f = function("roomy");
    vaddr_t sled = end_of(f) - SLED_BYTES;
    assert_int_equal(f->exits[TIER_JUMP], 1);
    assert_null(fixture_patch_at(sleds, sled));
    const struct mark *stub = fixture_stub(sleds, sled, EVENT_RETURN);
    assert_non_null(stub);
    assert_false(stub->at_start); /* to go on there would pass the event by */
    assert_true(fixture_is_free(sleds, sled));
}

static void one_window_serves_an_entry_and_a_return_close_to_it(void **state) {
    (void)state;
    const struct plan_function *f = function("short");
    const struct patch *p = fixture_patch_at(sleds, f->addr + SLED_BYTES);
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP], 1);
    assert_int_equal(p->at + p->window, end_of(f) - SLED_BYTES);
}

static void a_tail_jump_is_seen_behind_its_sled(void **state) {
    (void)state;
    vaddr_t jump = fixture_place(sleds, "at_jumping_jump");
    assert_int_equal(function("jumping")->exits[TIER_JUMP], 1);
    assert_non_null(fixture_patch_at(sleds, jump));
    assert_non_null(fixture_stub(sleds, jump, EVENT_TAIL));
}

static void where_there_is_no_room_beside_it_the_head_is_taken(void **state) {
    (void)state;
    const struct plan_function *branched = function("branched"), *bodiless = function("bodiless");
    assert_int_equal(branched->entry, TIER_JUMP);
    assert_int_equal(branched->exits[TIER_HOP], 1);
    assert_int_equal(bodiless->entry, TIER_HOP);
    assert_int_equal(bodiless->exits[TIER_HOP], 1);
    const vaddr_t heads[] = {end_of(branched) - SLED_BYTES, bodiless->addr,
                             bodiless->addr + SLED_BYTES};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const struct patch *p = fixture_patch_at(sleds, heads[i]);
        assert_non_null(p);
        assert_int_equal(p->size, HEAD);
        assert_true(p->yields);
    }
}

static void the_jump_over_an_event_stays(void **state) {
    (void)state;
    const struct plan_function *f = function("eventful");
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP], 1);
}

static void what_is_called_a_sled_and_is_none_is_left_alone(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(sleds, "lied_about");
    assert_int_not_equal(f->entry, TIER_JUMP); /* 4 bytes are left */
}

static void no_pun_borrows_bytes_of_a_sled(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(sleds, "before_sled");
    assert_int_equal(f->entry, TIER_NONE);
    assert_int_equal(f->refused, REFUSED_SHORT);
}

static void a_nop_at_an_entry_is_a_pad(void **state) {
    (void)state;
    assert_int_equal(function("nop_at_entry")->entry, TIER_PAD);
}

static void a_listed_call_of_the_profiler_is_no_target(void **state) {
    (void)state;
    assert_int_equal(function("profiled")->entry, TIER_JUMP);
}

static void a_listed_place_that_is_no_call_is_a_target(void **state) {
    (void)state;
    vaddr_t at = fixture_place(sleds, "at_lied_profiled");
    assert_true(fixture_is_free(sleds, at));
}

static int open_all(void **state) {
    (void)state;
    sleds = fixture_open(files[0], files[1]);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fixture_close(sleds);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sleds_are_known),
        cmocka_unit_test(nothing_is_written_into_a_sled_but_its_head),
        cmocka_unit_test(an_entry_is_seen_behind_its_sled),
        cmocka_unit_test(a_return_is_told_before_its_sled),
        cmocka_unit_test(one_window_serves_an_entry_and_a_return_close_to_it),
        cmocka_unit_test(a_tail_jump_is_seen_behind_its_sled),
        cmocka_unit_test(where_there_is_no_room_beside_it_the_head_is_taken),
        cmocka_unit_test(the_jump_over_an_event_stays),
        cmocka_unit_test(what_is_called_a_sled_and_is_none_is_left_alone),
        cmocka_unit_test(no_pun_borrows_bytes_of_a_sled),
        cmocka_unit_test(a_nop_at_an_entry_is_a_pad),
        cmocka_unit_test(a_listed_call_of_the_profiler_is_no_target),
        cmocka_unit_test(a_listed_place_that_is_no_call_is_a_target),
    };
    (void)argc;
    files = (const char *const *)argv + 1;
    return cmocka_run_group_tests_name("plan sleds", tests, open_all, close_all);
}
