/* Where pauses stand in their thread's stream, and how long they are. */
#include "ring/pauses.h"

#include "../trace/support.h"

#define TESTS                                                                                      \
    TEST(between_the_events_around_it)                                                             \
    TEST(before_an_event_whose_thread_was_stopped_later)                                           \
    TEST(behind_an_event_that_is_older_than_the_stop)                                              \
    TEST(events_written_during_a_stop)                                                             \
    TEST(wait_for_room_ends_with_the_next_event)                                                   \
    TEST(one_wait_after_another)                                                                   \
    TEST(slices_do_not_end_a_wait)                                                                 \
    TEST(stop_during_a_wait)                                                                       \
    TEST(wait_from_which_the_thread_was_taken)                                                     \
    TEST(pauses_that_overlap)                                                                      \
    TEST(those_left_at_the_end)                                                                    \
    TEST(copy_for_a_snapshot)

enum { STOP = PAUSE_EVENT + PAUSE_FILTER, RING = PAUSE_EVENT + PAUSE_RING, FUNCTION = 7 };

static void begin(struct pauses *p) {
    *p = (struct pauses){0};
    pauses_begin(p);
}

static void stop(struct pauses *p, uint64_t from, uint64_t to) {
    pauses_add(p, &(struct pause){from, to, STOP});
    pauses_take(p);
}

static void expect_pause(const struct trace_event *e, uint32_t id, uint64_t from, uint64_t to) {
    assert_int_equal(e->site, id << 2 | EVENT_CONTROL);
    assert_int_equal(e->ticks, to);
    assert_int_equal(e->sp, to - from);
}

/* The next pause before an event at TICKS. */
static void expect(struct pauses *p, uint64_t ticks, uint32_t id, uint64_t from, uint64_t to) {
    struct trace_event e;
    assert_true(pauses_precede(p, FUNCTION));
    assert_true(pauses_next(p, ticks, &e));
    expect_pause(&e, id, from, to);
}

/* No more pauses before an event at TICKS, which is written at EXPECTED. */
static void event_at(struct pauses *p, uint64_t ticks, uint64_t expected) {
    struct trace_event e = {.ticks = ticks, .site = FUNCTION << 2}, pause;
    assert_false(pauses_next(p, ticks, &pause));
    assert_true(pauses_follow(p, &e));
    assert_int_equal(e.ticks, expected);
}

static void wait_at(struct pauses *p, uint64_t ticks) {
    struct trace_event e = {.ticks = ticks, .site = (uint32_t)WAIT_EVENT << 2 | EVENT_CONTROL};
    assert_false(pauses_follow(p, &e));
}

static void between_the_events_around_it(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    event_at(&p, 110, 110);
    stop(&p, 120, 150);
    expect(&p, 160, STOP, 120, 150);
    event_at(&p, 160, 160);
    assert_false(pauses_precede(&p, FUNCTION));
    pauses_done(&p);
}

/* The reader of the ring was late. */
static void before_an_event_whose_thread_was_stopped_later(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    stop(&p, 120, 150);
    event_at(&p, 110, 110);
    event_at(&p, 119, 119);
    expect(&p, 160, STOP, 120, 150);
    event_at(&p, 160, 160);
    pauses_done(&p);
}

/* The thread stood in a stub, between the clock and the commit. */
static void behind_an_event_that_is_older_than_the_stop(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    stop(&p, 120, 150);
    event_at(&p, 118, 118);
    expect(&p, 151, STOP, 120, 150);
    pauses_done(&p);
}

static void events_written_during_a_stop(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    stop(&p, 120, 150);
    expect(&p, 130, STOP, 120, 150);
    event_at(&p, 130, 150);
    pauses_done(&p);
}

static void wait_for_room_ends_with_the_next_event(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    event_at(&p, 110, 110);
    wait_at(&p, 115);
    expect(&p, 140, RING, 115, 140);
    event_at(&p, 140, 140);
    assert_false(pauses_precede(&p, FUNCTION));
    pauses_done(&p);
}

static void one_wait_after_another(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    wait_at(&p, 115);
    expect(&p, 140, RING, 115, 140);
    wait_at(&p, 140);
    expect(&p, 170, RING, 140, 170);
    event_at(&p, 170, 170);
    pauses_done(&p);
}

/* They have the clock of the wait's begin. */
static void slices_do_not_end_a_wait(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    wait_at(&p, 115);
    assert_false(pauses_precede(&p, SLICE_BEGIN));
    assert_false(pauses_precede(&p, SLICE_WORD + 3));
    expect(&p, 140, RING, 115, 140);
    pauses_done(&p);
}

static void stop_during_a_wait(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    wait_at(&p, 115);
    stop(&p, 120, 150);
    expect(&p, 170, RING, 115, 120);
    expect(&p, 170, STOP, 120, 150);
    expect(&p, 170, RING, 150, 170);
    event_at(&p, 170, 170);
    pauses_done(&p);
}

/* It was rolled back to its site when it had just written the event of the wait. */
static void wait_from_which_the_thread_was_taken(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    wait_at(&p, 115);
    pauses_add(&p, &(struct pause){115, 130, RING});
    pauses_take(&p);
    expect(&p, 170, RING, 115, 130);
    event_at(&p, 170, 170);
    pauses_done(&p);
}

static void pauses_that_overlap(void **state) {
    (void)state;
    struct pauses p;
    begin(&p);
    event_at(&p, 125, 125);
    stop(&p, 120, 150);
    stop(&p, 130, 140);
    stop(&p, 145, 160);
    expect(&p, 170, STOP, 125, 150);
    expect(&p, 170, STOP, 150, 160);
    event_at(&p, 170, 170);
    pauses_done(&p);
}

static void those_left_at_the_end(void **state) {
    (void)state;
    struct pauses p;
    struct trace_event e;
    begin(&p);
    wait_at(&p, 110);
    stop(&p, 120, 150);
    assert_true(pauses_next_left(&p, &e));
    expect_pause(&e, STOP, 120, 150);
    assert_false(pauses_next_left(&p, &e));
    pauses_done(&p);
}

static void copy_for_a_snapshot(void **state) {
    (void)state;
    struct pauses p, copy;
    begin(&p);
    stop(&p, 120, 150);
    stop(&p, 160, 170);
    copy = pauses_copy(&p);
    pauses_forget_before(&copy, 155);
    expect(&copy, 180, STOP, 160, 170);
    event_at(&copy, 180, 180);
    expect(&p, 180, STOP, 120, 150);
    expect(&p, 180, STOP, 160, 170);
    pauses_done(&copy);
    pauses_done(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring pauses", tests, NULL, NULL);
}
