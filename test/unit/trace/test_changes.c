/* Records of changes during a recording: written, read back in order, damaged. */
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "trace/layout.h"
#include "trace/records.h"

#define TESTS                                                                                      \
    TEST(changes_in_order_of_time)                                                                 \
    TEST(changes_before_a_branch)                                                                  \
    TEST(longer_records_accepted)

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

static const struct trace_change chosen = {0x123456789ab, TRACE_CHOSEN, 0, 70000, 3,
                                           "-F a* -M '*'"};

static void assert_same(const struct trace_change *a, const struct trace_change *b) {
    assert_int_equal(a->ticks, b->ticks);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->added, b->added);
    assert_int_equal(a->removed, b->removed);
    assert_string_equal(a->filter, b->filter ? b->filter : "");
}

static void changes_in_order_of_time(void **state) {
    static const struct trace_change early = {7, TRACE_PAUSED, 12, 0, 0, NULL},
                                     late = {UINT64_MAX, 99, UINT32_MAX, 0, 0, NULL};
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_change(w, &late);
    trace_writer_change(w, &chosen);
    trace_writer_change(w, &early);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_change_count(r), 3);
    assert_same(trace_reader_change(r, 0), &early);
    assert_same(trace_reader_change(r, 1), &chosen);
    assert_same(trace_reader_change(r, 2), &late);
    assert_null(trace_reader_change(r, 3));
    trace_reader_free(r);
}

static void changes_before_a_branch(void **state) {
    AUTO_FREE char *path = mem_printf("%s.1", (const char *)*state);
    struct trace_writer *w = must_open_writer(*state), *branch;
    trace_writer_keep(w);
    trace_writer_change(w, &chosen);
    assert_int_equal(trace_writer_branch(w, path, &branch, NULL), 0);
    trace_writer_change(w, &chosen);
    must_finish(branch);
    must_finish(w);
    struct trace_reader *r = must_open_reader(path);
    assert_int_equal(trace_reader_change_count(r), 1);
    assert_same(trace_reader_change(r, 0), &chosen);
    trace_reader_free(r);
    remove(path);
}

/* Reads the payload's first SIZE bytes; later versions may add more. */
static bool is_record(const struct bytes *payload, size_t size) {
    struct fields f = {payload->at, payload->at + size, false};
    struct trace_change change;
    return fields_change(&f, &change);
}

static void longer_records_accepted(void **state) {
    (void)state;
    enum { PADDING = 32 };
    struct block *block = record_change(&chosen);
    struct bytes *payload = &block->parts[0];
    size_t whole = payload->count;
    memset(bytes_reserve(payload, PADDING), 0, PADDING);
    for (size_t size = 0; size < whole; size++)
        assert_false(is_record(payload, size));
    assert_true(is_record(payload, whole));
    assert_true(is_record(payload, whole + PADDING));
    block_free(block);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("trace changes", tests, NULL, NULL);
}
