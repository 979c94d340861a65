/* Stack slices, assembled from the slots of a ring, and the caller chains made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "recorded.h"
#include "ring/chains.h"
#include "ring/slices.h"

#define TESTS                                                                                      \
    TEST(slice_contents)                                                                           \
    TEST(other_events_skipped)                                                                     \
    TEST(restarted_slice_forgets_earlier_words)                                                    \
    TEST(slice_without_its_start)                                                                  \
    TEST(invalid_slice_end)                                                                        \
    TEST(slices_fit_half_a_ring)                                                                   \
    TEST(slot_count_before_a_slice)                                                                \
    TEST(words_of_values_are_no_events)                                                            \
    TEST(equal_chains_share_a_number)

enum { SP = 0x7000, END = SP + 64, FUNCTION = 5 };

static bool take(struct stack_slice *s, uint32_t id, uint64_t value) {
    return slice_take(s, &(struct trace_event){1, id << 2 | EVENT_CONTROL, value});
}

static void put_whole(struct stack_slice *s) {
    assert_true(take(s, SLICE_BEGIN, 0));
    assert_true(take(s, SLICE_END, END));
    assert_true(take(s, SLICE_REGISTER + 1, 0x8888));
    assert_true(take(s, SLICE_WORD, 0x401000));
    assert_true(take(s, SLICE_WORD + 3, 0x402000));
}

static void slice_contents(void **state) {
    (void)state;
    struct stack_slice s = {0};
    assert_int_equal(slice_bytes(&s, SP), 0);
    put_whole(&s);
    assert_int_equal(slice_bytes(&s, SP), 64);
    assert_int_equal(s.registers[1], 0x8888);
    for (int i = 0; i < 8; i++)
        assert_int_equal(s.words[i], i == 0 ? 0x401000 : i == 3 ? 0x402000 : 0);
    slice_done(&s);
}

static void other_events_skipped(void **state) {
    (void)state;
    static const uint32_t ids[] = {0, FUNCTION, SLICE_WORD - 1, CHAIN_EVENT, STACK_MOVES};
    struct stack_slice s = {0};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_false(take(&s, ids[i], 1));
    slice_done(&s);
}

static void restarted_slice_forgets_earlier_words(void **state) {
    (void)state;
    struct stack_slice s = {0};
    put_whole(&s);
    take(&s, SLICE_BEGIN, 0);
    assert_int_equal(slice_bytes(&s, SP), 0); /* the slice had no room for more */
    take(&s, SLICE_END, END);
    take(&s, SLICE_WORD, 0x403000);
    assert_int_equal(slice_bytes(&s, SP), 64);
    assert_int_equal(s.words[0], 0x403000);
    assert_int_equal(s.words[3], 0);
    slice_done(&s);
}

static void slice_without_its_start(void **state) {
    (void)state;
    struct stack_slice s = {0};
    assert_true(take(&s, SLICE_END, END));
    assert_true(take(&s, SLICE_WORD, 0x401000));
    assert_int_equal(slice_bytes(&s, SP), 0);
    slice_done(&s);
}

/* Rings belong to the target, which may have written anything there. */
static void invalid_slice_end(void **state) {
    (void)state;
    static const uint64_t ends[] = {SP, SP + REGS_WORD_BYTES - 1, SP - 1, 0, (uint64_t)1 << 47};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct stack_slice s = {0};
        take(&s, SLICE_BEGIN, 0);
        take(&s, SLICE_END, ends[i]);
        take(&s, SLICE_WORD + SLICE_WORDS_MOST - 1, 1);
        assert_int_equal(slice_bytes(&s, SP), 0);
        slice_done(&s);
    }
}

