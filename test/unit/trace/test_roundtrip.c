/* Readers get exactly the data that was written. */
#include <string.h>
#include <unistd.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(every_shape_of_stream)                                                                    \
    TEST(random_streams)                                                                           \
    TEST(extreme_values)                                                                           \
    TEST(stacks_anywhere)                                                                          \
    TEST(recursion_of_200000_frames)                                                               \
    TEST(losses_and_thread_ends)                                                                   \
    TEST(limits_round_trip)                                                                        \
    TEST(facts_round_trip)                                                                         \
    TEST(branch_repeats_kept_facts)                                                                \
    TEST(ticks_to_nanoseconds)                                                                     \
    TEST(merge_in_order_of_time)

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

/* Compares STREAM with the events fed to it, in order and with monotone times. */
static void expect_events(struct trace_reader *r, uint32_t stream, const struct trace_event *events,
                          size_t count) {
    struct trace_cursor *c;
    struct trace_item item;
    struct err err;
    uint64_t clock = 0;
    assert_int_equal(trace_cursor_open(r, stream, &c, &err), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(trace_cursor_next(c, &item, &err), 1);
        clock = events[i].ticks > clock ? events[i].ticks : clock;
        if (item.kind != TRACE_EVENT || item.stream != stream || item.id != events[i].site >> 2 ||
            item.event != (events[i].site & 3) || item.sp != events[i].sp || item.ticks != clock)
            fail_msg("event %zu of stream %u differs", i, stream);
    }
    assert_int_equal(trace_cursor_next(c, &item, &err), 0);
    assert_int_equal(trace_cursor_next(c, &item, &err), 0);
    trace_cursor_free(c);
}

static void every_shape_of_stream(void **state) {
    enum { EVENTS = 200000 };
    struct trace_event *events[SHAPE_COUNT];
    struct trace_writer *w = must_open_writer(*state);
    for (uint32_t i = 0; i < SHAPE_COUNT; i++) {
        events[i] = generate((enum shape)i, EVENTS, 7, 100);
        feed(w, i, events[i], EVENTS);
    }
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    for (uint32_t i = 0; i < SHAPE_COUNT; i++) {
        expect_events(r, i, events[i], EVENTS);
        free(events[i]);
    }
    struct trace_counts counts = trace_reader_counts(r);
    assert_int_equal(counts.entries + counts.exits, SHAPE_COUNT * EVENTS);
    assert_int_equal(counts.lost, 0);
    trace_reader_free(r);
}

static void random_streams(void **state) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint64_t random = seed + 1;
        size_t count = random_below(&random, 3000);
        AUTO_FREE struct trace_event *events = generate((enum shape)(seed % 4), count, seed, 0);
        struct trace_writer *w = must_open_writer(*state);
        feed(w, 0, events, count / 2);
        trace_writer_flush(w);
        feed(w, 0, events + count / 2, count - count / 2);
        trace_writer_thread(w, &(struct trace_thread){.stream = 0});
        must_finish(w);
        struct trace_reader *r = must_open_reader(*state);
        expect_events(r, 0, events, count);
        trace_reader_free(r);
    }
}

static void extreme_values(void **state) {
    static const struct trace_event events[] = {
        {.ticks = 5, .site = 0x3fffffffu << 2 | EVENT_ENTRY, .sp = 0xfffffffd},
        {.ticks = 5, .site = 0u << 2 | EVENT_ENTRY, .sp = 3},
        {.ticks = 4, .site = 0u << 2 | EVENT_TAIL, .sp = 3},
        {.ticks = 228, .site = 0x3fffffffu << 2 | EVENT_RETURN, .sp = 0xfffffffd},
        {.ticks = 6595, .site = 1u << 2 | EVENT_RETURN, .sp = 0},
        {.ticks = 12963, .site = 1u << 2 | EVENT_ENTRY, .sp = 0x80000000},
        {.ticks = 12970, .site = 2u << 2 | EVENT_CONTROL, .sp = 0x80000008},
        {.ticks = 12971, .site = 1u << 2 | EVENT_CONTROL, .sp = 0xfffffffd},
        {.ticks = UINT64_MAX, .site = 1u << 2 | EVENT_ENTRY, .sp = 0x7fffffff},
    };
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_events(w, 0, events, 9);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    expect_events(r, 0, events, 9);
    trace_reader_free(r);
}

static void stacks_anywhere(void **state) {
    enum { TURNS = 300 };
    static const uint64_t stacks[] = {0x7ffc12345678, 0x12345678, 0x555512345678, 0xffff12345678};
    AUTO_FREE struct trace_event *events = mem_alloc((size_t)TURNS * 8 * sizeof *events);
    size_t n = 0;
    uint64_t random = 1;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        uint64_t sp = stacks[random_below(&random, 4)], crossing = 0x700000000008 - 16 * turn;
        for (uint32_t i = 0; i < 4; i++, n++)
            events[n] = (struct trace_event){n * 30, i << 2, sp - 16 * i};
        for (uint32_t i = 4; i--; n++)
            events[n] = (struct trace_event){n * 30, i << 2 | EVENT_RETURN,
                                             turn % 3 ? sp - 16 * i : crossing};
    }
    struct trace_writer *w = must_open_writer(*state);
    feed(w, 0, events, n);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    expect_events(r, 0, events, n);
    trace_reader_free(r);
}

