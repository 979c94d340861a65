/* Records of open frames: written, read back in their place among the events, damaged. */
#include <string.h>

#include "support.h"
#include "trace/layout.h"
#include "trace/records.h"

#define TESTS                                                                                      \
    TEST(frame_round_trip)                                                                         \
    TEST(frames_before_the_first_later_item)                                                       \
    TEST(frames_in_merged_streams)                                                                 \
    TEST(innermost_frames_kept)                                                                    \
    TEST(cut_records_refused)                                                                      \
    TEST(numbers_out_of_range_refused)                                                             \
    TEST(frames_of_an_impossible_stream)

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

static const struct trace_frame chain[] = {
    {1, 0x7ffe0001f000}, {DISK_ID_MAX, 0x7ffe0001efe8}, {3, 0x100}, {4, DISK_SP_MAX}, {5, 0}};
enum { CHAIN = sizeof chain / sizeof *chain };

static void put_frames(struct trace_writer *w, uint32_t stream, uint64_t ticks, uint32_t count) {
    trace_writer_frames(w, &(struct trace_frames){stream, ticks, count, chain});
}

static void put_events(struct trace_writer *w, uint32_t stream, uint64_t from, uint64_t to) {
    for (uint64_t t = from; t <= to; t += 10) {
        struct trace_event e = {t, 7u << 2 | EVENT_ENTRY, 0x7000};
        trace_writer_events(w, stream, &e, 1);
    }
}

/* Draws a stream: "10" an event at time 10, "f5:15" five frames at time 15, "l" a loss, "e" an end.
 */
static void expect_drawn(struct trace_reader *r, uint32_t stream, const char *drawing) {
    AUTO_FREE char *drawn = mem_strdup("");
    struct trace_cursor *c;
    struct trace_item item;
    assert_int_equal(trace_cursor_open(r, stream, &c, NULL), 0);
    while (trace_cursor_next(c, &item, NULL) > 0) {
        AUTO_FREE char *before = drawn;
        assert_int_equal(item.stream, stream);
        if (item.kind == TRACE_FRAMES) {
            assert_int_equal(item.frames->ticks, item.ticks);
            drawn = mem_printf("%s f%u:%ju", before, item.frames->count, item.ticks);
        } else {
            drawn = item.kind == TRACE_EVENT ? mem_printf("%s %ju", before, item.ticks)
                                             : mem_printf("%s %c", before, "?le"[item.kind]);
        }
    }
    trace_cursor_free(c);
    assert_string_equal(drawn, drawing);
}

static void frame_round_trip(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    put_frames(w, 2, 77, CHAIN);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    size_t count;
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_stream_count(r), 3);
    const struct trace_frames *f = trace_reader_frames(r, 2, &count);
    assert_int_equal(count, 1);
    assert_int_equal(f->stream, 2);
    assert_int_equal(f->ticks, 77);
    assert_int_equal(f->count, CHAIN);
    for (uint32_t i = 0; i < CHAIN; i++) {
        assert_int_equal(f->frames[i].id, chain[i].id);
        assert_int_equal(f->frames[i].sp, chain[i].sp);
    }
    trace_reader_frames(r, 1, &count);
    assert_int_equal(count, 0);
    trace_reader_free(r);
}

static void frames_before_the_first_later_item(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    put_events(w, 0, 10, 40);
    trace_writer_flush(w);
    put_events(w, 0, 50, 60);
    trace_writer_thread_end(w, 0, 70);
    put_frames(w, 0, 30, 3);
    put_frames(w, 0, 5, 1);
    put_frames(w, 0, 45, 0);
    put_frames(w, 0, 90, 2);
    put_frames(w, 1, 3, 4);
    put_events(w, 2, 10, 20);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    expect_drawn(r, 0, " f1:5 10 20 f3:30 30 40 f0:45 50 60 e f2:90");
    expect_drawn(r, 1, " f4:3");
    expect_drawn(r, 2, " 10 20");
    trace_reader_free(r);
}

static void frames_in_merged_streams(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    put_events(w, 0, 10, 60);
    put_frames(w, 0, 25, 1);
    put_frames(w, 1, 15, 2);
    put_frames(w, 2, 5, 3);
    put_events(w, 2, 40, 40);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    struct trace_merge *m;
    struct trace_item item;
    uint64_t last = 0;
    size_t items = 0, frames = 0;
    assert_int_equal(trace_merge_open(r, &m, NULL), 0);
    for (; trace_merge_next(m, &item, NULL) > 0; items++) {
        assert_true(last <= item.ticks);
        last = item.ticks;
        frames += item.kind == TRACE_FRAMES ? item.frames->count : 0;
    }
    assert_int_equal(items, 6 + 1 + 3);
    assert_int_equal(frames, 6);
    trace_merge_free(m);
    trace_reader_free(r);
}

static void innermost_frames_kept(void **state) {
    AUTO_FREE struct trace_frame *many = mem_alloc((DISK_FRAMES_MAX + 3) * sizeof *many);
    for (uint32_t i = 0; i < DISK_FRAMES_MAX + 3; i++)
        many[i] = (struct trace_frame){i, 0x7fff00000000 - 64 * i};
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_frames(w, &(struct trace_frames){0, 1, DISK_FRAMES_MAX + 3, many});
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    size_t count;
    const struct trace_frames *f = trace_reader_frames(r, 0, &count);
    assert_int_equal(count, 1);
    assert_int_equal(f->count, DISK_FRAMES_MAX);
    assert_memory_equal(f->frames, many + 3, DISK_FRAMES_MAX * sizeof *many);
    trace_reader_free(r);
}

/* The payload of CHAIN's record, to be damaged; PADDING zeros behind it. */
static struct bytes payload_new(void) {
    enum { PADDING = 32 };
    struct block *block = record_frames(&(struct trace_frames){2, 77, CHAIN, chain});
    struct bytes payload = {0};
    bytes_put(&payload, block->parts[0].at, block->parts[0].count);
    memset(bytes_reserve(&payload, PADDING), 0, PADDING);
    block_free(block);
    return payload;
}

static bool is_record(const struct bytes *payload, size_t size) {
    struct fields f = {payload->at, payload->at + size, false};
    struct trace_frames frames;
    bool ok = fields_frames(&f, &frames);
    assert_true(frames.count <= DISK_FRAMES_MAX);
    free((void *)frames.frames);
    return ok;
}

static void cut_records_refused(void **state) {
    (void)state;
    struct bytes payload = payload_new();
    assert_true(is_record(&payload, payload.count));
    for (size_t size = 0; size < payload.count; size++)
        assert_false(is_record(&payload, size));
    free(payload.at);
}

static void numbers_out_of_range_refused(void **state) {
    (void)state;
    enum { COUNT_AT = 2, ID_AT = 3, SP_AT = 4 };
    static const uint8_t huge[] = {0xff, 255, 255, 255, 255, 255, 255, 255, 127};
    for (size_t at = COUNT_AT; at <= SP_AT; at++) {
        struct bytes payload = payload_new(), lie = {0};
        bytes_put(&lie, payload.at, at);
        bytes_put(&lie, huge, sizeof huge);
        bytes_put(&lie, payload.at + at, payload.count - at);
        assert_false(is_record(&lie, lie.count));
        free(lie.at);
        free(payload.at);
    }
}

static void frames_of_an_impossible_stream(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    put_frames(w, UINT32_MAX, 1, CHAIN);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_non_null(strstr(trace_reader_warning(r), "is damaged"));
    assert_int_equal(trace_reader_stream_count(r), 0);
    trace_reader_free(r);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("trace frames", tests, NULL, NULL);
}
