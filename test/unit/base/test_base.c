/* Bitmaps, binary search, waiting, MD5, memory. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bitmap.h"
#include "base/clock.h"
#include "base/file_id.h"
#include "base/md5.h"
#include "base/mem.h"
#include "base/search.h"

static void bytes_of_a_bitmap(void **state) {
    (void)state;
    assert_int_equal(bitmap_bytes(0), 0);
    assert_int_equal(bitmap_bytes(1), 1);
    assert_int_equal(bitmap_bytes(8), 1);
    assert_int_equal(bitmap_bytes(9), 2);
}

static void bits_are_independent(void **state) {
    uint8_t bits[2] = {0};
    (void)state;
    bitmap_set(bits, 0);
    bitmap_set(bits, 7);
    bitmap_set(bits, 9);
    assert_int_equal(bits[0], 0x81);
    assert_int_equal(bits[1], 0x02);
    assert_true(bitmap_test(bits, 7));
    assert_false(bitmap_test(bits, 8));
    assert_int_equal(bitmap_count(bits, 9), 2);
    assert_int_equal(bitmap_count(bits, 10), 3);
    bitmap_clear(bits, 7);
    assert_int_equal(bits[0], 0x01);
}

static void search_finds_the_boundary(void **state) {
    const int numbers[] = {1, 3, 3, 5};
    (void)state;
    assert_int_equal(SEARCH(i, 0, numbers[i] < 3), 0);
    assert_int_equal(SEARCH(i, 4, numbers[i] < 0), 0);
    assert_int_equal(SEARCH(i, 4, numbers[i] < 3), 1);
    assert_int_equal(SEARCH(i, 4, numbers[i] <= 3), 3);
    assert_int_equal(SEARCH(i, 4, numbers[i] < 9), 4);
}

static void sleep_takes_its_time(void **state) {
    uint64_t begin = clock_monotonic_ns();
    (void)state;
    clock_sleep_ns(2000000);
    assert_true(clock_monotonic_ns() - begin >= 2000000);
}

static void wait_takes_the_signal(void **state) {
    sigset_t reports, pending, before;
    (void)state;
    sigemptyset(&reports);
    sigaddset(&reports, SIGCHLD);
    sigprocmask(SIG_BLOCK, &reports, &before);
    kill(getpid(), SIGCHLD);
    clock_wait_child_ns(60000000000);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGCHLD));
    clock_wait_child_ns(1000); /* nothing is pending: returns after that time */
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* AGO: in seconds. */
static bool is_fresh(int ago, long ns) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct stat st = {.st_ctim = {now.tv_sec - ago, ns}};
    return file_id_of(&st).fresh;
}

/* Some file systems keep whole seconds: the next change within one leaves the time as it is. */
static void whole_seconds_are_fresh_for_two(void **state) {
    (void)state;
    assert_true(is_fresh(1, 0));
    assert_false(is_fresh(2, 1));
    assert_false(is_fresh(4, 0));
}

/* RFC 1321, A.5; and `md5sum` of as many letters as leave no room, and just room, for the length.
 */
static void md5_of_known_texts(void **state) {
    static const struct {
        const char *text, *digest;
    } known[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "ef1772b6dff9a122358552954ad0df65"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "3b0c8ac703f828b04c6c197006d17218"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "014842d480b571495a4a0363793f7367"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t digest[MD5_BYTES];
        char text[2 * MD5_BYTES + 1];
        md5(known[i].text, strlen(known[i].text), digest);
        for (size_t k = 0; k < MD5_BYTES; k++)
            snprintf(text + 2 * k, 3, "%02x", digest[k]);
        assert_string_equal(text, known[i].digest);
    }
}

/* Sanitizers keep what is freed; other libraries have other rules. */
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__
enum { GIVES_BACK = 1 };
#else
enum { GIVES_BACK = 0 };
#endif

static long resident_pages(void) {
    long size, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
    fclose(f);
    return resident;
}

/* A first one that is freed would change glibc's mind about the second one. */
static void large_memory_goes_back(void **state) {
    enum { SIZE = 8 << 20, PAGE = 4096 };
    (void)state;
    if (!GIVES_BACK)
        skip();
    mem_map_large();
    long before = resident_pages();
    for (int i = 0; i < 3; i++) {
        char *large = mem_resize(NULL, SIZE, 1);
        for (size_t at = 0; at < SIZE; at += PAGE)
            ((volatile char *)large)[at] = 1;
        assert_true(resident_pages() > before + SIZE / PAGE / 2);
        free(large);
        assert_true(resident_pages() < before + SIZE / PAGE / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_bitmap),
        cmocka_unit_test(bits_are_independent),
        cmocka_unit_test(search_finds_the_boundary),
        cmocka_unit_test(sleep_takes_its_time),
        cmocka_unit_test(wait_takes_the_signal),
        cmocka_unit_test(whole_seconds_are_fresh_for_two),
        cmocka_unit_test(md5_of_known_texts),
        cmocka_unit_test(large_memory_goes_back),
    };
    return cmocka_run_group_tests_name("bitmaps, searches, waiting, memory", tests, NULL, NULL);
}