static void recursion_of_200000_frames(void **state) {
    enum { DEPTH = 200000 };
    AUTO_FREE struct trace_event *events = mem_alloc(2 * DEPTH * sizeof *events);
    for (uint32_t i = 0; i < DEPTH; i++) {
        uint32_t sp = 0xf0000000 - 48 * i;
        events[i] = (struct trace_event){.ticks = 100 + i * 50, .site = 9 << 2, .sp = sp};
        events[2 * DEPTH - 1 - i] = (struct trace_event){
            .ticks = 100 + (2 * DEPTH - 1 - i) * 50ull, .site = 9 << 2 | EVENT_RETURN, .sp = sp};
    }
    struct trace_writer *w = must_open_writer(*state);
    feed(w, 0, events, 2 * DEPTH);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    expect_events(r, 0, events, 2 * DEPTH);
    assert_in_range(trace_reader_file_bytes(r), 1, DEPTH / 10);
    trace_reader_free(r);
}

static void losses_and_thread_ends(void **state) {
    static const struct trace_event entry = {.ticks = 50, .site = 4, .sp = 64};
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_events(w, 0, &entry, 1);
    trace_writer_lost(w, 0, 55, 1ull << 40);
    trace_writer_lost(w, 0, 60, 1);
    trace_writer_thread_end(w, 0, 70);
    struct trace_totals totals = trace_writer_totals(w);
    assert_int_equal(totals.lost, (1ull << 40) + 1);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    struct trace_cursor *c;
    const struct trace_item *items;
    assert_int_equal(trace_cursor_open(r, 0, &c, NULL), 0);
    assert_int_equal(trace_cursor_batch(c, &items, NULL), 4);
    assert_int_equal(items[0].kind, TRACE_EVENT);
    assert_int_equal(items[1].kind, TRACE_LOST);
    assert_int_equal(items[1].lost, 1ull << 40);
    assert_int_equal(items[1].ticks, 55);
    assert_int_equal(items[2].kind, TRACE_LOST);
    assert_int_equal(items[2].lost, 1);
    assert_int_equal(items[3].kind, TRACE_THREAD_END);
    assert_int_equal(items[3].ticks, 70);
    trace_cursor_free(c);
    assert_int_equal(trace_reader_counts(r).lost, (1ull << 40) + 1);
    trace_reader_free(r);
}

static void check_module(const struct trace_reader *r) {
    const struct trace_module *m = trace_reader_module(r, 0), *found;
    const struct trace_function *f;
    assert_int_equal(trace_reader_module_count(r), 3);
    assert_string_equal(m->path, "/usr/bin/prog");
    assert_int_equal(m->build_id_size, 4);
    assert_int_equal(m->build_id[3], 255);
    assert_int_equal(m->tiers[5], 6);
    assert_int_equal(m->exit_tiers[0], 6);
    assert_int_equal(m->refused_count, 2);
    assert_string_equal(m->refused[1].reason, "own-convention");
    assert_int_equal(m->exact_exit, 1);
    assert_true(trace_reader_function(r, 11, &found, &f));
    assert_ptr_equal(found, m);
    assert_int_equal(f->address, 0x1010);
    assert_int_equal(f->size, 99);
    assert_string_equal(f->aliases, "a\nb");
    assert_true(f->exact && !f->instrumented);
    assert_true(trace_reader_function(r, 12, &found, &f));
    assert_int_equal(f->address, 0xfff);
    assert_int_equal(f->entry_tier, 5);
    assert_null(f->name);
    assert_true(trace_reader_function(r, 13, &found, &f));
    assert_string_equal(found->name, "lib.so");
    assert_false(trace_reader_function(r, 9, &found, &f));
    assert_false(trace_reader_function(r, 14, &found, &f));
}

static void limits_round_trip(void **state) {
    struct trace_writer *w = must_open_limited(*state, 3, 5000000000);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_int_equal(trace_reader_session(r)->depth, 3);
    assert_int_equal(trace_reader_session(r)->threshold_ns, 5000000000);
    trace_reader_free(r);
}

