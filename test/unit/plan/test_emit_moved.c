/* Code that was emitted for one place of a module serves at another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bitmap.h"
#include "base/digest.h"
#include "fixture.h"
#include "kept.h"

#define TESTS                                                                                      \
    TEST(code_serves_at_another_address)                                                           \
    TEST(code_does_not_serve_where_its_islands_cannot_be)                                          \
    TEST(kept_code_is_as_new)                                                                      \
    TEST(kept_code_is_as_new_at_another_distance)                                                  \
    TEST(kept_code_is_as_new_with_other_event_ids)                                                 \
    TEST(kept_code_that_would_reach_too_far_is_refused)                                            \
    TEST(an_outline_tells_where_kept_code_fits)                                                    \
    TEST(kept_code_is_as_new_where_other_puns_are_lost)                                            \
    TEST(a_lost_pun_takes_the_same_patches_from_all_code)                                          \
    TEST(requests_that_need_other_code_have_other_digests)

static const char *const *files;
static struct fixture *fixture;
static struct plan_request request;
static struct plan_code code;

static int prepare(void **state) {
    (void)state;
    request = (struct plan_request){.bias = 0x7f0000000000,
                                    .area = 0x7f0010000000,
                                    .area_size = plan_area_size(fixture->named_plan),
                                    .first_id = 77,
                                    .ring_bytes = 1 << 12,
                                    .overflow = OVERFLOW_DROP,
                                    .most_islands = 16};
    return 0;
}

static int clean(void **state) {
    (void)state;
    plan_code_done(&code);
    return 0;
}

static void emit(void) {
    assert_int_equal(plan_emit(fixture->named_plan, &request, &code, NULL), 0);
}

static const uint64_t MOVED = UINT64_C(0x123456000);

/* The same request for a module and an area that are MOVED bytes higher. */
static struct plan_request moved_request(void) {
    struct plan_request q = request;
    q.bias += MOVED;
    q.area += MOVED;
    return q;
}

static void assert_same_but_moved(const struct plan_code *a, const struct plan_code *b) {
    assert_int_equal(a->area_used, b->area_used);
    assert_memory_equal(a->area, b->area, a->area_used);
    assert_int_equal(a->patch_count, b->patch_count);
    for (size_t i = 0; i < a->patch_count; i++) {
        assert_int_equal(a->patches[i].at, b->patches[i].at);
        assert_memory_equal(a->patches[i].after, b->patches[i].after, a->patches[i].size);
    }
    assert_int_equal(a->mark_count, b->mark_count);
    for (size_t i = 0; i < a->mark_count; i++)
        assert_int_equal(a->marks[i].orig, b->marks[i].orig);
    assert_int_equal(a->island_count, b->island_count);
    for (size_t i = 0; i < a->island_count; i++) {
        assert_int_equal(a->islands[i].at + MOVED, b->islands[i].at);
        assert_memory_equal(a->islands[i].bytes, b->islands[i].bytes, ISLAND_BYTES);
    }
}

static void code_serves_at_another_address(void **state) {
    (void)state;
    const struct plan_request q = moved_request();
    struct plan_code fresh;
    emit();
    assert_true(code.island_count > 0);
    assert_true(plan_code_serves(fixture->named_plan, &code, &q, MOVED));
    assert_int_equal(plan_emit(fixture->named_plan, &q, &fresh, NULL), 0);
    uint8_t *area = kept_area(&code, MOVED);
    memcpy(code.area, area, code.area_used);
    free(area);
    assert_same_but_moved(&code, &fresh);
    plan_code_done(&fresh);
}

static void code_does_not_serve_where_its_islands_cannot_be(void **state) {
    (void)state;
    struct plan_request q = moved_request();
    emit();
    assert_true(code.island_count > 0);
    const struct span taken = {code.islands[0].at + MOVED, code.islands[0].at + MOVED + 1};
    q.taken = &taken;
    q.taken_count = 1;
    assert_false(plan_code_serves(fixture->named_plan, &code, &q, MOVED));
    q.taken_count = 0;
    q.most_islands = code.island_count - 1;
    assert_false(plan_code_serves(fixture->named_plan, &code, &q, MOVED));
}

