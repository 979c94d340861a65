/* Bytes between functions that are no holes, though they stand behind a return. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

static const char *const *files;
static struct fixture *hashes;

static unsigned patched(const char *start, const char *end) {
    unsigned count = 0;
    for (vaddr_t at = fixture_place(hashes, start); at < fixture_place(hashes, end); at++)
        count += fixture_patch_at(hashes, at) || fixture_patch_over(hashes, at);
    return count;
}

static void padding_is_taken(void **state) {
    (void)state;
    assert_true(patched("at_padding", "at_padding_end") > 0);
    assert_int_equal(fixture_bare(hashes, "before_padding")->entry, TIER_JUMP);
}

static void a_kcfi_hash_is_left_alone(void **state) {
    (void)state;
    assert_int_equal(patched("at_kcfi", "at_kcfi_end"), 0);
    assert_int_equal(fixture_bare(hashes, "behind_kcfi")->entry, TIER_JUMP);
}

static void a_hash_of_the_function_sanitizer_is_left_alone(void **state) {
    (void)state;
    assert_int_equal(patched("at_sanitizer", "at_sanitizer_end"), 0);
    assert_int_equal(fixture_bare(hashes, "behind_sanitizer")->entry, TIER_JUMP);
}

static int open_all(void **state) {
    (void)state;
    hashes = fixture_open(files[0], files[1]);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    fixture_close(hashes);
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_is_taken),
        cmocka_unit_test(a_kcfi_hash_is_left_alone),
        cmocka_unit_test(a_hash_of_the_function_sanitizer_is_left_alone),
    };
    (void)argc;
    files = (const char *const *)argv + 1;
    return cmocka_run_group_tests_name("plan hashes", tests, open_all, close_all);
}
