/* src/analyze/stats.h: CONTRACT.md's "Meaning of times", and what filters do to it. */
#include "support.h"

#include <stdlib.h>

#include "../trace/generate.h"
#include "analyze/stats.h"

#define TESTS                                                                                      \
    TEST(recursive_calls_and_total_time)                                                           \
    TEST(sum_over_threads)                                                                         \
    TEST(single_thread)                                                                            \
    TEST(tail_call_is_a_sibling)                                                                   \
    TEST(calls_left_by_an_exception)                                                               \
    TEST(open_calls_at_the_end_of_a_stream)                                                        \
    TEST(open_calls_of_an_ended_thread)                                                            \
    TEST(open_calls_after_a_loss)                                                                  \
    TEST(nothing_paired_across_a_loss)                                                             \
    TEST(calls_over_several_losses)                                                                \
    TEST(returns_of_unseen_calls)                                                                  \
    TEST(pauses_are_no_time_of_calls)                                                              \
    TEST(pause_on_another_stack)                                                                   \
    TEST(pause_in_which_a_call_was_found)                                                          \
    TEST(coroutine_trees)                                                                          \
    TEST(time_of_hidden_functions)                                                                 \
    TEST(depth_of_shown_calls)                                                                     \
    TEST(limits_of_record_apply_to_views)                                                          \
    TEST(time_of_brief_calls)                                                                      \
    TEST(brief_call_on_another_stack)                                                              \
    TEST(time_span)                                                                                \
    TEST(random_programs)

static struct lab lab;
static struct stats *stats;

static int set_up(void **state) {
    (void)state;
    lab_init(&lab);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stats_free(stats);
    stats = NULL;
    lab_done(&lab);
    return 0;
}

static void analyse(const char *line) {
    stats_free(stats);
    lab_open(&lab, line);
    stats = stats_new(&lab.source, NULL);
    stats_add_all(stats);
}

static const struct function_stats *of(uint32_t id) {
    return stats_of(stats, names_index(lab.source.names, id));
}

static void expect(uint32_t id, uint64_t calls, uint64_t total, uint64_t self) {
    const struct function_stats *f = of(id);
    if (f->calls != calls || f->total_ns != total || f->self_ns != self)
        fail_msg("function %u: %lu calls, total %lu, self %lu instead of %lu, %lu, %lu", id,
                 f->calls, f->total_ns, f->self_ns, calls, total, self);
}

/* main from 1000 to 2000 calls fib, recursive, from 1100 to 1500, and leaf from 1600 to 1610. */
static void write_recursion(uint32_t stream) {
    lab_enter(&lab, stream, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, stream, 1100, FIB, 0x1fe00);
    lab_enter(&lab, stream, 1200, FIB, 0x1fd00);
    lab_return(&lab, stream, 1250, FIB, 0x1fd00);
    lab_enter(&lab, stream, 1300, FIB, 0x1fd00);
    lab_return(&lab, stream, 1400, FIB, 0x1fd00);
    lab_return(&lab, stream, 1500, FIB, 0x1fe00);
    lab_enter(&lab, stream, 1600, LEAF, 0x1fe00);
    lab_return(&lab, stream, 1610, LEAF, 0x1fe00);
    lab_return(&lab, stream, 2000, MAIN, 0x1ff00);
}

static void recursive_calls_and_total_time(void **state) {
    (void)state;
    write_recursion(0);
    analyse("");
    expect(MAIN, 1, 1000, 590);
    expect(FIB, 3, 400, 400);
    expect(LEAF, 1, 10, 10);
    assert_int_equal(of(FIB)->min_ns, 50);
    assert_int_equal(of(FIB)->max_ns, 400);
    assert_int_equal(stats_percentile(of(FIB), 50), 100);
    assert_int_equal(stats_percentile(of(FIB), 99), 400);
    assert_int_equal(stats_function_count(stats), 3);
}

static void sum_over_threads(void **state) {
    (void)state;
    write_recursion(0);
    write_recursion(2);
    analyse("");
    expect(MAIN, 2, 2000, 1180);
    expect(FIB, 6, 800, 800);
    analyse("-T 102");
    expect(FIB, 3, 400, 400);
}