static void slices_fit_half_a_ring(void **state) {
    (void)state;
    assert_int_equal(slice_bytes_for(1, 2 << 20), REGS_WORD_BYTES);
    assert_int_equal(slice_bytes_for(2, 2 << 20), 1024);
    assert_int_equal(slice_bytes_for(32, 2 << 20), 8192);
    for (uint32_t callers = 1; callers <= 1000; callers++) {
        for (uint32_t ring = 4096; ring <= 1u << 30; ring *= 2) {
            uint32_t bytes = slice_bytes_for(callers, ring);
            uint32_t words = bytes / REGS_WORD_BYTES;
            assert_true(words && bytes % REGS_WORD_BYTES == 0 && words < SLICE_WORDS_MOST);
            assert_true((SLICE_HEAD_SLOTS + words) * EVENT_BYTES <= ring / 2);
        }
    }
}

static struct event slot(uint32_t id, uint64_t value) {
    return event_make(1, id << 2 | EVENT_CONTROL, value);
}

static void slot_count_before_a_slice(void **state) {
    (void)state;
    const struct event cut[] = {slot(SLICE_WORD + 2, 1), slot(SLICE_WORD + 3, 1),
                                event_make(1, FUNCTION << 2 | EVENT_ENTRY, 1),
                                slot(SLICE_BEGIN, 40), slot(SLICE_END, 1)};
    assert_int_equal(slice_slots_before(cut, 5, 1000), 38);
    assert_int_equal(slice_slots_before(cut, 3, 40), 38); /* no slice begins there */
    assert_int_equal(slice_slots_before(cut, 0, 40), 40);
    assert_int_equal(slice_slots_before(cut, 3, 1), 0); /* not written by spoor's agent */
}

static void equal_chains_share_a_number(void **state) {
    (void)state;
    enum { MANY = 5000 };
    char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct chains *c = chains_new(w);
    uint32_t numbers[MANY];
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0, callers = CHAIN_WHOLE; i < MANY; i++) {
            AUTO_FREE char *name = mem_printf("function%u", i / 2);
            uint32_t place = chains_place(c, &(struct trace_place){name, "m", i / 2});
            assert_int_equal(place, i / 2);
            callers = chains_add(c, i % 7 ? callers : CHAIN_WHOLE, place);
            assert_true(round ? callers == numbers[i] : callers <= CHAIN_FIRST + i);
            numbers[i] = callers;
            if (i % 100 == 0)
                chains_write_new(c);
        }
    }
    chains_write_new(c);
    chains_write_new(c); /* there is nothing new */
    chains_free(c);
    must_finish(w);
    struct trace_reader *r = must_open_reader(path);
    struct trace_chain chain;
    assert_null(trace_reader_warning(r));
    assert_int_equal(trace_reader_place_count(r), MANY / 2);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_true(trace_reader_chain(r, numbers[i], &chain));
        assert_int_equal(chain.place, i / 2);
        assert_int_equal(chain.callers, i % 7 ? numbers[i - 1] : CHAIN_WHOLE);
    }
    trace_reader_free(r);
    scratch_free(path);
}

/* A ring that was overwritten may begin with them, whatever they are. */
static void words_of_values_are_no_events(void **state) {
    (void)state;
    if (!CAPTURE_WHOLE)
        return;
    const uint64_t looks_like[] = {FUNCTION << 2 | EVENT_ENTRY,
                                   (uint32_t)SLICE_BEGIN << 2 | EVENT_CONTROL, UINT64_MAX};
    struct event slots[4];
    for (uint32_t i = 0; i < 3; i++) {
        slots[i] = event_of_word(1, CAPTURE_MOST_WORDS - 1 - i, looks_like[i]);
        assert_true(is_capture_slot(&slots[i]) && is_part_slot(&slots[i]));
        assert_int_equal(event_word(&slots[i]), looks_like[i]);
        assert_int_equal(event_word_number(&slots[i]), CAPTURE_MOST_WORDS - 1 - i);
    }
    slots[3] = event_make(1, FUNCTION << 2 | EVENT_ENTRY, 0x7fffffffe000);
    assert_false(is_part_slot(&slots[3]));
    assert_int_equal(slice_slots_before(slots, 4, 40), 37);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring slices", tests, NULL, NULL);
}
