/* A trace that is cut into parts: nothing is lost or doubled, each part says what is open. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"
#include "trace/calls.h"
#include "trace/writer_state.h"

#define TESTS                                                                                      \
    TEST(parts_together_are_the_whole)                                                             \
    TEST(part_begins_with_open_calls)                                                              \
    TEST(child_begins_with_calls_of_its_maker)                                                     \
    TEST(ended_processes_are_not_repeated)                                                         \
    TEST(oldest_parts_are_removed)                                                                 \
    TEST(missing_part_is_reported)                                                                 \
    TEST(only_the_owner_may_read)                                                                  \
    TEST(earlier_parts_are_kept_as_old)

enum { STREAMS = 3, EVENTS = 60000, MOST = 400 * 1000 };

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static void remove_parts(const char *path) {
    static const char *const forms[] = {"", ".old"};
    for (int i = 0; i < 2; i++)
        for (unsigned n = 1; n < 100; n++) {
            AUTO_FREE char *part = mem_printf("%s%s.%u", path, forms[i], n);
            unlink(part);
        }
    AUTO_FREE char *old = mem_printf("%s.old", path);
    unlink(old);
}

static int teardown(void **state) {
    remove_parts(*state);
    scratch_free(*state);
    return 0;
}

static struct trace_thread thread_of(uint32_t stream) {
    return (struct trace_thread){
        .stream = stream, .pid = 100 + stream, .tid = 100 + stream, .start = 1, .name = "t"};
}

static struct trace_writer *open_cut(const char *path, uint64_t most) {
    struct trace_writer *w = must_open_writer(path);
    struct err err;
    if (most)
        assert_int_equal(trace_writer_cut(w, most, &err), 0);
    trace_writer_clock(w, &(struct trace_clock){1, 1});
    return w;
}

/* Writes the streams by turns. MOST: as for trace_writer_cut(); 0: the trace is not cut. */
static struct trace_totals write_streams(const char *path, uint64_t most) {
    struct trace_writer *w = open_cut(path, most);
    struct trace_event *events[STREAMS];
    for (uint32_t s = 0; s < STREAMS; s++) {
        struct trace_thread thread = thread_of(s);
        events[s] = generate((enum shape)(s % SHAPE_NOISE), EVENTS, s + 1, 10);
        trace_writer_process(w, &(struct trace_process){100 + s, 1, 1, "p"});
        trace_writer_thread(w, &thread);
    }
    for (size_t at = 0; at < EVENTS; at += 500) {
        if (at % 5000 == 0)
            trace_writer_flush(w);
        for (uint32_t s = 0; s < STREAMS; s++)
            trace_writer_events(w, s, events[s] + at, 500);
        if (at % 7 == 0)
            trace_writer_lost(w, 1, events[1][at + 499].ticks, 3);
        uint64_t ticks = events[0][at].ticks;
        trace_writer_sync(w);
        trace_writer_turn(w, &(struct trace_clock){ticks, ticks});
    }
    struct trace_totals totals;
    struct err err;
    struct trace_end end = {.ticks = events[0][EVENTS - 1].ticks};
    assert_int_equal(trace_writer_finish(w, &end, &totals, &err), 0);
    for (uint32_t s = 0; s < STREAMS; s++)
        free(events[s]);
    return totals;
}

static int next(struct trace_cursor *c, struct trace_item *ret) {
    int rc = trace_cursor_next(c, ret, NULL);
    return rc;
}

