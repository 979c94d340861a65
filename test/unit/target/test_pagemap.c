/* Pages of a private mapping of a file: which of them are the file's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/page.h"
#include "target/memory.h"
#include "target/pagemap.h"

#define TESTS                                                                                      \
    TEST(pages_that_were_never_used_are_of_the_file)                                               \
    TEST(pages_that_were_read_are_of_the_file)                                                     \
    TEST(a_page_that_was_written_is_not)                                                           \
    TEST(a_page_that_was_written_back_is_not)                                                      \
    TEST(a_page_that_was_dropped_is_of_the_file_again)                                             \
    TEST(nothing_is_known_without_a_pagemap)

enum { PAGES = 200 };

static uint8_t *bytes;
static int pagemap;

static size_t page(void) { return (size_t)page_bytes(); }

static taddr_t at(size_t n) { return (taddr_t)(uintptr_t)(bytes + n * page()); }

/* A private mapping, which this program cannot write, of a file whose pages are all 'a'. */
static int map_file(void **state) {
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    for (size_t i = 0; i < PAGES * page(); i++)
        putc('a', file);
    fflush(file);
    bytes = mmap(NULL, PAGES * page(), PROT_READ, MAP_PRIVATE, fileno(file), 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    fclose(file);
    pagemap = pagemap_open(getpid());
    return pagemap < 0;
}

static int unmap_file(void **state) {
    (void)state;
    munmap(bytes, PAGES * page());
    return close(pagemap);
}

/* As a debugger does, whatever the protection. */
static void write_byte(size_t n, char value) {
    int fd;
    assert_int_equal(memory_open(getpid(), &fd, NULL), 0);
    assert_int_equal(memory_write(fd, at(n), &value, 1, NULL), 0);
    close(fd);
}

static void pages_that_were_never_used_are_of_the_file(void **state) {
    (void)state;
    assert_true(pagemap_is_of_file(pagemap, at(0), PAGES * page()));
}

static void pages_that_were_read_are_of_the_file(void **state) {
    (void)state;
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(*(volatile uint8_t *)(bytes + i * page()), 'a');
    assert_true(pagemap_is_of_file(pagemap, at(0), PAGES * page()));
}

static void a_page_that_was_written_is_not(void **state) {
    (void)state;
    for (size_t n = 63; n < 130; n += 22) {
        write_byte(n, 'b');
        assert_false(pagemap_is_of_file(pagemap, at(0), PAGES * page()));
        assert_false(pagemap_is_of_file(pagemap, at(n) + page() - 1, 1));
        assert_false(pagemap_is_of_file(pagemap, at(n) - 1, 2));
        assert_true(pagemap_is_of_file(pagemap, at(n) - page(), page()));
        assert_true(pagemap_is_of_file(pagemap, at(n + 1), page()));
    }
}

static void a_page_that_was_written_back_is_not(void **state) {
    (void)state;
    write_byte(1, 'b');
    write_byte(1, 'a');
    assert_false(pagemap_is_of_file(pagemap, at(1), 1));
}

static void a_page_that_was_dropped_is_of_the_file_again(void **state) {
    (void)state;
    write_byte(1, 'b');
    assert_int_equal(madvise(bytes + page(), page(), MADV_DONTNEED), 0);
    assert_true(pagemap_is_of_file(pagemap, at(0), PAGES * page()));
    assert_int_equal(bytes[page()], 'a');
}

static void nothing_is_known_without_a_pagemap(void **state) {
    (void)state;
    assert_false(pagemap_is_of_file(-1, at(0), page()));
    assert_int_equal(pagemap_open(-1), -1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, map_file, unmap_file),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