/* ---- code in flat form ---- */

static struct kept_code keep(kept_write *write) {
    return kept_make(fixture->named_plan, &request, &code, write);
}

static void check_kept_for(const struct plan_request *q) {
    struct plan_code fresh;
    emit();
    struct kept_code kept = keep(plan_code_write_flat);
    assert_int_equal(kept.text_count, 1);
    assert_int_equal(kept.text[0].end, 34);
    assert_true(plan_code_adapt(fixture->named_plan, q, &kept));
    assert_int_equal(plan_emit(fixture->named_plan, q, &fresh, NULL), 0);
    assert_true(fresh.island_count > 0);
    kept_assert_as_new(fixture->named_plan, &kept, q, &fresh);
    kept_free(&kept);
    plan_code_done(&fresh);
}

static void kept_code_is_as_new(void **state) {
    (void)state;
    const struct plan_request q = moved_request();
    check_kept_for(&q);
}

static void kept_code_is_as_new_at_another_distance(void **state) {
    (void)state;
    struct plan_request q = moved_request();
    for (int64_t farther = -0x8000000; farther <= 0x600000; farther += 0x8ff000) {
        q.area = request.area + MOVED + (uint64_t)farther;
        check_kept_for(&q);
        plan_code_done(&code);
    }
}

static void kept_code_is_as_new_with_other_event_ids(void **state) {
    (void)state;
    struct plan_request q = request;
    q.first_id = 0x12345;
    check_kept_for(&q);
}

static void kept_code_that_would_reach_too_far_is_refused(void **state) {
    (void)state;
    struct plan_request q = request;
    emit();
    for (uint64_t farther = 0x80000000; farther <= UINT64_C(3) << 30; farther += 0x10000000) {
        q.area = request.area + farther;
        struct kept_code kept = keep(plan_code_write_flat);
        assert_false(plan_code_fits(fixture->named_plan, &q, &kept));
        assert_false(plan_code_adapt(fixture->named_plan, &q, &kept));
        kept_free(&kept);
    }
}

static void an_outline_tells_where_kept_code_fits(void **state) {
    (void)state;
    struct plan_request q = moved_request();
    emit();
    struct kept_code outline = keep(plan_code_write_outline);
    assert_true(plan_code_fits(fixture->named_plan, &q, &outline));
    q.area_size -= 4096;
    assert_false(plan_code_fits(fixture->named_plan, &q, &outline));
    kept_free(&outline);
}

static size_t missed_functions(const struct plan_code *c) {
    return bitmap_count(c->missed, plan_function_count(fixture->named_plan));
}

/* Code for FROM becomes that of TO. */
static void check_kept(const struct plan_request *from, const struct plan_request *to) {
    struct plan_code old, fresh;
    assert_int_equal(plan_emit(fixture->named_plan, from, &old, NULL), 0);
    assert_int_equal(plan_emit(fixture->named_plan, to, &fresh, NULL), 0);
    assert_int_not_equal(missed_functions(&old), missed_functions(&fresh));
    struct kept_code kept = kept_make(fixture->named_plan, from, &old, plan_code_write_flat);
    assert_true(plan_code_adapt(fixture->named_plan, to, &kept));
    kept_assert_as_new(fixture->named_plan, &kept, to, &fresh);
    kept_free(&kept);
    plan_code_done(&old);
    plan_code_done(&fresh);
}

/* The whole neighbourhood of the first island is taken at one of the two times. */
static void kept_code_is_as_new_where_other_puns_are_lost(void **state) {
    (void)state;
    const uint64_t around = UINT64_C(1) << 32;
    emit();
    const taddr_t island = code.islands[0].at;
    const struct span taken[] = {{island - around, island + around}};
    struct plan_request full = request;
    full.taken = taken;
    full.taken_count = 1;
    check_kept(&request, &full);
    check_kept(&full, &request);
}

