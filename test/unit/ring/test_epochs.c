/* Dates of events in a ring that is only read at the end. */
#include "ring/epochs.h"

#include "../trace/support.h"

#define TESTS                                                                                      \
    TEST(dates_of_a_busy_thread)                                                                   \
    TEST(dates_of_an_idle_thread)                                                                  \
    TEST(no_notes_of_an_idle_thread)

#define HOUR ((uint64_t)3000000000 * 3600)

/* Reads the clock as the drainer does, every HOUR, while a thread writes an event now and then. */
struct timeline {
    struct epochs epochs;
    struct event ring[4096];
    uint64_t written[4096], head, now;
};

static void write_event(struct timeline *l) {
    l->written[l->head / EVENT_BYTES] = l->now;
    l->ring[l->head / EVENT_BYTES] = event_make(l->now, 4, 0x7ffc00001000);
    l->head += EVENT_BYTES;
}

static void pass(struct timeline *l, uint64_t ticks) {
    l->now += ticks;
    epochs_note(&l->epochs, l->head, l->now);
}

static void check(const struct timeline *l) {
    for (uint64_t tail = 0; tail < l->head; tail += EVENT_BYTES) {
        struct epoch e = epochs_of(&l->epochs, tail);
        assert_true(e.head > tail);
        assert_int_equal(event_ticks(&l->ring[tail / EVENT_BYTES], e.ticks),
                         l->written[tail / EVENT_BYTES]);
    }
}

static struct timeline *begin(uint64_t now) {
    struct timeline *l = mem_alloc(sizeof *l);
    l->now = now;
    epochs_begin(&l->epochs, now);
    return l;
}

static void end(struct timeline *l) {
    check(l);
    ARRAY_FREE(&l->epochs.notes);
    free(l);
}

static void dates_of_a_busy_thread(void **state) {
    (void)state;
    struct timeline *l = begin(77 * HOUR);
    for (int i = 0; i < 1000; i++) {
        write_event(l);
        pass(l, HOUR);
    }
    assert_in_range(l->epochs.notes.count, 100, 200);
    end(l);
}

static void dates_of_an_idle_thread(void **state) {
    (void)state;
    struct timeline *l = begin(5);
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < i % 8; k++) {
            write_event(l);
            pass(l, HOUR);
        }
        for (int k = 0; k < i * 5; k++)
            pass(l, HOUR);
    }
    end(l);
}

static void no_notes_of_an_idle_thread(void **state) {
    (void)state;
    struct timeline *l = begin(5);
    write_event(l);
    for (int i = 0; i < 1000; i++)
        pass(l, HOUR);
    assert_int_equal(l->epochs.notes.count, 0);
    end(l);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring epochs", tests, NULL, NULL);
}
