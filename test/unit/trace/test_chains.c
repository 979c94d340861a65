/* Chains of callers: written, read back, announced by events, damaged. */
#include <string.h>

#include "support.h"
#include "trace/calls.h"
#include "trace/layout.h"
#include "trace/records.h"

#define TESTS                                                                                      \
    TEST(chain_round_trip)                                                                         \
    TEST(chain_number_before_its_entry)                                                            \
    TEST(chain_right_before_its_entry)                                                             \
    TEST(damaged_chains_left_out)                                                                  \
    TEST(missing_chains_are_lost)                                                                  \
    TEST(missing_chains_bounded_by_the_file_size)                                                  \
    TEST(missed_chains_counted)

static int setup(void **state) {
    *state = scratch_new();
    return 0;
}

static int teardown(void **state) {
    scratch_free(*state);
    return 0;
}

static const struct trace_place places[] = {
    {"main", "program", 0x1000}, {"", "libc.so.6", 0x27189}, {"_ZN1a1bEv", "libb.so", 0}};

/* Number 8: main, without a caller; 9: a function of libc; 10: a::b(), called by 8, not by 9. */
static const struct trace_chain chains[] = {{CHAIN_WHOLE, 0}, {CHAIN_CUT, 1}, {CHAIN_FIRST, 2}};

static void put_chains(struct trace_writer *w) {
    const struct trace_chains first = {0, 1, places, CHAIN_FIRST, 1, chains},
                              second = {1, 2, places + 1, CHAIN_FIRST + 1, 2, chains + 1};
    trace_writer_chains(w, &first);
    trace_writer_chains(w, &second);
}

static void expect_chain(const struct trace_reader *r, uint32_t number, uint32_t callers,
                         const struct trace_place *place) {
    struct trace_chain chain;
    assert_true(trace_reader_chain(r, number, &chain));
    assert_int_equal(chain.callers, callers);
    const struct trace_place *found = trace_reader_place(r, chain.place);
    assert_string_equal(found->function, place->function);
    assert_string_equal(found->module, place->module);
    assert_int_equal(found->address, place->address);
}

static void chain_round_trip(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    struct trace_chain none;
    put_chains(w);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_chain_count(r), CHAIN_FIRST + 3);
    assert_int_equal(trace_reader_place_count(r), 3);
    expect_chain(r, CHAIN_FIRST, CHAIN_WHOLE, &places[0]);
    expect_chain(r, CHAIN_FIRST + 1, CHAIN_CUT, &places[1]);
    expect_chain(r, CHAIN_FIRST + 2, CHAIN_FIRST, &places[2]);
    for (uint32_t end = 0; end < CHAIN_FIRST; end++)
        assert_false(trace_reader_chain(r, end, &none));
    assert_false(trace_reader_chain(r, CHAIN_FIRST + 3, &none));
    trace_reader_free(r);
}

enum { SP = 0x70000f00 };

static struct trace_event event(uint64_t ticks, uint32_t id, enum event_kind kind, uint64_t sp) {
    return (struct trace_event){ticks, id << 2 | kind, sp};
}

/* A chain's number is no stack pointer. It does not disturb the prediction of stack pointers, and
 * the stream's extent is that of its calls. */
static void chain_number_before_its_entry(void **state) {
    const uint64_t high = (uint64_t)0x7ffc << 32;
    const struct trace_event events[] = {
        event(1, 5, EVENT_ENTRY, high | SP),
        event(2, CHAIN_EVENT, EVENT_CONTROL, CHAIN_FIRST + 2),
        event(2, 6, EVENT_ENTRY, high | (SP - 64)),
        event(3, CHAIN_EVENT, EVENT_CONTROL, UINT32_MAX),
        event(3, 7, EVENT_ENTRY, high | (SP - 128)),
        event(4, 7, EVENT_RETURN, high | (SP - 128)),
        event(5, CHAIN_EVENT, EVENT_CONTROL, 0),
        event(6, 6, EVENT_RETURN, high | (SP - 64)),
        event(7, 5, EVENT_RETURN, high | SP),
    };
    enum { COUNT = sizeof events / sizeof *events };
    struct trace_writer *w = must_open_writer(*state);
    struct trace_thread thread = {
        .stream = 0, .pid = 1, .tid = 1, .stack_low = high, .stack_high = high | 0x80000000};
    trace_writer_thread(w, &thread);
    put_chains(w);
    trace_writer_events(w, 0, events, COUNT);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_false(trace_reader_uses_other_stacks(r, 0));
    struct trace_cursor *c;
    struct trace_item item;
    assert_int_equal(trace_cursor_open(r, 0, &c, NULL), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(trace_cursor_next(c, &item, NULL), 1);
        assert_int_equal(item.ticks, events[i].ticks);
        assert_int_equal(item.id << 2 | item.event, events[i].site);
        assert_int_equal(item.sp, events[i].sp);
    }
    assert_int_equal(trace_cursor_next(c, &item, NULL), 0);
    assert_int_equal(trace_reader_counts(r).entries, 3);
    assert_int_equal(trace_reader_counts(r).exits, 3);
    trace_cursor_free(c);
    trace_reader_free(r);
}

static void note_chain(void *ctx, struct call *call, struct call *parent) {
    (void)parent;
    ((uint32_t *)ctx)[call->id] = call->chain;
}

