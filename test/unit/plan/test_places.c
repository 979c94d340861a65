/* Functions found by an address in them, and whether their entry or exit event is still to come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#define TESTS                                                                                      \
    TEST(bytes_of_a_function)                                                                      \
    TEST(split_part_of_a_function)                                                                 \
    TEST(place_before_the_entry)                                                                   \
    TEST(place_after_the_exit)

static const char *const *files;
static struct fixture *f;

static uint32_t function_at(vaddr_t addr) { return plan_function_at(f->plan, addr); }

static uint32_t index_of(const char *name) {
    uint32_t i = function_at(fixture_place(f, name));
    assert_true(i != UINT32_MAX);
    assert_int_equal(plan_function(f->plan, i)->addr, fixture_place(f, name));
    return i;
}

static void bytes_of_a_function(void **state) {
    (void)state;
    for (uint32_t i = 0; i < plan_function_count(f->plan); i++) {
        const struct plan_function *p = plan_function(f->plan, i);
        for (vaddr_t at = p->addr; at < p->addr + p->size; at++)
            assert_int_equal(function_at(at), i);
    }
    assert_int_equal(function_at(0), UINT32_MAX);
    assert_int_equal(function_at(UINT64_MAX), UINT32_MAX);
}

static void split_part_of_a_function(void **state) {
    (void)state;
    uint32_t split = index_of("split");
    const struct plan_function *p = plan_function(f->plan, split);
    vaddr_t rest = fixture_place(f, "split_rest");
    assert_true(rest - p->addr >= p->size);
    assert_int_equal(function_at(rest), split);
    assert_false(plan_is_before_entry(f->plan, split, rest));
}

/* Before the entry event: up to the first movable instruction, past one that must stay. */
static void place_before_the_entry(void **state) {
    (void)state;
    uint32_t ordinary = index_of("ordinary"), landing = index_of("landing");
    vaddr_t at = fixture_place(f, "ordinary");
    assert_true(plan_is_before_entry(f->plan, ordinary, at));
    assert_false(plan_is_before_entry(f->plan, ordinary, at + 1));
    at = fixture_place(f, "landing");
    assert_true(plan_is_before_entry(f->plan, landing, at));
    assert_true(plan_is_before_entry(f->plan, landing, at + 4));
    assert_false(plan_is_before_entry(f->plan, landing, at + 6));
}

/* After the exit event: the patch that covers the return records it, or patches on the ways to it
 * do. */
static void place_after_the_exit(void **state) {
    (void)state;
    size_t covered = 0, bare = 0;
    for (uint32_t i = 0; i < plan_function_count(f->plan); i++) {
        const struct plan_function *p = plan_function(f->plan, i);
        for (vaddr_t at = p->addr; at < p->addr + p->size; at++) {
            bool patched = fixture_patch_at(f, at) || fixture_patch_over(f, at);
            if (plan_is_past_exit(f->plan, at))
                bare += !patched;
            assert_false(patched && plan_is_past_exit(f->plan, at));
            covered += patched;
        }
    }
    assert_true(covered > 0);
    assert_true(bare > 0);
}

static int open_all(void **state) {
    (void)state;
    f = fixture_open(files[0], files[1]);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fixture_close(f);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("plan places", tests, open_all, close_all);
}
