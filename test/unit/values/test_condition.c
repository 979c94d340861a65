/*
 * Conditions: what they mean for given values, and errors in their texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "values/condition.h"

static struct plain_value integer(int64_t n) {
    return (struct plain_value){
        .kind = PLAIN_INTEGER, .negative = n < 0, .magnitude = n < 0 ? -(uint64_t)n : (uint64_t)n};
}

static struct plain_value real(double n) {
    return (struct plain_value){.kind = PLAIN_REAL, .real = n};
}

static struct plain_value text(const char *bytes, bool cut) {
    return (struct plain_value){.kind = PLAIN_TEXT,
                                .magnitude = 0x1000,
                                .bytes = (const uint8_t *)bytes,
                                .length = strlen(bytes),
                                .cut = cut};
}

static const struct plain_value nothing = {.kind = PLAIN_NOTHING};

/* Operands are numbered in the order of the text: A and B are the first ones. */
static void check(const char *condition, struct plain_value a, struct plain_value b,
                  enum truth expected) {
    struct condition *c;
    struct err err;
    struct plain_value values[8] = {a, b, integer(0), integer(0)};
    assert_int_equal(condition_parse(condition, &c, &err), 0);
    const enum truth t = condition_test(c, values);
    if (t != expected)
        fail_msg("%s: %d", condition, t);
    condition_free(c);
}

static void check_alone(const char *condition, struct plain_value a, bool expected) {
    check(condition, a, nothing, expected ? TRUTH_TRUE : TRUTH_FALSE);
}

static void numbers_are_compared(void **state) {
    (void)state;
    check_alone("n == 3", integer(3), true);
    check_alone("n != 3", integer(3), false);
    check_alone("n < -1", integer(-2), true);
    check_alone("-1 > n", integer(-2), true);
    check_alone("n >= 0x10", integer(16), true);
    check_alone("n <= 18446744073709551615", integer(-1), true);
    check_alone("n == 18446744073709551615", integer(-1), false);
    check_alone("n", integer(0), false);
    check_alone("!n", integer(0), true);
    check_alone("n == 'a'", integer('a'), true);
    check_alone("n == '\\n'", integer('\n'), true);
    check_alone("n & 4", integer(6), true);
    check_alone("(n & 4) == 0", integer(6), false);
    check_alone("n & 0x8000000000000000", integer(-1), true);
    check_alone("n == true", integer(1), true);
    check_alone("p == NULL", integer(0), true);
    check_alone("r > 1.5", real(1.75), true);
    check_alone("r > 1", real(1.75), true);
    check_alone("n < 2.5", integer(2), true);
    check("r == r", real(NAN), real(NAN), TRUTH_FALSE);
    check("r != r", real(NAN), real(NAN), TRUTH_TRUE);
    check("r < 1", real(NAN), nothing, TRUTH_FALSE);
}

static void texts_are_compared(void **state) {
    (void)state;
    check_alone("s == \"abc\"", text("abc", false), true);
    check_alone("s == \"ab\"", text("abc", false), false);
    check_alone("s != \"a\\x62\\\"\"", text("ab\"", false), false);
    check_alone("s < \"b\"", text("abc", false), true);
    check_alone("s != 0", text("abc", false), true);
    check_alone("s == \"abc\"", integer(0), false); /* a null pointer */
    check("s == \"abc\"", text("ab", true), nothing, TRUTH_UNKNOWN);
    check("s == \"ab\"", text("ab", true), nothing, TRUTH_UNKNOWN);
    check("s == \"a\"", text("ab", true), nothing, TRUTH_FALSE);
    check("s == \"xy\"", text("ab", true), nothing, TRUTH_FALSE);
    check("s > \"a\"", text("ab", true), nothing, TRUTH_TRUE);
}

