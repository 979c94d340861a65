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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types/types.h"
#include "values/predicate.h"

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

/* ---- predicates ---- */

enum { VALUES = 4, VALUE_BYTES = 8, CONDITIONS = 4000 };
struct known { /* values of a call, as they are captured */
    uint8_t bytes[VALUES][VALUE_BYTES];
    bool unreadable[VALUES];
};

/* What a stub does with T. */
static bool predicate_test_holds(const struct predicate_test *t, const struct known *k) {
    const unsigned number = t->value.reg, bits = t->masked ? 64 : t->bits;
    uint64_t value;
    memcpy(&value, k->bytes[number], sizeof value);
    value = value << (64 - t->shift - t->bits) >> (64 - t->bits);
    if (t->is_signed && t->bits < 64 && value >> (t->bits - 1) & 1)
        value |= UINT64_MAX << t->bits;
    value &= t->masked ? t->mask : UINT64_MAX;
    assert_true(bits <= 64 && number < VALUES && t->size == 8 && !t->at);
    const int64_t a = (int64_t)value, b = (int64_t)t->constant;
    const int order = t->is_signed && !t->masked ? (a > b) - (a < b)
                                                 : (value > t->constant) - (value < t->constant);
    const bool holds[] = {[TEST_EQUAL] = order == 0,
                          [TEST_UNEQUAL] = order != 0,
                          [TEST_LESS] =
                              order<0, [TEST_AT_MOST] = order <= 0, [TEST_MORE] = order> 0,
                          [TEST_AT_LEAST] = order >= 0};
    return !k->unreadable[number] && holds[t->op];
}

static bool predicate_holds(const struct predicate *p, const struct known *k) {
    int at = (int)p->count - 1;
    while (at >= 0) {
        const struct predicate_test *t = &p->tests[at];
        const int next = predicate_test_holds(t, k) ? t->on_true : t->on_false;
        assert_true(next < at); /* so it ends */
        at = next;
    }
    return at == PREDICATE_TRUE || !p->count;
}

static unsigned choose(unsigned count) { return (unsigned)random() % count; }

/* A random condition. *RET_ALL stays true if stubs can judge all of it. */
static void write_condition(char **to, unsigned depth, bool *ret_all) {
    static const char *const names[] = {"a",         "b",     "c",
                                        "d & 0x1f0", "a & 7", "c & 0x8000000000000000"};
    static const char *const ops[] = {"==", "!=", "<", "<=", ">", ">="};
    static const char *const constants[] = {"0",
                                            "1",
                                            "-1",
                                            "100",
                                            "200",
                                            "255",
                                            "256",
                                            "-5",
                                            "'a'",
                                            "-300",
                                            "4294967295",
                                            "99999999999",
                                            "18446744073709551615",
                                            "-9223372036854775808"};
    static const char *const others[] = {"a > 1.5", "a < c", "d == 2.0", "ret > 3"};
    if (depth && choose(3)) {
        *to += sprintf(*to, choose(4) ? "(" : "!(");
        write_condition(to, depth - 1, ret_all);
        *to += sprintf(*to, choose(2) ? " && " : " || ");
        write_condition(to, depth - 1, ret_all);
        *to += sprintf(*to, ")");
        return;
    }
    const char *name = names[choose(6)], *op = ops[choose(6)], *constant = constants[choose(14)];
    if (choose(8) == 0) {
        *ret_all = false;
        *to += sprintf(*to, "%s", others[choose(4)]);
    } else if (choose(3)) {
        *to += sprintf(*to, "%s %s %s", name, op, constant);
    } else {
        *to += sprintf(*to, "%s %s %s", constant, op, name);
    }
}

static void random_known(struct known *k) {
    static const uint64_t numbers[] = {0,
                                       1,
                                       99,
                                       100,
                                       101,
                                       200,
                                       255,
                                       256,
                                       UINT64_MAX,
                                       UINT64_MAX - 4,
                                       UINT32_MAX,
                                       INT64_MAX,
                                       UINT64_C(1) << 63,
                                       0x1f0,
                                       99999999999};
    for (int i = 0; i < VALUES; i++) {
        memcpy(k->bytes[i], &numbers[choose(15)], VALUE_BYTES);
        k->unreadable[i] = choose(6) == 0;
    }
}

static enum truth truth_with(const struct condition *c, const struct operand_reader *readers,
                             const struct capture *capture, const struct known *k) {
    struct captured captured[VALUES];
    struct plain_value *values = calloc(condition_operand_count(c) + 1, sizeof *values);
    for (int i = 0; i < VALUES; i++)
        captured[i] =
            (struct captured){.missing = k->unreadable[i] ? VALUE_UNREADABLE : VALUE_THERE,
                              .length = capture->values[i].bytes,
                              .bytes = k->bytes[i]};
    condition_read(c, readers, capture, captured, values);
    const enum truth truth = condition_test(c, values);
    free(values);
    return truth;
}

