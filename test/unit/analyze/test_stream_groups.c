/* Streams that must be read together (stream_groups.h). */
#include "analyze/stream_groups.h"
#include "support.h"

#define TESTS                                                                                      \
    TEST(threads_on_their_own_stacks)                                                              \
    TEST(threads_on_shared_stacks)                                                                 \
    TEST(threads_with_reported_stacks)

enum { ELSEWHERE = 0x900000 }; /* on no thread's own stack */

static void each_calls(struct lab *lab, const uint32_t *sp) {
    lab_init(lab);
    for (uint32_t i = 0; i < STREAMS; i++) {
        lab_enter(lab, i, 10 + i, MAIN, sp[i]);
        lab_return(lab, i, 20 + i, MAIN, sp[i]);
    }
}

static void expect(struct lab *lab, size_t count, size_t longest) {
    size_t found = 0;
    lab_open(lab, "");
    assert_int_equal(stream_groups_count(lab->source.stream_groups), count);
    for (size_t i = 0; i < count; i++) {
        size_t n = stream_groups_at(lab->source.stream_groups, i).count;
        found = n > found ? n : found;
    }
    assert_int_equal(found, longest);
    lab_done(lab);
}

static void threads_on_their_own_stacks(void **state) {
    (void)state;
    struct lab lab;
    each_calls(&lab, (uint32_t[]){TOP - 64, TOP - 64, TOP});
    expect(&lab, 3, 1);
}

static void threads_on_shared_stacks(void **state) {
    (void)state;
    struct lab lab;
    each_calls(&lab, (uint32_t[]){ELSEWHERE, TOP - 64, ELSEWHERE});
    expect(&lab, 2, 2);
}

/* A thread's estimated stack may hold a stack that another thread's event reports. */
static void threads_with_reported_stacks(void **state) {
    (void)state;
    struct lab lab;
    each_calls(&lab, (uint32_t[]){TOP - 64, TOP - 64, TOP - 64});
    struct trace_event reported = {30, (uint32_t)STACK_MADE_LOW << 2 | EVENT_CONTROL, ELSEWHERE};
    trace_writer_events(lab.writer, 1, &reported, 1);
    expect(&lab, 1, 3);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
