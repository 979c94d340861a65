/* Numbers of 128 bits: known products and quotients, and the helpers that compute them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/wide.h"

#define TESTS                                                                                      \
    TEST(known_products)                                                                           \
    TEST(products_by_both_methods)                                                                 \
    TEST(quotients_undo_products)                                                                  \
    TEST(right_shifts)

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   10,
                                   UINT32_MAX,
                                   UINT64_C(1) << 32,
                                   (UINT64_C(1) << 32) + 1,
                                   UINT64_C(1) << 40,
                                   1000000007,
                                   UINT64_C(0x123456789abcdef0),
                                   UINT64_C(1) << 63,
                                   UINT64_MAX - 1,
                                   UINT64_MAX};
enum { COUNT = sizeof numbers / sizeof *numbers };

static void assert_wide(struct wide w, uint64_t high, uint64_t low) {
    assert_true(w.high == high);
    assert_true(w.low == low);
}

static void known_products(void **state) {
    (void)state;
    assert_wide(wide_product_of_halves(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1, 1);
    assert_wide(wide_product_of_halves(UINT64_C(1) << 63, 6), 3, 0);
    assert_wide(wide_product_of_halves(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210)),
                UINT64_C(0x121fa00ad77d7422), UINT64_C(0x236d88fe5618cf00));
}

/* Compares with the compiler's 128-bit products, where it has them. */
static void products_by_both_methods(void **state) {
    (void)state;
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++) {
            struct wide one = wide_product(numbers[i], numbers[k]);
            assert_wide(wide_product_of_halves(numbers[i], numbers[k]), one.high, one.low);
        }
}

static void quotients_undo_products(void **state) {
    (void)state;
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++)
            for (int d = 1; d < COUNT; d++) {
                struct wide n = wide_product_of_halves(numbers[i], numbers[k]);
                uint64_t rest;
                struct wide q = wide_quotient(n, numbers[d], &rest);
                assert_true(rest < numbers[d]);
                struct wide back = wide_product_of_halves(q.low, numbers[d]);
                back.high += q.high * numbers[d];
                back.low += rest;
                back.high += back.low < rest;
                assert_wide(back, n.high, n.low);
            }
}

static void right_shifts(void **state) {
    (void)state;
    struct wide w = {UINT64_C(0x123), UINT64_C(0x456789abcdef0123)};
    assert_true(wide_shift_right(w, 40) == UINT64_C(0x123456789));
    assert_true(wide_shift_right(w, 63) == UINT64_C(0x246));
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("wide numbers", tests, NULL, NULL);
}
