/* Reading a ring while its thread may be anywhere in a stub. */
#include "ring/rings.h"
#include "ring/snapshot.h"

#include <string.h>

#include "../trace/support.h"

#define TESTS                                                                                      \
    TEST(new_slot_read_after_writing)                                                              \
    TEST(unwritten_slot_blocks_nothing)                                                            \
    TEST(slot_of_the_last_lap_not_read)                                                            \
    TEST(slot_behind_the_head_not_trusted)                                                         \
    TEST(ring_copy_order_and_bounds)                                                               \
    TEST(open_calls_in_an_image)

enum { RING = 4096, ROOM = RING / EVENT_BYTES };
#define LATE ((uint64_t)3 << 46) /* a clock in the upper half of its 48 bits */

static _Alignas(4096) uint8_t memory[LANE_RING + RING];

static struct lane_handle new_ring(void) {
    memset(memory, 0, sizeof memory);
    return (struct lane_handle){.lane = (void *)memory, .ring_bytes = RING};
}

static void reserve(struct lane_handle *s) { s->lane->head += EVENT_BYTES; }

/* Writes an event as a stub does. */
static void write_event(struct lane_handle *s, uint64_t ticks) {
    uint64_t at = s->lane->head & (RING - 1);
    reserve(s);
    ring_of(s)[at / EVENT_BYTES] = event_make(ticks, (uint32_t)ticks << 2, ticks);
}

static void new_slot_read_after_writing(void **state) {
    (void)state;
    static const uint64_t begins[] = {1000000, LATE};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        struct lane_handle s = new_ring();
        reserve(&s);
        assert_int_equal(ring_head(&s, 0, begins[i]), 0);
        s = new_ring();
        write_event(&s, begins[i] + 5);
        reserve(&s);
        assert_int_equal(ring_head(&s, 0, begins[i]), EVENT_BYTES);
    }
}

/* A handler jumped away between the two stores of a stub, or the program has overwritten the head.
 */
static void unwritten_slot_blocks_nothing(void **state) {
    (void)state;
    static const uint64_t clocks[] = {1000000, LATE};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        struct lane_handle s = new_ring();
        reserve(&s);
        write_event(&s, clocks[i]);
        assert_int_equal(ring_head(&s, 0, clocks[i] - 5), 2 * EVENT_BYTES);
    }
}

static void slot_of_the_last_lap_not_read(void **state) {
    (void)state;
    struct lane_handle s = new_ring();
    for (uint64_t i = 0; i < 3 * ROOM + 7; i++)
        write_event(&s, LATE + i * 100000);
    uint64_t head = s.lane->head;
    assert_int_equal(ring_head(&s, 0, LATE), head);
    reserve(&s);
    assert_int_equal(ring_head(&s, 0, LATE), head);
}

static void slot_behind_the_head_not_trusted(void **state) {
    (void)state;
    struct lane_handle s = new_ring();
    struct event copy[ROOM];
    for (uint64_t i = 0; i < ROOM - 1; i++)
        write_event(&s, 1 + i);
    assert_int_equal(ring_copy(&s, 0, s.lane->head, copy), 0);
    write_event(&s, ROOM);
    assert_int_equal(ring_copy(&s, 0, s.lane->head, copy), EVENT_BYTES);
    assert_int_equal(ring_oldest(&s, s.lane->head), EVENT_BYTES);
}

static void ring_copy_order_and_bounds(void **state) {
    (void)state;
    struct lane_handle s = new_ring();
    struct event copy[ROOM];
    for (uint64_t i = 0; i < ROOM + 100; i++)
        write_event(&s, 1 + i);
    uint64_t from = ring_oldest(&s, s.lane->head), head = s.lane->head;
    assert_int_equal(ring_copy(&s, from, head, copy), from);
    for (uint64_t i = from; i < head; i += EVENT_BYTES)
        assert_int_equal(copy[(i - from) / EVENT_BYTES].clock_sp >> 16, 1 + i / EVENT_BYTES);
    for (uint64_t i = 0; i < 10; i++)
        write_event(&s, 1000 + i); /* while the ring is copied */
    assert_int_equal(ring_copy(&s, from, head, copy), from + 10 * EVENT_BYTES);
    for (uint64_t i = 0; i < ROOM; i++)
        write_event(&s, 2000 + i);
    assert_int_equal(ring_copy(&s, from, head, copy), head);
}

static void open_calls_in_an_image(void **state) {
    (void)state;
    struct lane_handle s = new_ring();
    struct trace_frame list[] = {{7, 4096}};
    s.opened = (struct trace_frames){.ticks = 1, .count = 1, .frames = list};
    write_event(&s, 5);
    struct ring_image whole = ring_image_take(&s, RING);
    assert_int_equal(whole.count, 1);
    assert_int_equal(whole.opened.count, 1);
    assert_int_equal(whole.opened.frames[0].id, 7);
    ring_image_done(&whole);
    for (uint64_t i = 0; i < ROOM; i++)
        write_event(&s, 6 + i);
    struct ring_image later = ring_image_take(&s, RING);
    assert_int_equal(later.at, 2 * EVENT_BYTES);
    assert_int_equal(later.count, ROOM - 1);
    assert_int_equal(later.opened.count, 0);
    ring_image_done(&later);
    struct ring_image newest = ring_image_take(&s, 10 * EVENT_BYTES);
    assert_int_equal(newest.count, 10);
    assert_int_equal(newest.at, s.lane->head - 10 * EVENT_BYTES);
    assert_int_equal(newest.first[9].clock_sp >> 16, 5 + ROOM);
    ring_image_done(&newest);
    ARRAY_FREE(&s.epochs.notes);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring rings", tests, NULL, NULL);
}
