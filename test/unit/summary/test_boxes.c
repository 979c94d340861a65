/* src/summary: boxes stand for all calls, and for no others. */
#include "support.h"

#include <stdio.h>

#include "../trace/support.h"

#define TESTS                                                                                      \
    TEST(each_call_has_its_box)                                                                    \
    TEST(columns_with_calls_have_boxes)                                                            \
    TEST(columns_above_the_threshold)                                                              \
    TEST(exact_boxes_below_the_threshold)                                                          \
    TEST(frames_of_a_function)                                                                     \
    TEST(density_counts_all_events)                                                                \
    TEST(marks_of_gaps_and_pauses)                                                                 \
    TEST(marks_are_joined_by_columns)

enum { COLUMNS = 200, RANGES = 50 };

static const struct summary_range all = {.until_ns = UINT64_MAX};

static bool is_box_of(const struct summary_span *s, const struct walk_call *c) {
    return s->start_ns == c->start_ns && s->end_ns == c->end_ns && s->function == c->function &&
           s->stream == c->stream && s->depth == c->depth && s->calls == 1;
}

/* With columns of one nanosecond each. */
static void each_call_has_its_box(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 5, .oddities = 2});
    struct summary *s = must_start(NULL);
    summary_wait(s);
    assert_int_equal(summary_state(s).threshold_ns, 0);
    walk_call_list calls = walked_calls(0, UINT64_MAX);
    summary_span_list spans;
    unsigned columns = (unsigned)trace_reader_duration_ns(lab.source.reader);
    assert_int_equal(summary_spans(s, &all, columns, false, &spans), 0);
    size_t boxes = 0, zero = 0;
    for (size_t i = 0; i < spans.count; i++)
        boxes += spans.at[i].calls;
    assert_int_equal(boxes, calls.count);
    for (size_t i = 0; i < calls.count; i += 97) {
        bool found = calls.at[i].start_ns == calls.at[i].end_ns;
        zero += found;
        for (size_t k = 0; k < spans.count && !found; k++)
            found = is_box_of(&spans.at[k], &calls.at[i]);
        assert_true(found);
    }
    assert_true(zero < calls.count / 97 / 4);
    ARRAY_FREE(&spans);
    ARRAY_FREE(&calls);
    summary_free(s);
}

static uint64_t clamp(uint64_t ns, uint64_t low, uint64_t high) {
    return ns < low ? low : ns > high ? high : ns;
}

/* Whether a box of CALL's stream and depth covers its part of the range. */
static bool is_covered(const summary_span_list *spans, const struct walk_call *call,
                       const struct summary_range *range) {
    for (size_t i = 0; i < spans->count; i++) {
        const struct summary_span *s = &spans->at[i];
        if (s->stream == call->stream && s->depth == call->depth && s->start_ns <= call->start_ns &&
            s->end_ns >= call->end_ns)
            return true;
    }
    fail_msg("%ju … %ju: a call %ju … %ju of depth %u has no box", range->since_ns, range->until_ns,
             call->start_ns, call->end_ns, call->depth);
    return false;
}

static void expect_boxes(struct summary *s, const struct summary_range *range, bool exact) {
    struct summary_range r = *range;
    r.until_ns = clamp(r.until_ns, 0, trace_reader_duration_ns(lab.source.reader));
    walk_call_list calls = walked_calls(r.since_ns, r.until_ns);
    summary_span_list spans;
    unsigned most[STREAMS][64] = {0};
    uint64_t counted = 0;
    assert_int_equal(summary_spans(s, &r, COLUMNS, exact, &spans), 0);
    for (size_t i = 0; i < calls.count; i++)
        is_covered(&spans, &calls.at[i], &r);
    for (size_t i = 0; i < spans.count; i++) {
        const struct summary_span *b = &spans.at[i];
        assert_true(++most[b->stream][b->depth] <= 2 * COLUMNS + 4);
        assert_true(b->end_ns >= r.since_ns && b->start_ns <= r.until_ns);
        assert_true(!exact || !(b->flags & SUMMARY_INEXACT));
        assert_true(b->calls == 1 || b->flags & SUMMARY_DENSE);
        counted += b->calls;
        if (i && spans.at[i - 1].stream == b->stream)
            assert_true(spans.at[i - 1].depth <= b->depth);
    }
    if (exact)
        assert_int_equal(counted, calls.count);
    assert_true(counted >= calls.count);
    ARRAY_FREE(&spans);
    ARRAY_FREE(&calls);
}

static void expect_all_boxes(const struct program *p, uint64_t most_spans, bool exact) {
    run_all(p);
    struct summary *s = must_start(&(struct summary_options){.most_spans = most_spans});
    uint64_t dice = 3;
    summary_wait(s);
    assert_int_equal(summary_state(s).threshold_ns != 0, most_spans != 0);
    if (most_spans)
        assert_in_range(summary_state(s).spans, most_spans / 8, most_spans);
    expect_boxes(s, &all, exact);
    for (int i = 0; i < RANGES; i++) {
        struct summary_range range = random_range(&dice);
        expect_boxes(s, &range, exact);
    }
    summary_free(s);
}