static void expect_same_streams(struct trace_reader *a, struct trace_reader *b) {
    assert_int_equal(trace_reader_stream_count(a), trace_reader_stream_count(b));
    for (uint32_t s = 0; s < trace_reader_stream_count(a); s++) {
        struct trace_cursor *x, *y;
        struct trace_item from_a, from_b;
        assert_int_equal(trace_cursor_open(a, s, &x, NULL), 0);
        assert_int_equal(trace_cursor_open(b, s, &y, NULL), 0);
        assert_int_equal(trace_reader_thread(a, s)->tid, trace_reader_thread(b, s)->tid);
        for (int rc; (rc = next(x, &from_a)) > 0;) {
            assert_int_equal(next(y, &from_b), 1);
            assert_int_equal(from_a.kind, from_b.kind);
            assert_int_equal(from_a.ticks, from_b.ticks);
            assert_int_equal(from_a.stream, from_b.stream);
            if (from_a.kind == TRACE_EVENT) {
                assert_int_equal(from_a.id, from_b.id);
                assert_int_equal(from_a.sp, from_b.sp);
                assert_int_equal(from_a.event, from_b.event);
            } else if (from_a.kind == TRACE_LOST) {
                assert_int_equal(from_a.lost, from_b.lost);
            }
        }
        assert_int_equal(next(y, &from_b), 0);
        trace_cursor_free(x);
        trace_cursor_free(y);
    }
}

static void parts_together_are_the_whole(void **state) {
    AUTO_FREE char *whole = mem_printf("%s-whole", (char *)*state);
    struct trace_totals cut = write_streams(*state, MOST), all = write_streams(whole, 0);
    assert_true(cut.parts.last >= 3);
    assert_int_equal(cut.parts.removed, 0);
    assert_int_equal(cut.entries, all.entries);
    assert_int_equal(cut.exits, all.exits);
    assert_int_equal(cut.lost, all.lost);
    struct trace_reader *a = must_open_reader(*state), *b = must_open_reader(whole);
    assert_null(trace_reader_warning(a));
    assert_int_equal(trace_reader_parts(a).first, 1);
    assert_int_equal(trace_reader_parts(a).last, cut.parts.last);
    assert_int_equal(trace_reader_process_count(a), trace_reader_process_count(b));
    assert_int_equal(trace_reader_counts(a).lost, trace_reader_counts(b).lost);
    expect_same_streams(a, b);
    trace_reader_free(a);
    trace_reader_free(b);
    unlink(whole);
}

/* ---- what is open ---- */

static void put(struct trace_writer *w, uint32_t stream, uint64_t ticks, uint32_t site,
                uint64_t sp) {
    trace_writer_events(w, stream, &(struct trace_event){ticks, site, sp}, 1);
}

/* Begins a new part, as soon as the ones before are complete: on a loaded machine some wait for a
 * processor. Gives up after 20 seconds. */
static void turn(struct trace_writer *w, uint64_t ticks) {
    uint32_t before = parts_number(w->parts);
    for (int i = 0; i < 20000 && parts_number(w->parts) == before; i++) {
        if (i)
            usleep(1000);
        trace_writer_turn(w, &(struct trace_clock){ticks, ticks});
    }
    assert_int_equal(parts_number(w->parts), before + 1);
}

/* Calls and returns of function 99, with no regularity, until the part is full: begins a new one.
 * Returns the time. */
static uint64_t fill_part(struct trace_writer *w, uint32_t stream, uint64_t ticks, uint64_t sp) {
    uint64_t random = ticks + 1;
    for (int i = 0; i < 30000; i++) {
        uint64_t at = sp - 16 * (1 + random_below(&random, 500));
        put(w, stream, ticks += 1 + random_below(&random, 100000), 99 << 2 | EVENT_ENTRY, at);
        put(w, stream, ticks += 1 + random_below(&random, 100000), 99 << 2 | EVENT_RETURN, at);
    }
    trace_writer_flush(w);
    trace_writer_sync(w);
    turn(w, ticks);
    return ticks;
}

static struct trace_reader *open_part(const char *path, unsigned number) {
    AUTO_FREE char *part = mem_printf("%s.%u", path, number);
    return must_open_reader(part);
}

/* Draws the calls that STREAM begins with in R: "id@sp …", the outermost first. */
static void expect_open(struct trace_reader *r, uint32_t stream, const char *drawing) {
    size_t count;
    AUTO_FREE char *drawn = mem_strdup("");
    const struct trace_frames *f = trace_reader_frames(r, stream, &count);
    for (uint32_t i = 0; count && i < f->count; i++) {
        AUTO_FREE char *before = drawn;
        drawn = mem_printf("%s%s%u@%jx", before, i ? " " : "", f->frames[i].id, f->frames[i].sp);
    }
    assert_string_equal(drawn, drawing);
}

