/* Formats: what is made of recorded words, and that all that spoor brings along can be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "values/capture.h"
#include "values/formats.h"

enum { END, BEGIN, FIRST, COUNT };

/* A vector of elements of 4 bytes: its size, and its first element, of two words. */
static void derive(uint16_t word, uint64_t *words, uint64_t *there) {
    struct capture_value values[COUNT] = {
        [END] = {.from = FROM_REGISTER, .bytes = word, .minus = BEGIN + 1, .divisor = 4},
        [BEGIN] = {.from = FROM_REGISTER, .bytes = word},
        [FIRST] = {.from = FROM_REGISTER, .bytes = 16, .only_if = END + 1}};
    const struct capture c = {.values = values, .count = COUNT};
    capture_derive(&c, words, there);
}

static void a_difference_counts_elements(void **state) {
    (void)state;
    uint64_t words[] = {0x2000, 0x1ff4, 5, 6}, there = 0xf;
    derive(8, words, &there);
    assert_int_equal(words[END], 3);
    assert_int_equal(words[BEGIN], 0x1ff4);
    assert_int_equal(there, 0xf);
    uint64_t narrow[] = {0x10, 0xfffffff8, 5, 6}; /* of 32 bits */
    derive(4, narrow, &there);
    assert_int_equal(narrow[END], 6);
    uint64_t turned[] = {0x10, 0x20, 5, 6};
    derive(4, turned, &there);
    assert_int_equal(turned[END], (uint32_t)-4);
}

static void what_depends_on_0_is_missing(void **state) {
    (void)state;
    uint64_t words[] = {0x2000, 0x2000, 5, 6}, there = 0xf;
    derive(8, words, &there);
    assert_int_equal(words[END], 0);
    assert_int_equal(there, 0x3);
}

static void a_part_of_an_element_is_no_difference(void **state) {
    (void)state;
    uint64_t words[] = {0x2002, 0x2000, 5, 6}, there = 0xf;
    derive(8, words, &there);
    assert_int_equal(there, 0x2);
}

static void nothing_is_made_of_what_was_not_read(void **state) {
    (void)state;
    uint64_t words[] = {0x2008, 0, 5, 6}, there = 0xd;
    derive(8, words, &there);
    assert_int_equal(there, 0);
}

/* A truth value inside a register, behind four bytes that are not 0. */
static void a_condition_is_its_own_bits(void **state) {
    (void)state;
    struct capture_value values[] = {{.from = FROM_REGISTER, .bytes = 5, .shift = 32, .width = 8},
                                     {.from = FROM_REGISTER, .bytes = 4, .only_if = 1}};
    const struct capture c = {.values = values, .count = 2};
    uint64_t words[] = {0xffffffff, 7}, there = 3;
    capture_derive(&c, words, &there);
    assert_int_equal(there, 1);
    words[0] = 0x1ffffffff, there = 3;
    capture_derive(&c, words, &there);
    assert_int_equal(there, 3);
}

static void built_in_formats_can_be_read(void **state) {
    (void)state;
    struct formats *f = formats_new();
    formats_add_built_in(f);
    assert_true(f->list.count > 10);
    assert_string_equal(f->list.at[0].pattern, "std::vector<*>");
    assert_int_equal(f->list.at[0].values.count, 2);
    assert_int_equal(f->list.at[0].values.at[1].only_if, 1);
    formats_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_difference_counts_elements),
                                       cmocka_unit_test(what_depends_on_0_is_missing),
                                       cmocka_unit_test(a_part_of_an_element_is_no_difference),
                                       cmocka_unit_test(nothing_is_made_of_what_was_not_read),
                                       cmocka_unit_test(a_condition_is_its_own_bits),
                                       cmocka_unit_test(built_in_formats_can_be_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