/* Counts in COUNTS what predicates of random calls say. */
static void compare_predicate(const char *text, bool all, struct types *types,
                              const struct capture *capture, unsigned counts[4]) {
    struct condition *c;
    struct predicate p;
    struct err err;
    assert_int_equal(condition_parse(text, &c, &err), 0);
    struct operand_reader *readers = calloc(condition_operand_count(c) + 1, sizeof *readers);
    condition_bind(c, types, capture, readers);
    predicate_init(c, readers, capture, &p);
    for (int i = 0; i < 40; i++) {
        struct known k;
        random_known(&k);
        const enum truth truth = truth_with(c, readers, capture, &k);
        const bool holds = predicate_holds(&p, &k);
        /* A comparison that all integers of a type meet counts as true unread. */
        if ((truth == TRUTH_TRUE && !holds) || (all && p.count && truth == TRUTH_FALSE && holds))
            fail_msg("%s: %d, but %d", text, truth, holds);
        counts[!p.count ? 0 : truth == TRUTH_UNKNOWN && !holds ? 1 : 2 + holds]++;
    }
    predicate_done(&p);
    free(readers);
    condition_free(c);
}

static void predicates_agree_with_conditions(void **state) {
    struct types *types = types_new();
    const struct type signed_int = {.kind = TYPE_INTEGER,
                                    .name = "int",
                                    .bytes = 4,
                                    .flags = TYPE_SIGNED},
                      byte = {.kind = TYPE_INTEGER, .name = "byte", .bytes = 1},
                      wide = {
                          .kind = TYPE_INTEGER, .name = "long", .bytes = 8, .flags = TYPE_SIGNED};
    struct capture_value values[VALUES] = {
        {.name = "a", .bytes = 4, .type = types_add(types, &signed_int)},
        {.name = "b", .bytes = 1, .type = types_add(types, &byte)},
        {.name = "c", .bytes = 8, .type = types_add(types, &wide)},
        {.name = "d", .bytes = 8}};
    unsigned counts[4] = {0};
    (void)state;
    for (uint8_t i = 0; i < VALUES; i++) {
        values[i].from = FROM_REGISTER;
        values[i].reg = i;
        values[i].length_of = -1;
    }
    const struct capture capture = {.kind = EVENT_ENTRY, .values = values, .count = VALUES};
    for (int i = 0; i < CONDITIONS; i++) {
        char text[2048], *to = text;
        bool all = true;
        write_condition(&to, 3, &all);
        compare_predicate(text, all, types, &capture, counts);
    }
    for (int i = 1; i < 4; i++)
        assert_true(counts[i] > CONDITIONS);
    types_free(types);
}

static void check_never(struct types *types, const struct capture *capture, const char *text,
                        const char *operand) {
    struct condition *c;
    struct err err;
    assert_int_equal(condition_parse(text, &c, &err), 0);
    const char *found = condition_never_known(c, types, capture, 1);
    if (!found != !operand || (found && strcmp(found, operand) != 0))
        fail_msg("%s: %s", text, found ? found : "may hold");
    condition_free(c);
}

static void what_no_call_can_meet_is_found(void **state) {
    struct types *types = types_new();
    const struct type integer_type = {.kind = TYPE_INTEGER, .name = "int", .bytes = 4};
    const type_id type = types_add(types, &integer_type);
    struct capture_value values[] = {
        {.name = "known", .from = FROM_REGISTER, .bytes = 4, .type = type, .length_of = -1},
        {.name = "x", .missing = VALUE_OPTIMIZED_OUT, .type = type, .length_of = -1},
        {.name = "fixed", .from = FROM_CONSTANT, .bytes = 4, .type = type, .length_of = -1}};
    const struct capture capture = {.kind = EVENT_ENTRY, .values = values, .count = 3};
    (void)state;
    check_never(types, &capture, "x > 1", "x");
    check_never(types, &capture, "!(x > 1)", "x");
    check_never(types, &capture, "known && x", "x");
    check_never(types, &capture, "x == known || x < 3", "x");
    check_never(types, &capture, "!(x || known)", "x");
    check_never(types, &capture, "known || x", NULL);
    check_never(types, &capture, "!(x && known)", NULL);
    check_never(types, &capture, "known == 1 && fixed", NULL);
    types_free(types);
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
        cmocka_unit_test(predicates_agree_with_conditions),
        cmocka_unit_test(what_no_call_can_meet_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
