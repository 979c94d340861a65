/* The MD5 in a table of lines: found for the right file, and never read past broken tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elf/source_md5.h"

/* DWARF 5, 6.2.4: one folder, two files of which the second is in it. */
static const uint8_t table[] = {
    75, 0,   0,    0,                         /* unit_length */
    5,  0,   8,    0,                         /* version, sizes of addresses and of segments */
    65, 0,   0,    0,                         /* header_length */
    1,  1,   1,    0xfb, 14,   4, 0,    1, 1, /* four opcodes, so three operand counts */
    1,  1,   0x08, 1,    '/',  0,             /* folders: a path, inline */
    3,  1,   0x08, 2,    0x0b, 5, 0x1e,       /* files: a path, a folder's number, an MD5 */
    2,  'a', 0,    0,                         /* two files */
    1,  1,   1,    1,    1,    1, 1,    1, 1, 1, 1, 1, 1, 1, 1, 1, 'b', 'b',
    0,  0,   2,    2,    2,    2, 2,    2, 2, 2, 2, 2, 2, 2, 2, 2, 2,   3,
};

/* From a copy without a byte more, so that a sanitizer sees a read past it. */
static bool find(const uint8_t *bytes, size_t size, uint64_t index, uint8_t ret[MD5_BYTES]) {
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    bool found = source_md5_of_table(copy, size, index, ret);
    free(copy);
    return found;
}

static void each_file_has_its_own(void **state) {
    uint8_t digest[MD5_BYTES];
    (void)state;
    assert_true(find(table, sizeof table, 0, digest));
    assert_int_equal(digest[15], 1);
    assert_true(find(table, sizeof table, 1, digest));
    assert_int_equal(digest[0], 2);
    assert_int_equal(digest[15], 3);
    assert_false(find(table, sizeof table, 2, digest));
    assert_false(find(table, sizeof table, UINT64_MAX, digest));
}

static void cut_tables_have_none(void **state) {
    uint8_t digest[MD5_BYTES];
    (void)state;
    for (size_t size = 0; size < sizeof table; size++)
        assert_false(find(table, size, 1, digest));
}

static void other_versions_have_none(void **state) {
    uint8_t copy[sizeof table], digest[MD5_BYTES];
    (void)state;
    memcpy(copy, table, sizeof table);
    copy[4] = 4;
    assert_false(find(copy, sizeof copy, 0, digest));
}

static void broken_tables_end(void **state) {
    uint8_t copy[sizeof table], digest[MD5_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof table; i++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(copy, table, sizeof table);
            copy[i] = (uint8_t)value;
            find(copy, sizeof copy, 1, digest);
            find(copy, sizeof copy, UINT64_MAX - 1, digest);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_file_has_its_own),
        cmocka_unit_test(cut_tables_have_none),
        cmocka_unit_test(other_versions_have_none),
        cmocka_unit_test(broken_tables_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
