/* Records of ends by signals: written, read back, damaged. */
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "trace/layout.h"
#include "trace/records.h"

#define TESTS                                                                                      \
    TEST(death_with_frames)                                                                        \
    TEST(death_without_frames)                                                                     \
    TEST(place_outside_the_frames_refused)

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

static const struct trace_death_frame frames[] = {
    {.pc = 0x1234, .inlined = true, .module = "m", .function = "f", .file = "f.c", .line = 7},
    {.pc = UINT64_MAX, .interrupted = true, .module = "", .function = "", .file = ""}};
static const struct trace_death death = {.pid = 3,
                                         .tid = 4,
                                         .process = "p",
                                         .thread = "t",
                                         .signal = 11,
                                         .code = -6,
                                         .sender = 5,
                                         .address = 99,
                                         .fault = true,
                                         .core = true,
                                         .ticks = 1000,
                                         .calls = 9,
                                         .place = 1,
                                         .count = 2,
                                         .frames = frames};

static void death_with_frames(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_death(w, &death);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_death_count(r), 1);
    const struct trace_death *d = trace_reader_death(r, 0);
    assert_string_equal(d->process, "p");
    assert_string_equal(d->thread, "t");
    assert_true(d->pid == 3 && d->tid == 4 && d->signal == 11 && d->code == -6 && d->sender == 5);
    assert_true(d->address == 99 && d->fault && d->core && d->ticks == 1000 && d->calls == 9);
    assert_true(d->place == 1 && d->count == 2);
    assert_true(d->frames[0].inlined && !d->frames[0].interrupted && d->frames[0].line == 7);
    assert_string_equal(d->frames[0].function, "f");
    assert_string_equal(d->frames[0].file, "f.c");
    assert_true(d->frames[1].pc == UINT64_MAX && d->frames[1].interrupted);
    assert_string_equal(d->frames[1].module, "");
    assert_null(trace_reader_death(r, 1));
    trace_reader_free(r);
}

static void death_without_frames(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_death(w, &(struct trace_death){.pid = 1, .signal = 9});
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    const struct trace_death *d = trace_reader_death(r, 0);
    assert_true(d->signal == 9 && !d->tid && !d->count);
    assert_string_equal(d->thread, "");
    trace_reader_free(r);
}

static void place_outside_the_frames_refused(void **state) {
    struct trace_death wrong = death;
    wrong.place = 3;
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_death(w, &wrong);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_int_equal(trace_reader_death_count(r), 0);
    assert_non_null(trace_reader_warning(r));
    trace_reader_free(r);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("trace deaths", tests, NULL, NULL);
}