static void facts_round_trip(void **state) {
    write_small_trace(*state);
    struct trace_reader *r = must_open_reader(*state);
    const struct trace_session *s = trace_reader_session(r);
    assert_string_equal(s->version, "1.2");
    assert_string_equal(s->arch, "x86_64");
    assert_string_equal(s->command[2], "ünï");
    assert_null(s->command[3]);
    assert_int_equal(s->start_unix_ns, 1234567890123);
    assert_int_equal(trace_reader_process_count(r), 2);
    assert_string_equal(trace_reader_process(r, 1)->command, "child");
    assert_int_equal(trace_reader_process(r, 1)->parent, 5);
    assert_int_equal(trace_reader_stream_count(r), 3);
    assert_int_equal(trace_reader_thread(r, 2)->tid, 7);
    assert_int_equal(trace_reader_thread(r, 2)->stack_high, 0x7fff8000);
    assert_string_equal(trace_reader_thread(r, 0)->name, "main");
    assert_int_equal(trace_reader_map_count(r), 2);
    assert_int_equal(trace_reader_map(r, 1)->bias, (uint64_t)-4096);
    assert_true(trace_reader_complete(r));
    assert_int_equal(trace_reader_end(r)->status, 3);
    assert_int_equal(trace_reader_end(r)->withdrawn_reads, 300);
    assert_int_equal(trace_reader_end(r)->withdrawn_functions, 2);
    assert_int_equal(trace_reader_counts(r).lost, 17 + 18 + 19);
    check_module(r);
    trace_reader_free(r);
}

/* A branch, as a snapshot is, is a further trace of the same session. */
static void branch_repeats_kept_facts(void **state) {
    AUTO_FREE char *path = mem_printf("%s.1", (char *)*state);
    static const struct trace_function function = {.address = 16, .size = 8, .name = "f"};
    static const struct trace_module module = {
        .first_id = 1, .path = "/m", .name = "m", .functions = &function, .function_count = 1};
    static const struct trace_end end = {.ticks = 900, .snapshot = 4, .reason = "f>5ms"};
    struct trace_writer *w = must_open_writer(*state), *branch;
    trace_writer_clock(w, &(struct trace_clock){100, 1000});
    trace_writer_keep(w);
    trace_writer_process(w, &(struct trace_process){.pid = 5, .command = "p"});
    trace_writer_thread(w, &(struct trace_thread){.stream = 77, .pid = 5, .tid = 6, .name = "t"});
    trace_writer_module(w, &module);
    trace_writer_map(w, &(struct trace_map){.pid = 5, .first_id = 1, .bias = 4096});
    trace_writer_clock(w, &(struct trace_clock){200, 2000});
    assert_int_equal(trace_writer_branch(w, path, &branch, NULL), 0);
    trace_writer_clock(branch, &(struct trace_clock){1100, 2000});
    trace_writer_thread(branch, &(struct trace_thread){.pid = 5, .tid = 6, .name = "t"});
    trace_writer_events(branch, 0, &(struct trace_event){300, 1 << 2, 4096}, 1);
    assert_int_equal(trace_writer_finish(branch, &end, NULL, NULL), 0);
    must_finish(w);

    struct trace_reader *r = must_open_reader(path);
    const struct trace_module *m;
    const struct trace_function *f;
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_process_count(r), 1);
    assert_int_equal(trace_reader_stream_count(r), 1);
    assert_int_equal(trace_reader_module_count(r), 1);
    assert_int_equal(trace_reader_map_count(r), 1);
    assert_true(trace_reader_function(r, 1, &m, &f));
    assert_string_equal(f->name, "f");
    assert_int_equal(trace_reader_ns(r, 1100), 1000); /* counted from the session's first clock */
    assert_int_equal(trace_reader_counts(r).entries, 1);
    assert_int_equal(trace_reader_end(r)->snapshot, 4);
    assert_string_equal(trace_reader_end(r)->reason, "f>5ms");
    trace_reader_free(r);
    unlink(path);

    r = must_open_reader(*state);
    assert_int_equal(trace_reader_counts(r).entries, 0);
    assert_int_equal(trace_reader_end(r)->snapshot, 0);
    trace_reader_free(r);
}

static void ticks_to_nanoseconds(void **state) {
    write_small_trace(*state); /* 2 000 000 ticks are 1 000 000 ns, from tick 1 000 000 */
    struct trace_reader *r = must_open_reader(*state);
    assert_int_equal(trace_reader_ns(r, 0), 0);
    assert_int_equal(trace_reader_ns(r, 1000000), 0);
    assert_int_equal(trace_reader_ns(r, 1000200), 100);
    assert_int_equal(trace_reader_duration_ns(r), 9500000);
    trace_reader_free(r);
}

static void merge_in_order_of_time(void **state) {
    write_small_trace(*state);
    struct trace_reader *r = must_open_reader(*state);
    struct trace_merge *m;
    struct trace_item item, before = {0};
    size_t n = 0;
    assert_int_equal(trace_merge_open(r, &m, NULL), 0);
    for (; trace_merge_next(m, &item, NULL) == 1; before = item, n++)
        assert_true(item.ticks > before.ticks ||
                    (item.ticks == before.ticks && item.stream >= before.stream));
    assert_int_equal(n, 3 * 300 + 3 + 1);
    trace_merge_free(m);
    trace_reader_free(r);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