static void single_thread(void **state) {
    (void)state;
    write_recursion(0);
    lab_enter(&lab, 1, 2000, LEAF, 0x1ff00);
    lab_return(&lab, 1, 2007, LEAF, 0x1ff00);
    lab_open(&lab, "");
    stats = stats_new(&lab.source, NULL);
    stats_add_stream_group(&stats, 0);
    expect(LEAF, 1, 10, 10);
    stats_clear(stats);
    assert_int_equal(stats_function_count(stats), 0);
    stats_add_stream_group(&stats, 1);
    expect(LEAF, 1, 7, 7);
    expect(MAIN, 0, 0, 0);
}

static void tail_call_is_a_sibling(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, LEAF, 0x1fe00);
    lab_tail(&lab, 0, 1150, LEAF, 0x1fe00);
    lab_enter(&lab, 0, 1160, DRAW, 0x1fe00);
    lab_return(&lab, 0, 1200, DRAW, 0x1fe00);
    lab_return(&lab, 0, 1300, MAIN, 0x1ff00);
    analyse("");
    expect(LEAF, 1, 50, 50);
    expect(DRAW, 1, 40, 40);
    expect(MAIN, 1, 300, 210);
    assert_int_equal(of(LEAF)->unwound, 0);
}

static void calls_left_by_an_exception(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, FIB, 0x1fe00);
    lab_enter(&lab, 0, 1200, LEAF, 0x1fd00);
    lab_return(&lab, 0, 1500, MAIN, 0x1ff00);
    analyse("");
    assert_int_equal(of(LEAF)->unwound, 1);
    assert_int_equal(of(FIB)->unwound, 1);
    assert_int_equal(of(MAIN)->unwound, 0);
    expect(FIB, 1, 400, 100);
}

static void open_calls_at_the_end_of_a_stream(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1400, LEAF, 0x1fe00);
    lab_return(&lab, 0, 1500, LEAF, 0x1fe00);
    lab_enter(&lab, 1, 9000, LEAF, 0x1fe00);
    analyse("");
    expect(MAIN, 1, 500, 400);
    expect(LEAF, 2, 100, 100);
    assert_int_equal(of(MAIN)->unwound, 0);
    assert_int_equal(of(MAIN)->open, 1);
    assert_int_equal(of(MAIN)->max_ns, 0); /* not known */
    assert_int_equal(of(LEAF)->open, 1);
    assert_int_equal(of(LEAF)->min_ns, 100); /* of the one that returned */
    assert_int_equal(stats_percentile(of(LEAF), 50), 100);
}

static void open_calls_of_an_ended_thread(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    trace_writer_thread_end(lab.writer, 0, 1700);
    analyse("");
    expect(MAIN, 1, 700, 700);
    assert_int_equal(of(MAIN)->unwound, 1);
    assert_int_equal(of(MAIN)->max_ns, 700);
}

static void open_calls_after_a_loss(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, LEAF, 0x1fe00);
    trace_writer_lost(lab.writer, 0, 1200, 5);
    lab_enter(&lab, 0, 1300, LEAF, 0x1fe00);
    lab_return(&lab, 0, 1350, LEAF, 0x1fe00);
    lab_return(&lab, 0, 1400, MAIN, 0x1ff00);
    analyse("");
    expect(LEAF, 2, 150, 150); /* the lost time belongs to no call */
    assert_int_equal(of(LEAF)->cut, 1);
    assert_int_equal(of(LEAF)->unwound, 0);
    assert_int_equal(of(LEAF)->min_ns, 50);
    assert_int_equal(of(LEAF)->max_ns, 50);
    expect(MAIN, 1, 300, 150);
    assert_int_equal(of(MAIN)->cut, 1);
    assert_int_equal(of(MAIN)->before, 1); /* its return shows that it went on */
    assert_int_equal(of(MAIN)->max_ns, 0);
}