static void unknown_values_decide_nothing(void **state) {
    (void)state;
    check("a == 1", nothing, nothing, TRUTH_UNKNOWN);
    check("!(a == 1)", nothing, nothing, TRUTH_UNKNOWN);
    check("a == 1 || b == 2", nothing, integer(2), TRUTH_TRUE);
    check("a == 1 && b == 2", nothing, integer(3), TRUTH_FALSE);
    check("a == 1 && b == 2", nothing, integer(2), TRUTH_UNKNOWN);
    check("b == 2 || a == 1", integer(1), nothing, TRUTH_UNKNOWN);
}

static void expressions_have_their_order(void **state) {
    (void)state;
    check("a == 1 || a == 2 && b == 3", integer(1), integer(0), TRUTH_TRUE);
    check("(a == 1 || a == 2) && b == 3", integer(1), integer(9), TRUTH_FALSE);
    check("(*p).x == 5 && (long)n == 6", integer(5), integer(6), TRUTH_TRUE);
    check("((p->x == 5))", integer(5), nothing, TRUTH_TRUE);
    check("!(o->x > 4 && !(y < 3))", integer(5), integer(2), TRUTH_TRUE);
    check("ret.a[2] == 7 && ret->b.c != 1", integer(7), integer(2), TRUTH_TRUE);
}

static void operands_are_listed(void **state) {
    static const char *const expected[] = {"o->price", "kind", "PEN", "ret.x[1]", "*out"};
    struct condition *c;
    struct condition_operand o;
    struct err err;
    size_t i = 0;
    (void)state;
    assert_int_equal(
        condition_parse("o->price > 3 && (kind == PEN || ret.x[1]) && !( *out )", &c, &err), 0);
    for (; condition_operand(c, i, &o); i++)
        assert_string_equal(o.text, expected[i]);
    assert_int_equal(i, 5);
    assert_int_equal(condition_operand_count(c), 5);
    assert_true(condition_has_result(c));
    condition_free(c);
    assert_int_equal(condition_parse("o->price > 3", &c, &err), 0);
    assert_false(condition_has_result(c));
    condition_free(c);
}

static void wrong_texts_are_refused(void **state) {
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"", "^: an expression ends too early"},
        {"n ==", "n ==^: an expression ends too early"},
        {"n = 3", "n ^= 3: equality is \"==\""},
        {"n == 3 m",
         "n == 3 ^m: only comparisons, \"&&\", \"||\", \"!\" and \"&\" with a number are "
         "known here"},
        {"s == \"ab", "s == ^\"ab: a string ends with a second quote"},
        {"c == 'ab'", "c == ^'ab': a character in '…' is one byte"},
        {"n & m", "n & ^m: a number is expected behind \"&\""},
        {"(n == 3", "(n == 3^: \")\" is missing"},
        {"a || ", "a || ^: an expression ends too early"},
        {"o->", "o->^: a member's name is expected"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct condition *c;
        struct err err;
        assert_int_equal(condition_parse(wrong[i].text, &c, &err), -EINVAL);
        assert_string_equal(err.text, wrong[i].message);
    }
    char deep[400];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    struct condition *c;
    struct err err;
    assert_int_equal(condition_parse(deep, &c, &err), -EINVAL);
}

static void patterns_are_split(void **state) {
    static const char *const wrong[] = {"work", "work/", "work//", "/n > 3/", "work/n > 3"};
    char *pattern;
    const char *condition;
    struct err err;
    (void)state;
    assert_int_equal(condition_split("work/n / 2/", &pattern, &condition, &err), 0);
    assert_string_equal(pattern, "work");
    assert_string_equal(condition, "n / 2");
    free(pattern);
    assert_int_equal(condition_split("{a/b}/s == \"/\"/", &pattern, &condition, &err), 0);
    assert_string_equal(pattern, "a/b");
    assert_string_equal(condition, "s == \"/\"");
    free(pattern);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(condition_split(wrong[i], &pattern, &condition, &err), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_compared),
        cmocka_unit_test(texts_are_compared),
        cmocka_unit_test(unknown_values_decide_nothing),
        cmocka_unit_test(expressions_have_their_order),
        cmocka_unit_test(operands_are_listed),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(patterns_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
