/* Divided work: each part is done once, parts divide their own work, threads stay few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/workers.h"

enum { PARTS = 1000, MOST_THREADS = 4 };

static atomic_int done[PARTS], at_once, most_at_once, unblocked;

static void note_presence(void) {
    int now = ++at_once, most = most_at_once;
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now))
        ;
}

static void one_part(void *arg, size_t index) {
    atomic_int *counts = arg;
    note_presence();
    counts[index]++;
    at_once--;
}

static void reset(void) {
    memset(done, 0, sizeof done);
    at_once = most_at_once = unblocked = 0;
}

static void each_part_is_done_once(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= MOST_THREADS; threads++) {
        reset();
        workers_limit(threads);
        workers_run(PARTS, one_part, done);
        for (int i = 0; i < PARTS; i++)
            assert_int_equal(done[i], 1);
        assert_in_range(most_at_once, 1, threads);
    }
}

static void no_part_is_no_work(void **state) {
    (void)state;
    reset();
    workers_run(0, one_part, done);
    assert_int_equal(done[0], 0);
}

/* Waits until all threads are at work, so that each has a part. */
static void meet(void *arg, size_t index) {
    const uint64_t patience_ns = UINT64_C(20000000000), begin = clock_monotonic_ns();
    (void)index;
    ++*(atomic_int *)arg;
    while (*(atomic_int *)arg < MOST_THREADS && clock_monotonic_ns() - begin < patience_ns)
        clock_sleep_ns(100000);
}

static void parts_run_at_the_same_time(void **state) {
    atomic_int present = 0;
    uint64_t begin = clock_monotonic_ns();
    (void)state;
    workers_limit(MOST_THREADS);
    workers_run(MOST_THREADS, meet, &present);
    assert_int_equal(present, MOST_THREADS);
    assert_true(clock_monotonic_ns() - begin < UINT64_C(20000000000));
}

static void inner_part(void *arg, size_t index) {
    (void)index;
    note_presence();
    ++*(atomic_int *)arg;
    at_once--;
}

static void outer_part(void *arg, size_t index) {
    atomic_int *counts = arg;
    workers_run(10, inner_part, &counts[index]);
    counts[index] += counts[index] == 10 ? 0 : 100; /* it returned too soon */
}

static void parts_divide_their_own_work(void **state) {
    (void)state;
    reset();
    workers_limit(MOST_THREADS);
    workers_run(PARTS, outer_part, done);
    for (int i = 0; i < PARTS; i++)
        assert_int_equal(done[i], 10);
    assert_in_range(most_at_once, 1, MOST_THREADS);
}

static pthread_t caller;

static void look_at_signals(void *arg, size_t index) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (!pthread_equal(pthread_self(), caller))
        unblocked += !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGCHLD);
    meet(arg, index);
}

static void helpers_take_no_signals(void **state) {
    atomic_int present = 0;
    sigset_t blocked;
    (void)state;
    reset();
    caller = pthread_self();
    workers_limit(MOST_THREADS);
    workers_run(MOST_THREADS, look_at_signals, &present);
    assert_int_equal(unblocked, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGTERM));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_is_done_once),     cmocka_unit_test(no_part_is_no_work),
        cmocka_unit_test(parts_run_at_the_same_time), cmocka_unit_test(parts_divide_their_own_work),
        cmocka_unit_test(helpers_take_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