static void columns_with_calls_have_boxes(void **state) {
    (void)state;
    expect_all_boxes(&(struct program){.exceptions = 5, .oddities = 2}, 0, true);
}

static void columns_above_the_threshold(void **state) {
    (void)state;
    expect_all_boxes(&(struct program){.exceptions = 5, .oddities = 2}, 1000, false);
}

static void exact_boxes_below_the_threshold(void **state) {
    (void)state;
    expect_all_boxes(&(struct program){.exceptions = 5, .signals = 2}, 1000, true);
}

static void frames_of_a_function(void **state) {
    (void)state;
    run_all(&(struct program){.exceptions = 5});
    struct summary *s = must_start(NULL);
    walk_call_list calls = walked_calls(0, UINT64_MAX);
    for (uint32_t function = 0; function < FUNCTIONS - MAIN; function++) {
        summary_span_list spans;
        uint64_t counted = 0, expected = 0;
        assert_int_equal(summary_frames(s, &all, COLUMNS, function, &spans), 0);
        for (size_t i = 0; i < spans.count; i++) {
            assert_int_equal(spans.at[i].function, function);
            assert_int_equal(spans.at[i].depth, 0);
            counted += spans.at[i].calls;
        }
        for (size_t i = 0; i < calls.count; i++)
            expected += calls.at[i].function == function;
        assert_int_equal(counted, expected);
        ARRAY_FREE(&spans);
    }
    ARRAY_FREE(&calls);
    summary_free(s);
}

static void density_counts_all_events(void **state) {
    (void)state;
    run_all(&(struct program){0});
    struct summary *s = must_start(NULL);
    uint32_t columns[STREAMS * COLUMNS];
    double sum = 0, items = (double)summary_state(s).all_items;
    summary_density(s, 0, UINT64_MAX, COLUMNS, columns);
    for (int i = 0; i < STREAMS * COLUMNS; i++)
        sum += columns[i];
    assert_true(sum > items * 0.98 && sum < items * 1.02);
    summary_free(s);
}

static void marks_of_gaps_and_pauses(void **state) {
    (void)state;
    run_all(&(struct program){.oddities = 5});
    struct summary *s = must_start(NULL);
    summary_mark_list marks;
    size_t count, kinds[MARK_DEATH + 1] = {0};
    uint64_t lost = 0;
    summary_wait(s);
    summary_marks(s, &all, &(struct summary_marks_query){.limit = SIZE_MAX}, &marks, &count);
    assert_int_equal(count, marks.count);
    for (size_t i = 0; i < marks.count; i++) {
        kinds[marks.at[i].kind]++;
        lost += marks.at[i].kind == MARK_LOST ? marks.at[i].count : 0;
        assert_true(!i || marks.at[i - 1].start_ns <= marks.at[i].start_ns);
    }
    assert_int_equal(lost, trace_reader_counts(lab.source.reader).lost);
    assert_true(kinds[MARK_LOST] > 5 && kinds[MARK_PAUSE] > 5 && kinds[MARK_CUT] > 5);
    uint64_t third_last = marks.at[marks.count - 3].start_ns;
    ARRAY_FREE(&marks);
    summary_marks(s, &all, &(struct summary_marks_query){.limit = 3}, &marks, &count);
    assert_int_equal(marks.count, 3);
    assert_true(count > 3);
    ARRAY_FREE(&marks);
    summary_marks(s, &all, &(struct summary_marks_query){.limit = 3, .last = true}, &marks, &count);
    assert_int_equal(marks.count, 3);
    assert_true(marks.at[0].start_ns >= third_last);
    ARRAY_FREE(&marks);
    summary_free(s);
}

/* Nothing is lost, and all that are alike in a column of a stream are one. */
static void marks_are_joined_by_columns(void **state) {
    (void)state;
    enum { WIDTH = 4 };
    run_all(&(struct program){.oddities = 5});
    struct summary *s = must_start(NULL);
    summary_mark_list single, joined;
    size_t count;
    summary_wait(s);
    uint64_t end = trace_reader_duration_ns(lab.source.reader), width = end / WIDTH + 1, sum = 0;
    summary_marks(s, &all, &(struct summary_marks_query){.limit = SIZE_MAX}, &single, &count);
    summary_marks(s, &all, &(struct summary_marks_query){.limit = SIZE_MAX, .columns = WIDTH},
                  &joined, &count);
    assert_true(joined.count < single.count / 2);
    for (size_t i = 0; i < joined.count; i++) {
        const struct summary_mark *m = &joined.at[i];
        size_t within = 0;
        for (size_t k = 0; k < single.count; k++) {
            const struct summary_mark *one = &single.at[k];
            within += one->kind == m->kind && one->stream == m->stream && one->cause == m->cause &&
                      one->start_ns / width == m->start_ns / width &&
                      one->end_ns / width == m->end_ns / width;
        }
        assert_int_equal(m->joined, m->start_ns / width == m->end_ns / width ? within : 1);
        sum += m->joined;
    }
    assert_int_equal(sum, single.count);
    ARRAY_FREE(&single);
    ARRAY_FREE(&joined);
    summary_free(s);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down),
    const struct CMUnitTest tests[] = {TESTS};
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
