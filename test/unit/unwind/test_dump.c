/* Memory dumps in all the forms in which tools write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/dump.h"

#define TESTS                                                                                      \
    TEST(raw_bytes_at_the_stack_pointer)                                                           \
    TEST(base_in_any_form)                                                                         \
    TEST(words_of_a_fault_handler)                                                                 \
    TEST(values_of_unequal_width)                                                                  \
    TEST(gdb_words_bytes_and_names)                                                                \
    TEST(xxd_bytes_in_order)                                                                       \
    TEST(hexdump_counts_from_0)                                                                    \
    TEST(star_repeats_the_line)                                                                    \
    TEST(text_without_addresses)                                                                   \
    TEST(other_log_lines_skipped)                                                                  \
    TEST(pieces_in_any_order)                                                                      \
    TEST(intel_hex_checksums)                                                                      \
    TEST(files_without_memory_refused)

enum { SP = 0x20003f80 };
static struct dump_place place;

static int reset(void **state) {
    (void)state;
    place = (struct dump_place){.word = 4, .sp = SP};
    return 0;
}

static void read_bytes(const void *bytes, size_t size, struct dump *ret) {
    struct err err;
    *ret = (struct dump){0};
    if (dump_read(bytes, size, &place, ret, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_bytes(const struct dump *dump, uint64_t at, const void *bytes, size_t size) {
    for (size_t i = 0; i < dump->pieces.count; i++) {
        const struct unwind_piece *p = &dump->pieces.at[i];
        if (at - p->at < p->size && p->size - (at - p->at) >= size) {
            assert_memory_equal(p->bytes + (at - p->at), bytes, size);
            return;
        }
    }
    fail_msg("nothing is at 0x%lx", (unsigned long)at);
}

static size_t size_of(const struct dump *dump) {
    size_t size = 0;
    for (size_t i = 0; i < dump->pieces.count; i++)
        size += dump->pieces.at[i].size;
    return size;
}

/* Reads TEXT: it must have BYTES at AT, and nothing else. */
static void expect(const char *text, uint64_t at, const char *bytes, size_t size) {
    struct dump dump;
    read_bytes(text, strlen(text), &dump);
    assert_int_equal(size_of(&dump), size);
    assert_bytes(&dump, at, bytes, size);
    dump_done(&dump);
}
#define EXPECT(text, at, bytes) expect(text, at, bytes, sizeof(bytes) - 1)

static void refuse(const char *text, const char *tag) {
    struct dump dump = {0};
    struct err err = {0};
    assert_true(dump_read((const uint8_t *)text, strlen(text), &place, &dump, &err) < 0);
    assert_string_equal(err.tag, tag);
    dump_done(&dump);
}

static void raw_bytes_at_the_stack_pointer(void **state) {
    (void)state;
    struct dump dump;
    read_bytes("\1\2\3\0", 4, &dump);
    assert_bytes(&dump, SP, "\1\2\3\0", 4);
    dump_done(&dump);
}

static void base_in_any_form(void **state) {
    (void)state;
    struct dump dump;
    place.has_base = true;
    place.base = 0x1000;
    read_bytes("\1\2\3\0", 4, &dump);
    assert_bytes(&dump, 0x1000, "\1\2\3\0", 4);
    dump_done(&dump);
    EXPECT("20003f80: 0000abcd\n", 0x1000, "\xcd\xab\0\0");
    EXPECT("0000abcd\n", 0x1000, "\xcd\xab\0\0");
}

static void words_of_a_fault_handler(void **state) {
    (void)state;
    EXPECT("20003f80: 0000abcd 00001234\n20003f88: 08001235\n", SP,
           "\xcd\xab\0\0\x34\x12\0\0\x35\x12\0\x08");
    EXPECT("0x20003f80: 0x0000abcd 0x00001234", SP, "\xcd\xab\0\0\x34\x12\0\0");
    EXPECT("20003f80:\t0000ABCD\r\n", SP, "\xcd\xab\0\0");
    EXPECT("20003f80: 0123456789abcdef", SP, "\xef\xcd\xab\x89\x67\x45\x23\x01");
}

static void values_of_unequal_width(void **state) {
    (void)state;
    EXPECT("0x20003f80: 0xabcd 0x1\n0x20003f88: 0x8001235\n", SP,
           "\xcd\xab\0\0\1\0\0\0\x35\x12\0\x08");
    place.word = 8;
    EXPECT("0x20003f80: 0xabcd 0x1\n", SP, "\xcd\xab\0\0\0\0\0\0\1\0\0\0\0\0\0\0");
}

