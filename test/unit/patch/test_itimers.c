/*
 * Interval timers of a new image are postponed by what spoor does there, and a signal of theirs
 * that has come meanwhile waits. Signals from elsewhere, or that the program blocks, stay.
 */
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "base/clock.h"
#include "guest.h"
#include "patch/itimers.h"
#include "target/memory.h"

#define TESTS                                                                                      \
    TEST(running_timers_postponed)                                                                 \
    TEST(short_timers_get_time)                                                                    \
    TEST(late_images_get_no_time)                                                                  \
    TEST(signal_of_a_timer_waits)                                                                  \
    TEST(last_signal_of_a_timer_waits)                                                             \
    TEST(sent_signal_stays)                                                                        \
    TEST(blocked_signal_stays)                                                                     \
    TEST(only_the_first_stops_count)                                                               \
    TEST(timers_set_later_are_left_alone)                                                          \
    TEST(no_look_where_none_ran_before)

enum { STOOD_S = 1000, USED_S = 5, LEFT_S = 50, INTERVAL_S = 77, MS = 1000 };
static const uint64_t S_NS = 1000000000;
static const double LEAST_S = 1, MOST_S = 2;

static void call(const struct guest *g, long number, uint64_t first, uint64_t second) {
    const struct remote_call c = {number, {first, second, 0}};
    int64_t result;
    assert_int_equal(thread_call(g->pid, &g->space->remote, &c, &result, NULL), 0);
    assert_int_equal(result, 0);
}

static void arm(const struct guest *g, int which, struct itimerval value) {
    const struct slab *slab = g->space->slabs.at[0];
    memcpy(slab_scratch_here(slab), &value, sizeof value);
    call(g, SYS_setitimer, (uint64_t)which, slab_scratch(slab));
}

static double seconds_left(const struct guest *g, int which, long *ret_interval_s) {
    const struct slab *slab = g->space->slabs.at[0];
    struct itimerval value;
    call(g, SYS_getitimer, (uint64_t)which, slab_scratch(slab));
    memcpy(&value, slab_scratch_here(slab), sizeof value);
    *ret_interval_s = value.it_interval.tv_sec;
    return (double)value.it_value.tv_sec + (double)value.it_value.tv_usec / 1e6;
}

/* WHICH has SECONDS left. A timer of real time may have less meanwhile. On a loaded machine the
 * stop takes longer. */
static void check_left(const struct guest *g, int which, double seconds, long interval) {
    const double error = 0.05, loaded = 0.5, meanwhile = which == ITIMER_REAL ? 10 : error;
    long found;
    const double left = seconds_left(g, which, &found);
    if (left < seconds - meanwhile || left > seconds + loaded)
        fail_msg("timer %d has %f s left, not %f", which, left, seconds);
    assert_int_equal(found, interval);
}

static bool is_pending(const struct guest *g, int signal) {
    siginfo_t info[8];
    struct __ptrace_peeksiginfo_args args = {.nr = 8, .flags = PTRACE_PEEKSIGINFO_SHARED};
    const long n = ptrace(PTRACE_PEEKSIGINFO, g->pid, &args, info);
    for (long i = 0; i < n; i++)
        if (info[i].si_signo == signal)
            return true;
    return false;
}

/* As if the guest had stood for STOOD_S, and its remote calls had used USED_S. */
static void postpone(struct guest *g) {
    struct itimers_stand stand = itimers_stand_since_now(g->pid);
    stand.real_ns -= STOOD_S * S_NS;
    stand.cpu_ns -= USED_S * S_NS;
    itimers_postpone(g->space, g->pid, &stand);
}

static struct guest *new_image(void) {
    struct guest *g = guest_new(OVERFLOW_WAIT);
    itimers_begin(g->space, 1);
    g->space->itimers.none = false; /* a test sets timers as if the program had done so before */
    return g;
}

static void expire(const struct guest *g, struct itimerval value) {
    arm(g, ITIMER_REAL, value);
    while (!is_pending(g, SIGALRM))
        clock_sleep_ns(1000000);
}

static void running_timers_postponed(void **state) {
    (void)state;
    struct guest *g = new_image();
    const struct itimerval value = {{INTERVAL_S, 0}, {LEFT_S, 999 * MS}};
    arm(g, ITIMER_REAL, value);
    arm(g, ITIMER_VIRTUAL, value);
    arm(g, ITIMER_PROF, value);
    postpone(g);
    check_left(g, ITIMER_REAL, LEFT_S + 0.999 + STOOD_S, INTERVAL_S);
    check_left(g, ITIMER_VIRTUAL, LEFT_S + 0.999 + USED_S, INTERVAL_S);
    check_left(g, ITIMER_PROF, LEFT_S + 0.999 + USED_S, INTERVAL_S);
    guest_free(g);
}