/* An exit behind a gap belongs to no entry before it, even with the same stack pointer. */
static void nothing_paired_across_a_loss(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, LEAF, 0x1fe00);
    trace_writer_lost(lab.writer, 0, 1110, 1000);
    lab_return(&lab, 0, 9000, LEAF, 0x1fe00);
    lab_enter(&lab, 0, 9100, FIB, 0x1fe00);
    lab_return(&lab, 0, 9200, FIB, 0x1fe00);
    lab_return(&lab, 0, 9300, MAIN, 0x1ff00);
    analyse("");
    expect(LEAF, 1, 10, 10);
    assert_int_equal(of(LEAF)->before, 1);
    assert_int_equal(of(LEAF)->max_ns, 0);
    expect(FIB, 1, 100, 100);
    expect(MAIN, 1, 110 + 300, 100 + 200);
}

/* No later event tells whether a call that was open at two gaps went on between them. */
static void calls_over_several_losses(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, FIB, 0x1fe00);
    trace_writer_lost(lab.writer, 0, 1200, 7);
    lab_enter(&lab, 0, 1300, LEAF, 0x1fd00);
    lab_return(&lab, 0, 1310, LEAF, 0x1fd00);
    trace_writer_lost(lab.writer, 0, 1400, 7);
    lab_enter(&lab, 0, 1500, LEAF, 0x1fe00); /* FIB has ended in one of the gaps */
    lab_return(&lab, 0, 1510, LEAF, 0x1fe00);
    lab_return(&lab, 0, 1600, MAIN, 0x1ff00);
    analyse("");
    expect(MAIN, 1, 200 + 100 + 100, 100 + 90 + 90);
    expect(FIB, 1, 100, 100);
    assert_int_equal(of(FIB)->cut, 1);
    assert_int_equal(of(FIB)->before, 0);
    expect(LEAF, 2, 20, 20);
}

/* A call that was entered and left unseen shows by its return only, and so do its callees. */
static void returns_of_unseen_calls(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, LEAF, 0x1f000);
    lab_return(&lab, 0, 1001, LEAF, 0x1f000);
    trace_writer_lost(lab.writer, 0, 1100, 7);
    lab_enter(&lab, 0, 1200, LEAF, 0x1fd00);
    lab_return(&lab, 0, 1210, LEAF, 0x1fd00);
    lab_return(&lab, 0, 1300, FIB, 0x1fe00);
    lab_return(&lab, 0, 1400, MAIN, 0x1ff00);
    analyse("");
    expect(MAIN, 0, 200, 100);
    expect(FIB, 0, 100, 90);
    expect(LEAF, 2, 11, 11);
}

static void stand_still(uint32_t stream, uint64_t ticks, uint32_t id, uint64_t length) {
    struct trace_event event = {ticks, id << 2 | EVENT_CONTROL, length};
    trace_writer_events(lab.writer, stream, &event, 1);
}

static void pauses_are_no_time_of_calls(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, FIB, 0x1fe00);
    stand_still(0, 1500, PAUSE_EVENT + PAUSE_DLOPEN, 300);
    lab_return(&lab, 0, 1600, FIB, 0x1fe00);
    stand_still(0, 1700, PAUSE_EVENT + PAUSE_RING, 50);
    stand_still(0, 1800, PAUSE_EVENT + PAUSE_FILTER + PAUSE_IN_CALL, 60); /* costs nothing */
    lab_return(&lab, 0, 2000, MAIN, 0x1ff00);
    analyse("");
    expect(MAIN, 1, 650, 450);
    expect(FIB, 1, 200, 200);
    assert_int_equal(of(FIB)->max_ns, 200);
    assert_int_equal(of(FIB)->paused_ns, 300);
    assert_int_equal(of(MAIN)->paused_ns, 350);
    analyse("-t 201"); /* without the pause it is too short */
    expect(MAIN, 1, 650, 650);
    expect(FIB, 0, 0, 0);
}

