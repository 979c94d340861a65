/* Bitmaps, binary search and waiting. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bitmap.h"
#include "base/clock.h"
#include "base/file_id.h"
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_bitmap),
        cmocka_unit_test(bits_are_independent),
        cmocka_unit_test(search_finds_the_boundary),
        cmocka_unit_test(sleep_takes_its_time),
        cmocka_unit_test(wait_takes_the_signal),
        cmocka_unit_test(whole_seconds_are_fresh_for_two),
    };
    return cmocka_run_group_tests_name("bitmaps, searches, waiting", tests, NULL, NULL);
}
