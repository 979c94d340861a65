/* Code that was emitted for one place of a module serves at another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#define TESTS                                                                                      \
    TEST(code_serves_at_another_address)                                                           \
    TEST(code_does_not_serve_where_its_islands_cannot_be)

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
    plan_code_move(&code, MOVED, code.area);
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