static void add_thread(struct trace_writer *w, struct trace_thread thread) {
    thread.stack_low = 0x10000;
    thread.stack_high = 0x20000;
    trace_writer_process(w, &(struct trace_process){thread.pid, 1, thread.start, "p"});
    trace_writer_thread(w, &thread);
}

static void part_begins_with_open_calls(void **state) {
    struct trace_writer *w = open_cut(*state, 1500 * 1000);
    add_thread(w, thread_of(0));
    put(w, 0, 10, 1 << 2 | EVENT_ENTRY, 0x1ff00);
    put(w, 0, 20, 2 << 2 | EVENT_ENTRY, 0x1fe00);
    uint64_t ticks = fill_part(w, 0, 30, 0x1fd00);
    put(w, 0, ++ticks, 2 << 2 | EVENT_TAIL, 0x1fe00);
    put(w, 0, ++ticks, 3 << 2 | EVENT_ENTRY, 0x1fe00);
    put(w, 0, ++ticks, 4 << 2 | EVENT_ENTRY, 0x1fc00);
    put(w, 0, ++ticks, 5 << 2 | EVENT_ENTRY, 0x1fd80); /* call 4 was unwound */
    ticks = fill_part(w, 0, ticks, 0x1fc00);
    put(w, 0, ++ticks, 1 << 2 | EVENT_RETURN, 0x1ff00);
    fill_part(w, 0, ticks, 0x1fc00);
    must_finish(w);
    struct trace_reader *second = open_part(*state, 2), *third = open_part(*state, 3);
    expect_open(second, 0, "1@1ff00 2@1fe00");
    expect_open(third, 0, "1@1ff00 3@1fe00 5@1fd80");
    trace_reader_free(second);
    trace_reader_free(third);
}

/* The child, whose record comes while its maker waits, has left a call when the part ends. */
static void child_begins_with_calls_of_its_maker(void **state) {
    struct trace_writer *w = open_cut(*state, 1500 * 1000);
    struct trace_thread child = thread_of(1);
    add_thread(w, thread_of(0));
    put(w, 0, 10, 1 << 2 | EVENT_ENTRY, 0x1ff00);
    put(w, 0, 20, 2 << 2 | EVENT_ENTRY, 0x1fe00);
    put(w, 0, 30, 3 << 2 | EVENT_ENTRY, 0x1fd00);
    child.start = 40;
    child.maker = 1;
    add_thread(w, child);
    put(w, 0, 50, 3 << 2 | EVENT_RETURN, 0x1fd00);
    put(w, 0, 60, 2 << 2 | EVENT_RETURN, 0x1fe00);
    put(w, 1, 50, 3 << 2 | EVENT_RETURN, 0x1fd00);
    put(w, 1, 60, 4 << 2 | EVENT_ENTRY, 0x1fd80);
    fill_part(w, 0, 70, 0x1fc00);
    must_finish(w);
    AUTO_FREE char *alone = mem_printf("%s.9", (char *)*state);
    rename(*state, alone);
    struct trace_reader *r = must_open_reader(alone);
    assert_int_equal(trace_reader_parts(r).first, 2);
    expect_open(r, 0, "1@1ff00");
    expect_open(r, 1, "1@1ff00 2@1fe00 4@1fd80");
    assert_int_equal(trace_reader_thread(r, 1)->maker, 0);
    trace_reader_free(r);
}

