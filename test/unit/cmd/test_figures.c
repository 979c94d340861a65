/* src/cmd/figures.h: figures and foreign text as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/figures.h"

#define TESTS                                                                                      \
    TEST(times_with_four_digits)                                                                   \
    TEST(times_in_columns)                                                                         \
    TEST(sizes_with_one_decimal)                                                                   \
    TEST(shares_in_percent)                                                                        \
    TEST(control_characters_as_question_marks)

static void expect_time(uint64_t ns, const char *right) {
    char text[FIGURE_ROOM];
    figure_time(text, ns);
    assert_string_equal(text, right);
}

static void times_with_four_digits(void **state) {
    (void)state;
    expect_time(0, "0 ns");
    expect_time(999, "999 ns");
    expect_time(1000, "1.000 us");
    expect_time(9999, "9.999 us");
    expect_time(12345, "12.34 us");
    expect_time(999999, "999.9 us");
    expect_time(1000000, "1.000 ms");
    expect_time(1234567890, "1.234 s");
    expect_time(999999999999, "999.9 s");
    expect_time(1000000000000, "1000 s");
    expect_time(UINT64_MAX, "18446744073 s");
}

static void times_in_columns(void **state) {
    char text[FIGURE_ROOM];
    (void)state;
    figure_time_column(text, 12345);
    assert_string_equal(text, "12.34 us");
    figure_time_column(text, 12345678901);
    assert_string_equal(text, "12.34  s");
}

static void expect_bytes(uint64_t bytes, const char *right) {
    char text[FIGURE_ROOM];
    figure_bytes(text, bytes);
    assert_string_equal(text, right);
}

static void sizes_with_one_decimal(void **state) {
    (void)state;
    expect_bytes(0, "0 B");
    expect_bytes(999, "999 B");
    expect_bytes(1000, "1.0 kB");
    expect_bytes(999999, "999.9 kB");
    expect_bytes(12345678, "12.3 MB");
    expect_bytes(UINT64_MAX, "18.4 EB");
}

static void expect_share(uint64_t part, uint64_t whole, const char *right) {
    char text[FIGURE_ROOM];
    figure_share(text, part, whole);
    assert_string_equal(text, right);
}

static void shares_in_percent(void **state) {
    (void)state;
    expect_share(1, 3, "33.33 %");
    expect_share(5, 5, "100.00 %");
    expect_share(0, 0, "0.00 %");
}

static void control_characters_as_question_marks(void **state) {
    (void)state;
    char got[64] = "";
    FILE *f = fmemopen(got, sizeof got, "w");
    text_print(f, "a\x1b[2Jb\n\x7f");
    fclose(f);
    assert_string_equal(got, "a?[2Jb??");
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