/* A pause counts for the stack that the thread runs on, and for its own. */
static void pause_on_another_stack(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, FIB, 0x9000000);
    lab_enter(&lab, 0, 1200, LEAF, 0x9800000);
    stand_still(0, 1400, PAUSE_EVENT + PAUSE_RING, 100);
    lab_return(&lab, 0, 1500, LEAF, 0x9800000);
    lab_return(&lab, 0, 1600, FIB, 0x9000000);
    lab_return(&lab, 0, 2000, MAIN, 0x1ff00);
    analyse("");
    expect(MAIN, 1, 900, 900);
    assert_int_equal(of(FIB)->max_ns, 500);
    assert_int_equal(of(LEAF)->max_ns, 200);
}

/* In the pause from 700 to 1200, MAIN is found open at 1000. It is open when a span begins. */
static void pause_in_which_a_call_was_found(void **state) {
    (void)state;
    struct trace_frame open = {MAIN, 0x1ff00};
    trace_writer_frames(lab.writer, &(struct trace_frames){0, 1000, 1, &open});
    stand_still(0, 1200, PAUSE_EVENT + PAUSE_DLOPEN, 500);
    lab_enter(&lab, 0, 2000, LEAF, 0x1fe00);
    lab_return(&lab, 0, 2100, LEAF, 0x1fe00);
    lab_return(&lab, 0, 3000, MAIN, 0x1ff00);
    analyse("");
    expect(MAIN, 0, 1800, 1700);
    assert_int_equal(of(MAIN)->paused_ns, 200);
    analyse("-s 1500");
    expect(MAIN, 0, 1800, 1700);
    assert_int_equal(of(MAIN)->paused_ns, 200);
}

static void coroutine_trees(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, MAIN, 0x1ff00);
    lab_enter(&lab, 0, 1100, FIB, 0x9000000); /* on another stack */
    lab_return(&lab, 0, 1500, MAIN, 0x1ff00);
    lab_return(&lab, 0, 1800, FIB, 0x9000000);
    analyse("");
    expect(MAIN, 1, 500, 500);
    expect(FIB, 1, 700, 700);
    assert_int_equal(of(FIB)->unwound, 0);
}

static void time_of_hidden_functions(void **state) {
    (void)state;
    write_recursion(0);
    analyse("-N fib");
    expect(MAIN, 1, 1000, 990);
    expect(FIB, 0, 0, 0);
    analyse("-F fib");
    expect(MAIN, 0, 0, 0);
    expect(FIB, 3, 400, 400);
    analyse("-F * -N main");
    expect(FIB, 3, 400, 400);
    analyse("-M lib*");
    assert_int_equal(stats_function_count(stats), 0);
}

static void depth_of_shown_calls(void **state) {
    (void)state;
    write_recursion(0);
    analyse("-D 2");
    expect(MAIN, 1, 1000, 590);
    expect(FIB, 1, 400, 400);
    analyse("-D 1 -N main");
    expect(FIB, 1, 400, 400);
    expect(LEAF, 1, 10, 10);
}

static void limits_of_record_apply_to_views(void **state) {
    (void)state;
    trace_writer_abandon(lab.writer);
    lab_done(&lab);
    lab_init_limited(&lab, 2, 60);
    write_recursion(0);
    analyse("");
    expect(MAIN, 1, 1000, 600);
    expect(FIB, 1, 400, 400);
    expect(LEAF, 0, 0, 0);
    analyse("-N main"); /* the filter keeps its time: record has seen it */
    expect(FIB, 1, 400, 400);
    analyse("-t 500");
    expect(MAIN, 1, 1000, 1000);
    expect(FIB, 0, 0, 0);
    analyse("-D 1");
    expect(MAIN, 1, 1000, 1000);
    analyse("-s 1980"); /* the call is longer than its part in the span */
    expect(MAIN, 1, 1000, 600);
}

static void time_of_brief_calls(void **state) {
    (void)state;
    write_recursion(0);
    analyse("-t 100");
    expect(MAIN, 1, 1000, 600);
    expect(FIB, 2, 400, 400);
    expect(LEAF, 0, 0, 0);
    assert_int_equal(of(FIB)->min_ns, 100);
}

