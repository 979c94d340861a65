/* Sites next to XRay's sleds and to calls of profilers (sleds.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#define TESTS                                                                                      \
    TEST(all_sleds_known)                                                                          \
    TEST(only_sled_heads_written)                                                                  \
    TEST(entry_event_after_its_sled)                                                               \
    TEST(return_event_before_its_sled)                                                             \
    TEST(one_window_for_entry_and_return)                                                          \
    TEST(tail_jump_event_after_its_sled)                                                           \
    TEST(sled_head_used_without_other_room)                                                        \
    TEST(jump_over_an_event_stays)                                                                 \
    TEST(false_sled_untouched)                                                                     \
    TEST(puns_borrow_no_sled_bytes)                                                                \
    TEST(nop_at_an_entry_is_a_pad)                                                                 \
    TEST(profiler_call_is_not_a_target)                                                            \
    TEST(mislisted_profiler_call_is_a_target)

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

static void all_sleds_known(void **state) {
    (void)state;
    assert_int_equal(sleds->bare->sled_count, SLEDS);
    for (size_t i = 1; i < SLEDS; i++)
        assert_true(sleds->bare->sleds[i - 1].addr < sleds->bare->sleds[i].addr);
}

static void only_sled_heads_written(void **state) {
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

static void entry_event_after_its_sled(void **state) {
    (void)state;
    assert_int_equal(function("roomy")->entry, TIER_JUMP);
    assert_non_null(fixture_patch_at(sleds, function("roomy")->addr + SLED_BYTES));
    assert_int_equal(function("landed")->entry, TIER_JUMP);
    assert_non_null(fixture_patch_at(sleds, function("landed")->addr + LANDING + SLED_BYTES));
}

static void return_event_before_its_sled(void **state) {
    (void)state;
    const struct plan_function *f = function("roomy");
    vaddr_t sled = end_of(f) - SLED_BYTES;
    assert_int_equal(f->exits[TIER_JUMP], 1);
    assert_null(fixture_patch_at(sleds, sled));
    const struct mark *stub = fixture_stub(sleds, sled, EVENT_RETURN);
    assert_non_null(stub);
    assert_false(stub->at_start); /* a thread that resumed there would skip the event */
    assert_true(fixture_is_free(sleds, sled));
}

static void one_window_for_entry_and_return(void **state) {
    (void)state;
    const struct plan_function *f = function("short");
    const struct patch *p = fixture_patch_at(sleds, f->addr + SLED_BYTES);
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP], 1);
    assert_int_equal(p->at + p->window, end_of(f) - SLED_BYTES);
}

static void tail_jump_event_after_its_sled(void **state) {
    (void)state;
    vaddr_t jump = fixture_place(sleds, "at_jumping_jump");
    assert_int_equal(function("jumping")->exits[TIER_JUMP], 1);
    assert_non_null(fixture_patch_at(sleds, jump));
    assert_non_null(fixture_stub(sleds, jump, EVENT_TAIL));
}

static void sled_head_used_without_other_room(void **state) {
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

static void jump_over_an_event_stays(void **state) {
    (void)state;
    const struct plan_function *f = function("eventful");
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_JUMP], 1);
}

static void false_sled_untouched(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(sleds, "lied_about");
    assert_int_not_equal(f->entry, TIER_JUMP); /* 4 bytes are left */
}

static void puns_borrow_no_sled_bytes(void **state) {
    (void)state;
    const struct plan_function *f = fixture_bare(sleds, "before_sled");
    assert_int_equal(f->entry, TIER_NONE);
    assert_int_equal(f->refused, REFUSED_SHORT);
}

static void nop_at_an_entry_is_a_pad(void **state) {
    (void)state;
    assert_int_equal(function("nop_at_entry")->entry, TIER_PAD);
}

static void profiler_call_is_not_a_target(void **state) {
    (void)state;
    assert_int_equal(function("profiled")->entry, TIER_JUMP);
}

static void mislisted_profiler_call_is_a_target(void **state) {
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
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    (void)argc;
    files = (const char *const *)argv + 1;
    return cmocka_run_group_tests_name("plan sleds", tests, open_all, close_all);
}