static void short_timers_get_time(void **state) {
    (void)state;
    struct guest *g = new_image();
    arm(g, ITIMER_PROF, (struct itimerval){{INTERVAL_S, 0}, {0, 10 * MS}});
    struct itimers_stand stand = itimers_stand_since_now(g->pid);
    itimers_postpone(g->space, g->pid, &stand);
    check_left(g, ITIMER_PROF, LEAST_S, INTERVAL_S);
    stand.real_ns -= S_NS * 3 / 2;
    itimers_postpone(g->space, g->pid, &stand);
    check_left(g, ITIMER_PROF, 1.5, INTERVAL_S);
    stand.real_ns -= S_NS * 9;
    itimers_postpone(g->space, g->pid, &stand);
    check_left(g, ITIMER_PROF, MOST_S, INTERVAL_S);
    guest_free(g);
}

static void late_images_get_no_time(void **state) {
    (void)state;
    struct guest *g = new_image();
    itimers_begin(g->space, 1000);
    arm(g, ITIMER_PROF, (struct itimerval){{INTERVAL_S, 0}, {0, 10 * MS}});
    const struct itimers_stand stand = itimers_stand_since_now(g->pid);
    itimers_postpone(g->space, g->pid, &stand);
    check_left(g, ITIMER_PROF, 0.01, INTERVAL_S);
    guest_free(g);
}

static void signal_of_a_timer_waits(void **state) {
    (void)state;
    struct guest *g = new_image();
    expire(g, (struct itimerval){{INTERVAL_S, 0}, {0, MS}});
    postpone(g);
    assert_false(is_pending(g, SIGALRM));
    check_left(g, ITIMER_REAL, STOOD_S, INTERVAL_S);
    guest_free(g);
}

static void last_signal_of_a_timer_waits(void **state) {
    (void)state;
    struct guest *g = new_image();
    expire(g, (struct itimerval){{0, 0}, {0, MS}});
    postpone(g);
    assert_false(is_pending(g, SIGALRM));
    check_left(g, ITIMER_REAL, STOOD_S, 0);
    guest_free(g);
}

static void sent_signal_stays(void **state) {
    (void)state;
    struct guest *g = new_image();
    arm(g, ITIMER_REAL, (struct itimerval){{0, 0}, {LEFT_S, 0}});
    kill(g->pid, SIGALRM);
    postpone(g);
    assert_true(is_pending(g, SIGALRM));
    check_left(g, ITIMER_REAL, LEFT_S + STOOD_S, 0);
    guest_free(g);
}

static void blocked_signal_stays(void **state) {
    (void)state;
    struct guest *g = new_image();
    assert_int_equal(thread_set_mask(g->pid, UINT64_C(1) << (SIGALRM - 1)), 0);
    expire(g, (struct itimerval){{INTERVAL_S, 0}, {0, MS}});
    postpone(g);
    assert_true(is_pending(g, SIGALRM));
    guest_free(g);
}

static void only_the_first_stops_count(void **state) {
    (void)state;
    struct guest *g = new_image();
    arm(g, ITIMER_REAL, (struct itimerval){{0, 0}, {LEFT_S, 0}});
    for (int i = 0; i < 5; i++)
        postpone(g);
    check_left(g, ITIMER_REAL, LEFT_S + 3 * STOOD_S, 0);
    guest_free(g);
}

static void timers_set_later_are_left_alone(void **state) {
    (void)state;
    struct guest *g = new_image();
    postpone(g);
    arm(g, ITIMER_REAL, (struct itimerval){{0, 0}, {LEFT_S, 0}});
    postpone(g);
    check_left(g, ITIMER_REAL, LEFT_S, 0);
    guest_free(g);
}

static void no_look_where_none_ran_before(void **state) {
    (void)state;
    struct guest *g = guest_new(OVERFLOW_WAIT);
    assert_true(g->space->itimers.none); /* it was seen when the agent was mapped */
    itimers_begin(g->space, 1);
    g->space->remote.code = 0; /* a call would fault */
    g->space->remote.series = 0;
    postpone(g);
    assert_int_equal(g->space->itimers.stops, 0);
    guest_free(g);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("patch itimers", tests, NULL, NULL);
}