static void chain_right_before_its_entry(void **state) {
    (void)state;
    static const struct calls_ops ops = {.on_open = note_chain};
    uint32_t seen[5] = {9, 9, 9, 9, 9};
    struct trace_thread thread = {.stack_low = 0x1000, .stack_high = 0x9000};
    struct calls *c = calls_new(&thread, &ops, seen);
    calls_event(c, 1, CHAIN_EVENT, EVENT_CONTROL, 11);
    calls_event(c, 1, 1, EVENT_ENTRY, 0x8000);
    calls_event(c, 2, 2, EVENT_ENTRY, 0x7000); /* this entry has no chain */
    calls_event(c, 3, CHAIN_EVENT, EVENT_CONTROL, 12);
    calls_event(c, 4, 2, EVENT_RETURN, 0x7000);
    calls_event(c, 5, 3, EVENT_ENTRY, 0x7000); /* another event was between */
    calls_event(c, 6, CHAIN_EVENT, EVENT_CONTROL, 13);
    calls_gap(c, 6);
    calls_event(c, 7, 4, EVENT_ENTRY, 0x6000); /* an event between is missing now */
    assert_int_equal(seen[1], 11);
    assert_int_equal(seen[2], CHAIN_NONE);
    assert_int_equal(seen[3], CHAIN_NONE);
    assert_int_equal(seen[4], CHAIN_NONE);
    assert_int_equal(calls_strays(c), 0);
    calls_finish(c, 9, true);
    calls_free(c);
}

/* Prefixes of a record, and senseless numbers: the reader invents no chain. */
static void damaged_chains_left_out(void **state) {
    (void)state;
    static const struct trace_chain wrong[] = {
        {CHAIN_NONE, 0}, {CHAIN_FIRST, 0}, {CHAIN_FIRST + 5, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct block *b =
            record_chains(&(struct trace_chains){0, 1, places, CHAIN_FIRST, 1, &wrong[i]});
        bytes_reserve(&b->parts[0], 64);
        struct fields f = {b->parts[0].at, b->parts[0].at + b->parts[0].count, false};
        struct trace_place place;
        struct trace_chain chain;
        assert_int_equal(fields_bounded(&f, UINT32_MAX), 0);
        assert_int_equal(fields_bounded(&f, UINT32_MAX), 1);
        assert_true(fields_place(&f, &place));
        assert_int_equal(fields_bounded(&f, UINT32_MAX), CHAIN_FIRST);
        assert_int_equal(fields_bounded(&f, UINT32_MAX), 1);
        assert_false(fields_chain(&f, CHAIN_FIRST, &chain));
        block_free(b);
    }
}

/* A chain's next caller, or its function, may be in a lost block. */
static void missing_chains_are_lost(void **state) {
    struct trace_writer *w = must_open_writer(*state);
    const struct trace_chain late[] = {{CHAIN_FIRST, 4}, {CHAIN_FIRST + 2, 5}};
    trace_writer_chains(w, &(struct trace_chains){5, 1, places, CHAIN_FIRST + 2, 2, late});
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    struct trace_chain chain;
    assert_false(trace_reader_chain(r, CHAIN_FIRST, &chain));
    assert_true(trace_reader_chain(r, CHAIN_FIRST + 2, &chain));
    assert_string_equal(trace_reader_place(r, chain.place)->function, "");
    expect_chain(r, CHAIN_FIRST + 3, CHAIN_FIRST + 2, &places[0]);
    trace_reader_free(r);
}

/* A chain that claims more and more damaged blocks before it than can have been there. */
static void missing_chains_bounded_by_the_file_size(void **state) {
    enum { BLOCKS = 200, STEP = 1000 };
    struct trace_writer *w = must_open_writer(*state);
    for (uint32_t n = 1; n <= BLOCKS; n++) {
        const struct trace_chain chain = {CHAIN_WHOLE, n * STEP};
        trace_writer_chains(
            w, &(struct trace_chains){n * STEP, 1, places, CHAIN_FIRST + n * STEP, 1, &chain});
    }
    must_finish(w);
    size_t size;
    AUTO_FREE uint8_t *bytes = must_load(*state, &size);
    assert_true(size > STEP && size < BLOCKS * STEP / 2);
    struct trace_reader *r = must_open_reader(*state);
    assert_non_null(trace_reader_warning(r));
    assert_in_range(trace_reader_place_count(r) + trace_reader_chain_count(r), STEP,
                    size + 2 * BLOCKS);
    trace_reader_free(r);
}

/* The trace's end counts the chains for which a ring had no room. */
static void missed_chains_counted(void **state) {
    const struct trace_event events[] = {
        event(1, CHAIN_EVENT, EVENT_CONTROL, CHAIN_MISSED), event(1, 5, EVENT_ENTRY, SP),
        event(2, CHAIN_EVENT, EVENT_CONTROL, CHAIN_LOST),   event(2, 6, EVENT_ENTRY, CHAIN_MISSED),
        event(3, CHAIN_EVENT, EVENT_CONTROL, CHAIN_MISSED), event(3, 7, EVENT_ENTRY, SP - 128)};
    struct trace_writer *w = must_open_writer(*state);
    trace_writer_thread(w, &(struct trace_thread){.stream = 0, .name = "t"});
    trace_writer_thread(w, &(struct trace_thread){.stream = 1, .name = "u"});
    trace_writer_events(w, 0, events, sizeof events / sizeof *events);
    trace_writer_events(w, 1, events, 2);
    must_finish(w);
    struct trace_reader *r = must_open_reader(*state);
    assert_int_equal(trace_reader_end(r)->missed, 3);
    trace_reader_free(r);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("trace chains", tests, NULL, NULL);
}