static void brief_call_on_another_stack(void **state) {
    (void)state;
    lab_enter(&lab, 0, 1000, FIB, 0x1ff00);
    lab_enter(&lab, 0, 1990, FIB, 0x9000000);
    lab_return(&lab, 0, 2000, FIB, 0x1ff00);
    lab_return(&lab, 0, 2010, FIB, 0x9000000);
    lab_enter(&lab, 0, 3000, FIB, 0x9000000);
    lab_return(&lab, 0, 3010, FIB, 0x9000000);
    analyse("-t 100");
    expect(FIB, 1, 1010, 1000);
}

static void time_span(void **state) {
    (void)state;
    write_recursion(0);
    analyse("-s 1220 -u 1320");
    expect(MAIN, 1, 1000, 590); /* whole durations count */
    assert_int_equal(of(MAIN)->clipped, 1);
    expect(FIB, 3, 400, 400);
    assert_int_equal(of(FIB)->clipped, 3);
    assert_int_equal(of(FIB)->min_ns, 50);
    expect(LEAF, 0, 0, 0);
    analyse("-s 1220 -u 1320 -t 400");
    expect(FIB, 1, 400, 400);
    analyse("-s 1605");
    expect(MAIN, 1, 1000, 590);
    expect(LEAF, 1, 10, 10);
    expect(FIB, 0, 0, 0);
    analyse("-s 1290 -u 1410");
    assert_int_equal(of(FIB)->clipped, 1);
    analyse("-s 1700 -u 1800"); /* no event lies in this range */
    expect(MAIN, 1, 1000, 590);
    analyse("-u 999");
    assert_int_equal(stats_function_count(stats), 0);
    analyse("-s 2001");
    assert_int_equal(stats_function_count(stats), 0);
}

/* ---- comparison with a plain account of the same calls ---- */

enum { MOST = 4000 };

struct account {
    uint64_t durations[MOST], total, self;
    size_t calls;
    unsigned open;
};

static struct account accounts[FUNCTIONS];
static uint64_t now, dice;

/* Makes a call with random calls in it. Returns its duration. */
static uint64_t random_call(uint32_t sp, unsigned depth) {
    uint32_t id = MAIN + random_below(&dice, SKIPPED - MAIN);
    struct account *a = &accounts[id];
    uint64_t start = now, inner = 0;
    lab_enter(&lab, 0, now, id, sp);
    a->open++;
    now += 1 + (random_next(&dice) >> (44 + random_below(&dice, 20)));
    for (uint32_t n = depth < 6 ? random_below(&dice, 4) : 0; n; n--)
        inner += random_call(sp - 64, depth + 1);
    now += random_below(&dice, 50);
    lab_return(&lab, 0, now, id, sp);
    a->open--;
    a->durations[a->calls++] = now - start;
    a->self += now - start - inner;
    a->total += a->open ? 0 : now - start;
    return now - start;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void expect_percentile(const struct account *a, const struct function_stats *f,
                              unsigned percent) {
    uint64_t right = a->durations[(a->calls * percent + 99) / 100 - 1];
    uint64_t got = stats_percentile(f, percent);
    if (got > right + right / 100 || got < right - right / 100)
        fail_msg("p%u: %lu instead of %lu", percent, got, right);
}

static void random_programs(void **state) {
    (void)state;
    now = 1000;
    dice = 42;
    for (int i = 0; i < 150; i++)
        random_call(0x1ff00, 0);
    analyse("");
    for (uint32_t id = MAIN; id < SKIPPED; id++) {
        struct account *a = &accounts[id];
        expect(id, a->calls, a->total, a->self);
        assert_true(a->calls > 100);
        qsort(a->durations, a->calls, sizeof *a->durations, compare);
        assert_int_equal(of(id)->min_ns, a->durations[0]);
        assert_int_equal(of(id)->max_ns, a->durations[a->calls - 1]);
        for (unsigned percent = 1; percent <= 100; percent++)
            expect_percentile(a, of(id), percent);
    }
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
