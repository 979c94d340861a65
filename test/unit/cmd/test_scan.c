/* Addresses in the lines of a log, and the return addresses among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cmd/log_words.h"

#define TESTS                                                                                      \
    TEST(addresses_begin_with_0x)                                                                  \
    TEST(addresses_of_at_most_16_digits)                                                           \
    TEST(offsets_are_not_addresses)                                                                \
    TEST(kernel_addresses_in_brackets)                                                             \
    TEST(backtrace_callers_are_return_addresses)                                                   \
    TEST(link_register_is_a_return_address)                                                        \
    TEST(no_addresses_within_words)                                                                \
    TEST(escape_sequences_skipped)

/* Marks each found address in TEXT with "(p)" behind it, or "(r)" for a return address. */
static void expect(const char *text, const char *expected) {
    struct scan scan = {0};
    struct scan_hit hit;
    AUTO_FREE char *marked = mem_alloc(strlen(text) * 4 + 4);
    size_t used = 0;
    for (const char *p = text;; p++) {
        if (scan_byte(&scan, *p ? (uint8_t)*p : '\n', &hit))
            used += (size_t)sprintf(marked + used, "(%c)", hit.is_return ? 'r' : 'p');
        if (!*p)
            break;
        marked[used++] = *p;
    }
    marked[used] = '\0';
    assert_string_equal(marked, expected);
}

static void addresses_begin_with_0x(void **state) {
    (void)state;
    expect("at 0x80012f4.", "at 0x80012f4(p).");
    expect("0X80012F4", "0X80012F4(p)");
    expect("(0x1)[0x2]0x3,0x4", "(0x1(p))[0x2(p)]0x3(p),0x4(p)");
    expect("0x80012f4g 0x_1 x0x1 _0x1 0x 00x1 80012f4",
           "0x80012f4g 0x_1 x0x1 _0x1 0x 00x1 80012f4");
}

static void addresses_of_at_most_16_digits(void **state) {
    (void)state;
    expect("0x1234567812345678", "0x1234567812345678(p)");
    expect("0x12345678123456780", "0x12345678123456780");
    expect("0x123456781234567812345678123456781234567812345678 0x1",
           "0x123456781234567812345678123456781234567812345678 0x1(p)");
}

static void offsets_are_not_addresses(void **state) {
    (void)state;
    expect("main+0x10 f-0x20 +0x3", "main+0x10 f-0x20 +0x3");
}

static void kernel_addresses_in_brackets(void **state) {
    (void)state;
    expect("[<c0101234>] (f) from [<0x1>]", "[<c0101234(p)>] (f) from [<0x1(p)>]");
    expect("<c0101234> [c0101234] [<c0101234]", "<c0101234> [c0101234] [<c0101234]");
}

static void backtrace_callers_are_return_addresses(void **state) {
    (void)state;
    expect("#0 0x1\n#1 0x2\n#12  0x3 in f () 0x4\n0x5",
           "#0 0x1(p)\n#1 0x2(r)\n#12  0x3(r) in f () 0x4(r)\n0x5(p)");
    expect("#00 0x1 #01 0x2 #0 0x3 #x 0x4", "#00 0x1(p) #01 0x2(r) #0 0x3(p) #x 0x4(p)");
}

static void link_register_is_a_return_address(void **state) {
    (void)state;
    expect("pc=0x1 lr=0x2 sp=0x3", "pc=0x1(p) lr=0x2(r) sp=0x3(p)");
    expect("LR : 0x1, X30 0x2 r14:0x3 xlr 0x4", "LR : 0x1(r), X30 0x2(r) r14:0x3(r) xlr 0x4(p)");
    expect("lr is 0x1 lr\n0x2", "lr is 0x1(p) lr\n0x2(p)");
}

static void no_addresses_within_words(void **state) {
    (void)state;
    expect("\xc3\xa4"
           "0x1 0x1\xc3\xa4 \xff 0x2\xff 0x3",
           "\xc3\xa4"
           "0x1 0x1\xc3\xa4 \xff 0x2\xff 0x3(p)");
}

static void escape_sequences_skipped(void **state) {
    (void)state;
    expect("\x1b[31m0x1\x1b[0m", "\x1b[31m0x1(p)\x1b[0m");
    expect("\x1b[1;2K0x1 \x1b(0x2\x1b", "\x1b[1;2K0x1(p) \x1b(0x2(p)\x1b");
    expect("\x1b[\n0x1", "\x1b[\n0x1(p)");
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