static void gdb_words_bytes_and_names(void **state) {
    (void)state;
    EXPECT("0x20003f80:\t0x0000abcd\t0x00001234\n0x20003f88 <stack+8>:\t0x08001235\n", SP,
           "\xcd\xab\0\0\x34\x12\0\0\x35\x12\0\x08");
    EXPECT("0x20003f80 <f(int, char)::x>:\t0x01\t0x02\n", SP, "\1\2");
    EXPECT("0x20003f80:\t0xabcd\t0x1234\n", SP, "\xcd\xab\x34\x12");
    EXPECT("0x20003f80:\t0x0123456789abcdef\n", SP, "\xef\xcd\xab\x89\x67\x45\x23\x01");
}

static void xxd_bytes_in_order(void **state) {
    (void)state;
    EXPECT("20003f80: cdab 0000 3412 0000 3512 0008 6162 6364  ....4...5...abcd\n", SP,
           "\xcd\xab\0\0\x34\x12\0\0\x35\x12\0\x08\x61\x62\x63\x64");
    EXPECT("20003f80: cd ab 00 00  beef\n", SP, "\xcd\xab\0\0");
}

static void hexdump_counts_from_0(void **state) {
    (void)state;
    EXPECT("00000000  cd ab 00 00 34 12 00 00  35 12 00 08 61 62 63 64  |....4...5...abcd|\n"
           "00000010\n",
           SP, "\xcd\xab\0\0\x34\x12\0\0\x35\x12\0\x08\x61\x62\x63\x64");
    EXPECT("0000000 abcd 0000 1234 0000\n0000008\n", SP, "\xcd\xab\0\0\x34\x12\0\0");
}

static void star_repeats_the_line(void **state) {
    (void)state;
    EXPECT("00000000  01 02\n*\n00000006  03 04\n00000008\n", SP, "\1\2\1\2\1\2\3\4");
    EXPECT("00000000  01 02\n*\n00000006\n", SP, "\1\2\1\2\1\2");
    EXPECT("20003f80  01 02\n*\n", SP, "\1\2");
}

static void text_without_addresses(void **state) {
    (void)state;
    EXPECT("0000abcd 00001234\n08001235\n", SP, "\xcd\xab\0\0\x34\x12\0\0\x35\x12\0\x08");
    EXPECT("cd ab 00 00", SP, "\xcd\xab\0\0");
    EXPECT("0xabcd 0x1\n", SP, "\xcd\xab\0\0\1\0\0\0");
}

static void other_log_lines_skipped(void **state) {
    (void)state;
    EXPECT("HardFault at 0x08001234\npc : 08001234 lr : 08001235\nStack:\n"
           "[   12.345] 20003f80: 0000abcd\n[   12.346] 20003f84: 00001234 end\n12:34:56 ok\n"
           "r0: 00000001\n",
           SP, "\xcd\xab\0\0\x34\x12\0\0");
}

static void pieces_in_any_order(void **state) {
    (void)state;
    struct dump dump;
    static const char text[] = "20003f84: 00001234\n20003f80: 0000abcd\n20004000: 00000001\n";
    read_bytes(text, sizeof text - 1, &dump);
    assert_bytes(&dump, SP, "\xcd\xab\0\0", 4);
    assert_bytes(&dump, SP + 4, "\x34\x12\0\0", 4);
    assert_bytes(&dump, 0x20004000, "\1\0\0\0", 4);
    dump_done(&dump);
}

static void intel_hex_checksums(void **state) {
    (void)state;
    EXPECT(":020000042000DA\r\n:043F8000CDAB0000C5\r\n:00000001FF\r\n", SP, "\xcd\xab\0\0");
    EXPECT(":020000022000DC\n:0401000001020304F1\n", 0x20100, "\1\2\3\4");
    refuse(":043F8000CDAB0000C6\n", "bad-dump");
    refuse(":043F8000CDAB00C5\n", "bad-dump");
    refuse(":04\n", "bad-dump");
    refuse(":00000001FF\n", "no-dump");
}

static void files_without_memory_refused(void **state) {
    (void)state;
    refuse("", "no-dump");
    refuse("no stack here\n", "no-dump");
    refuse("20003f80:\n", "no-dump");
    refuse("lr: 20003f80\n", "no-dump");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, reset),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("unwind dump", tests, NULL, NULL);
}