static void ended_processes_are_not_repeated(void **state) {
    struct trace_writer *w = open_cut(*state, 1500 * 1000);
    for (uint32_t i = 0; i < 3; i++)
        add_thread(w, thread_of(i));
    put(w, 2, 10, 7 << 2 | EVENT_ENTRY, 0x1ff00);
    trace_writer_thread_end(w, 1, 20);
    uint64_t ticks = fill_part(w, 0, 30, 0x1fc00);
    put(w, 2, ticks + 1, 7 << 2 | EVENT_RETURN, 0x1ff00);
    fill_part(w, 0, ticks, 0x1fc00);
    must_finish(w);
    struct trace_reader *part = open_part(*state, 2), *all = must_open_reader(*state);
    assert_int_equal(trace_reader_process_count(part), 2);
    assert_int_equal(trace_reader_stream_count(part), 2);
    assert_int_equal(trace_reader_thread(part, 1)->tid, 102);
    assert_int_equal(trace_reader_process_count(all), 3);
    assert_int_equal(trace_reader_stream_count(all), 3);
    expect_open(part, 1, "7@1ff00");
    expect_open(all, 2, "");
    trace_reader_free(part);
    trace_reader_free(all);
}

/* ---- files ---- */

static uint64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static struct trace_totals write_parts(const char *path, unsigned count, uint64_t most) {
    struct trace_writer *w = open_cut(path, most);
    uint64_t ticks = 10;
    add_thread(w, thread_of(0));
    for (unsigned i = 1; i < count; i++)
        ticks = fill_part(w, 0, ticks, 0x1fc00);
    struct trace_totals totals;
    assert_int_equal(trace_writer_finish(w, &(struct trace_end){0}, &totals, NULL), 0);
    return totals;
}

static void oldest_parts_are_removed(void **state) {
    const uint64_t most = 1000 * 1000;
    struct trace_totals totals = write_parts(*state, 12, most);
    assert_int_equal(totals.parts.last, 12);
    assert_true(totals.parts.removed > 0 && totals.parts.removed < 11);
    assert_false(totals.parts.too_large);
    uint64_t sum = size_of(*state);
    for (unsigned n = 1; n < 12; n++) {
        AUTO_FREE char *path = mem_printf("%s.%u", (char *)*state, n);
        assert_int_equal(size_of(path) != 0, n > totals.parts.removed);
        sum += size_of(path);
    }
    assert_true(sum <= most && sum > most / 2);
    assert_int_equal(sum, totals.bytes);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_parts(r).first, totals.parts.removed + 1);
    trace_reader_free(r);
}

static void missing_part_is_reported(void **state) {
    write_parts(*state, 5, 4000 * 1000 / 5);
    AUTO_FREE char *third = mem_printf("%s.3", (char *)*state);
    unlink(third);
    struct trace_reader *r = must_open_reader(*state);
    assert_non_null(strstr(trace_reader_warning(r), "part 3 is missing"));
    assert_int_equal(trace_reader_parts(r).first, 4);
    trace_reader_free(r);
    r = open_part(*state, 2);
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_counts(r).entries, 30000);
    trace_reader_free(r);
}

static void only_the_owner_may_read(void **state) {
    struct stat st;
    AUTO_FREE char *part = mem_printf("%s.part", (char *)*state);
    must_store(part, "left", 4);
    assert_int_equal(chmod(part, 0644), 0);
    mode_t before = umask(0);
    write_parts(*state, 3, 800 * 1000);
    umask(before);
    AUTO_FREE char *first = mem_printf("%s.1", (char *)*state);
    assert_int_equal(stat(*state, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(first, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void earlier_parts_are_kept_as_old(void **state) {
    AUTO_FREE char *other = mem_printf("%s.7", (char *)*state);
    AUTO_FREE char *old = mem_printf("%s.old", (char *)*state);
    AUTO_FREE char *first = mem_printf("%s.1", (char *)*state);
    write_parts(*state, 4, 800 * 1000);
    must_store(other, "not a part", 10);
    struct trace_writer *w = open_cut(*state, 0);
    must_finish(w);
    struct trace_reader *r = must_open_reader(old);
    assert_int_equal(trace_reader_parts(r).first, 1);
    assert_int_equal(trace_reader_parts(r).last, 4);
    trace_reader_free(r);
    assert_int_equal(access(first, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
int main(void) {
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("trace parts", tests, NULL, NULL);
}