/* Where a function is filtered, code is emitted anew without the functions of lost puns; else their
 * patches are left out. Function 0 is filtered, and not selected: so nothing else differs. */
static void a_lost_pun_takes_the_same_patches_from_all_code(void **state) {
    (void)state;
    const size_t bytes = plan_function_count(fixture->named_plan) / 8 + 1;
    const struct span all[] = {{0x7e0000000000, 0x7f8000000000}};
    uint8_t *selected = memset(mem_alloc(bytes), 0xff, bytes), *filtered = mem_alloc(bytes);
    struct plan_code anew, with_puns;
    bitmap_clear(selected, 0);
    bitmap_set(filtered, 0);
    request.selected = selected;
    assert_int_equal(plan_emit(fixture->named_plan, &request, &with_puns, NULL), 0);
    request.taken = all;
    request.taken_count = 1;
    emit();
    request.filtered = filtered;
    assert_int_equal(plan_emit(fixture->named_plan, &request, &anew, NULL), 0);
    assert_true(code.area_used > anew.area_used);
    assert_true(code.patch_count + with_puns.island_count < with_puns.patch_count);
    assert_int_equal(code.patch_count, anew.patch_count);
    for (size_t i = 0; i < code.patch_count; i++)
        assert_int_equal(code.patches[i].at, anew.patches[i].at);
    assert_int_equal(code.way_count, anew.way_count);
    assert_memory_equal(code.missed, anew.missed, bytes);
    assert_memory_equal(code.inexact, anew.inexact, bytes);
    assert_memory_equal(code.missed_exits, anew.missed_exits, sizeof code.missed_exits);
    plan_code_done(&anew);
    plan_code_done(&with_puns);
    free(selected);
    free(filtered);
}

static void digest_of(const struct plan_request *q, uint8_t ret[DIGEST_BYTES]) {
    struct digest d;
    digest_init(&d);
    plan_request_digest(fixture->named_plan, q, &d);
    digest_finish(&d, ret);
}

static bool is_like_request(const struct plan_request *q) {
    uint8_t a[DIGEST_BYTES], b[DIGEST_BYTES];
    digest_of(&request, a);
    digest_of(q, b);
    return memcmp(a, b, DIGEST_BYTES) == 0;
}

static void requests_that_need_other_code_have_other_digests(void **state) {
    (void)state;
    uint8_t *some = mem_alloc(plan_function_count(fixture->named_plan) / 8 + 1);
    struct plan_request same = moved_request();
    same.first_id++;
    assert_true(is_like_request(&same));
#define CHANGED(member, value)                                                                     \
    do {                                                                                           \
        struct plan_request q = request;                                                           \
        q.member = (value);                                                                        \
        assert_false(is_like_request(&q));                                                         \
    } while (0)
    CHANGED(selected, some);
    CHANGED(sliced, some);
    CHANGED(without_traps, some);
    CHANGED(controls, true);
    CHANGED(keep_calls, true);
    CHANGED(ring_bytes, 1 << 13);
    CHANGED(overflow, OVERFLOW_WAIT);
    CHANGED(site_bytes, 1);
    CHANGED(hook, 1);
    CHANGED(guards[0], 1);
    CHANGED(guards[1], 1);
    request.selected = some;
    some[0] = 1;
    uint8_t *other = mem_alloc(plan_function_count(fixture->named_plan) / 8 + 1);
    CHANGED(selected, other);
    free(other);
    free(some);
}

static int open_fixture(void **state) {
    (void)state;
    fixture = fixture_open(files[0], files[1]);
    return 0;
}

static int close_fixture(void **state) {
    (void)state;
    fixture_close(fixture);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
