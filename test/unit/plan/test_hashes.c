/* Bytes between functions that look like padding and are not: they stay unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"

#define TESTS                                                                                      \
    TEST(patchable_padding_used)                                                                   \
    TEST(kcfi_hash_untouched)                                                                      \
    TEST(function_sanitizer_hash_untouched)

static const char *const *files;
static struct fixture *hashes;

static unsigned patched(const char *start, const char *end) {
    unsigned count = 0;
    for (vaddr_t at = fixture_place(hashes, start); at < fixture_place(hashes, end); at++)
        count += fixture_patch_at(hashes, at) || fixture_patch_over(hashes, at);
    return count;
}

static void patchable_padding_used(void **state) {
    (void)state;
    assert_true(patched("at_padding", "at_padding_end") > 0);
    assert_int_equal(fixture_bare(hashes, "before_padding")->entry, TIER_JUMP);
}

static void kcfi_hash_untouched(void **state) {
    (void)state;
    assert_int_equal(patched("at_kcfi", "at_kcfi_end"), 0);
    assert_int_equal(fixture_bare(hashes, "behind_kcfi")->entry, TIER_JUMP);
}

static void function_sanitizer_hash_untouched(void **state) {
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
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    (void)argc;
    files = (const char *const *)argv + 1;
    return cmocka_run_group_tests_name("plan hashes", tests, open_all, close_all);
}
