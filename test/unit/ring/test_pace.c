/* How a drainer rests: its priority, and what ends its polls. */
#include "ring/pace.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "../trace/support.h"
#include "base/clock.h"
#include "ring/rings.h"

#define TESTS                                                                                      \
    TEST(sleeps_as_a_realtime_thread_once_late)                                                    \
    TEST(sleeps_as_one_where_all_processors_are_busy)                                              \
    TEST(never_realtime_if_nobody_waits)                                                           \
    TEST(realtime_for_some_milliseconds_only)                                                      \
    TEST(timer_slack_is_short_after_priority)                                                      \
    TEST(threads_inherit_nothing)                                                                  \
    TEST(poll_ends_with_an_event_at_the_target)

#define MS_NS 1000000
#define HOUR_NS (UINT64_C(3600) * 1000 * MS_NS)

enum { RING = 4096, TARGET_SLOT = RING / EVENT_BYTES * 40 / 100 };

static int policy(void) { return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK; }

static void *try_realtime(void *arg) {
    const struct sched_param one = {1};
    *(bool *)arg = sched_setscheduler(0, SCHED_RR, &one) == 0;
    return NULL;
}

static void skip_without_the_right(void) {
    bool may = false;
    pthread_t thread;
    pthread_create(&thread, NULL, try_realtime, &may);
    pthread_join(thread, NULL);
    if (!may)
        skip();
}

/* One look without events, and the rest behind it. */
static void rest_a_while(struct pace *p) {
    pace_look(p);
    pace_rest(p, NULL, 0, MS_NS);
}

/* The same; an earlier sleep has ended late, or not. */
static void rest_after(struct pace *p, bool late) {
    p->held_up_until_ns = late ? clock_monotonic_ns() + HOUR_NS : 0;
    rest_a_while(p);
}

static void sleeps_as_a_realtime_thread_once_late(void **state) {
    (void)state;
    struct pace p;
    skip_without_the_right();
    pace_begin(&p, true);
    assert_int_equal(policy(), SCHED_OTHER);
    rest_after(&p, false);
    assert_int_equal(policy(), SCHED_OTHER);
    rest_after(&p, true);
    assert_int_equal(policy(), SCHED_RR);
    rest_after(&p, true);
    assert_int_equal(policy(), SCHED_RR);
    rest_after(&p, false);
    assert_int_equal(policy(), SCHED_OTHER);
}

/* The kernel takes it from realtime threads. */
static void timer_slack_is_short_after_priority(void **state) {
    (void)state;
    struct pace p;
    skip_without_the_right();
    pace_begin(&p, true);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), 1000);
    rest_after(&p, true);
    rest_after(&p, false);
    assert_int_equal(policy(), SCHED_OTHER);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), 1000);
}

static void rest_with_busy_rings(struct pace *p, size_t busy) {
    pace_look(p);
    p->busy = busy;
    pace_rest(p, NULL, 0, MS_NS);
}

static void sleeps_as_one_where_all_processors_are_busy(void **state) {
    (void)state;
    struct pace p;
    skip_without_the_right();
    pace_begin(&p, true);
    p.processors = 4;
    rest_with_busy_rings(&p, 3);
    assert_int_equal(policy(), SCHED_OTHER);
    rest_with_busy_rings(&p, 4);
    assert_int_equal(policy(), SCHED_RR);
}

static void never_realtime_if_nobody_waits(void **state) {
    (void)state;
    struct pace p;
    pace_begin(&p, false);
    rest_after(&p, true);
    assert_int_equal(policy(), SCHED_OTHER);
}

static void realtime_for_some_milliseconds_only(void **state) {
    (void)state;
    struct pace p;
    skip_without_the_right();
    pace_begin(&p, true);
    rest_after(&p, true);
    p.woken_ns = clock_monotonic_ns() - 10 * MS_NS;
    pace_read(&p);
    assert_int_equal(policy(), SCHED_OTHER);
    rest_after(&p, true);
    assert_int_equal(policy(), SCHED_RR);
}

static void *note_policy(void *arg) {
    *(int *)arg = policy();
    return NULL;
}

/* A sink that a drainer opens for the next part of a trace has a thread of its own. */
static void threads_inherit_nothing(void **state) {
    (void)state;
    struct pace p;
    int inherited = -1;
    pthread_t thread;
    pace_begin(&p, true);
    rest_after(&p, true);
    pthread_create(&thread, NULL, note_policy, &inherited);
    pthread_join(thread, NULL);
    assert_int_equal(inherited, SCHED_OTHER);
}

struct writer {
    struct event *at;
    _Atomic bool written;
};

static void *write_later(void *arg) {
    struct writer *w = arg;
    clock_sleep_ns(MS_NS);
    atomic_store(&w->written, true);
    __atomic_add_fetch(&w->at->clock_sp, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Polls until the other thread has written. False: others wanted the processor, too, and a poll has
 * ended for them. */
static bool poll_until_written(struct pace *p, const struct lane_handle *handle, struct writer *w) {
    pthread_t thread;
    atomic_store(&w->written, false);
    pthread_create(&thread, NULL, write_later, w);
    p->no_poll_until_ns = 0;
    while (!atomic_load(&w->written)) {
        p->no_poll_until_ns = 0;
        p->look_ns = clock_monotonic_ns();
        p->period_ns = HOUR_NS;
        p->late_ns = 2 * HOUR_NS;
        pace_rest(p, handle, 40, HOUR_NS);
    }
    pthread_join(thread, NULL);
    return !p->no_poll_until_ns;
}

/* The lane's head does not move: a poll of it would last for an hour. */
static void poll_ends_with_an_event_at_the_target(void **state) {
    (void)state;
    struct lane_handle handle = {.lane = mem_alloc(LANE_RING + RING), .ring_bytes = RING};
    struct writer w = {.at = ring_of(&handle) + TARGET_SLOT};
    struct pace p;
    int tries = 500;
    pace_begin(&p, true);
    rest_after(&p, true);
    while (--tries && !poll_until_written(&p, &handle, &w))
        ;
    assert_true(tries > 0);
    assert_int_equal(policy(), SCHED_OTHER);
    free(handle.lane);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring pace", tests, NULL, NULL);
}
