/* When triggers fire, seen by who reads along in a ring that nobody stops. */
#include "ring/watch.h"

#include <string.h>

#include "../trace/support.h"
#include "arch/clock.h"
#include "ring/rings.h"

enum { RING = 4096, ROOM = RING / EVENT_BYTES };
enum { OTHER = 1, ENTERED, LONG, BOTH, COUNT };
enum { LIMIT = 1000 }; /* ticks; for LONG and BOTH */
#define STACK_LOW UINT64_C(0x7ffc00000000)
#define TOP (STACK_LOW + 0x10000)
#define FIBER UINT64_C(0x550000010000)

static _Alignas(4096) uint8_t memory[LANE_RING + RING];

struct scene {
    struct slot slot;
    struct watch *watch;
    struct watched seen;
    uint64_t now; /* ticks */
    uint32_t rules[COUNT];
    struct trigger_rule list[3];
    struct trigger_table table;
};

static struct scene *begin(void) {
    struct scene *s = mem_alloc(sizeof *s);
    memset(memory, 0, sizeof memory);
    s->now = clock_ticks() - UINT64_C(1000000000);
    s->slot = (struct slot){.lane = (void *)memory,
                            .ring_bytes = RING,
                            .last_clock = s->now,
                            .thread = {.stack_low = STACK_LOW, .stack_high = STACK_LOW + 0x100000}};
    s->list[0] = (struct trigger_rule){.at_entry = "entry"};
    s->list[1] = (struct trigger_rule){.at_exit = "long", .longer_ticks = LIMIT};
    s->list[2] =
        (struct trigger_rule){.at_entry = "entry", .at_exit = "long", .longer_ticks = LIMIT};
    for (uint32_t i = ENTERED; i <= BOTH; i++)
        s->rules[i] = i - ENTERED + 1;
    s->table = (struct trigger_table){COUNT, s->rules, s->list};
    s->watch = watch_new(&s->slot);
    return s;
}

static void end(struct scene *s) {
    watch_free(s->watch);
    free(s);
}

/* AFTER ticks later. */
static void event(struct scene *s, unsigned after, uint32_t id, enum event_kind kind, uint64_t sp) {
    s->now += after;
    ring_of(&s->slot)[(s->slot.lane->head & (RING - 1)) / EVENT_BYTES] =
        event_make(s->now, id << 2 | kind, sp);
    s->slot.lane->head += EVENT_BYTES;
}

static void expect(struct scene *s, unsigned hits, const char *why) {
    watch_look(s->watch, &s->slot, &s->table, &s->seen);
    assert_int_equal(s->seen.hits, hits);
    if (hits)
        assert_string_equal(s->seen.why, why);
    assert_int_equal(s->seen.skipped, 0);
}

static void entries_fire_at_once(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, OTHER, EVENT_ENTRY, TOP);
    expect(s, 0, NULL);
    event(s, 1, ENTERED, EVENT_ENTRY, TOP - 64);
    expect(s, 1, "entry");
    expect(s, 0, NULL);
    event(s, 1, ENTERED, EVENT_RETURN, TOP - 64);
    event(s, 1, ENTERED, EVENT_ENTRY, TOP - 64);
    event(s, 1, BOTH, EVENT_ENTRY, TOP - 128);
    expect(s, 2, "entry");
    end(s);
}

static void only_calls_that_took_longer_fire(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    event(s, LIMIT, LONG, EVENT_RETURN, TOP);
    expect(s, 0, NULL);
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    event(s, 5 * LIMIT, OTHER, EVENT_ENTRY, TOP - 64);
    expect(s, 0, NULL);
    event(s, 1, OTHER, EVENT_RETURN, TOP - 64);
    event(s, 1, LONG, EVENT_TAIL, TOP);
    expect(s, 1, "long");
    event(s, 1, OTHER, EVENT_ENTRY, TOP);
    event(s, 5 * LIMIT, OTHER, EVENT_RETURN, TOP);
    expect(s, 0, NULL);
    end(s);
}

static void each_call_of_a_recursion_counts_for_itself(void **state) {
    (void)state;
    struct scene *s = begin();
    for (uint64_t i = 0; i < 4; i++)
        event(s, LIMIT / 2, LONG, EVENT_ENTRY, TOP - 64 * i);
    event(s, LIMIT / 4, LONG, EVENT_RETURN, TOP - 64 * 3);
    event(s, LIMIT / 8, LONG, EVENT_RETURN, TOP - 64 * 2);
    expect(s, 0, NULL);
    event(s, LIMIT / 4, LONG, EVENT_RETURN, TOP - 64);
    event(s, 1, LONG, EVENT_RETURN, TOP);
    expect(s, 2, "long");
    end(s);
}

static void what_is_unwound_has_ended(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, OTHER, EVENT_ENTRY, TOP);
    event(s, 1, LONG, EVENT_ENTRY, TOP - 64);
    event(s, 2 * LIMIT, OTHER, EVENT_CONTROL, TOP - 32); /* a landing pad of OTHER */
    expect(s, 1, "long");
    event(s, 1, LONG, EVENT_ENTRY, TOP - 64);
    event(s, 2 * LIMIT, OTHER, EVENT_ENTRY, TOP - 64); /* an exit that is not seen */
    expect(s, 1, "long");
    event(s, 1, LONG, EVENT_ENTRY, TOP - 128);
    event(s, 2 * LIMIT, OTHER, EVENT_RETURN, TOP); /* what OTHER calls went by longjmp */
    expect(s, 1, "long");
    end(s);
}

static void another_function_s_return_may_end_it(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    event(s, 2 * LIMIT, OTHER, EVENT_RETURN, TOP); /* code that both share */
    expect(s, 1, "long");
    end(s);
}

static void other_stacks_leave_it_open(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    event(s, 1, OTHER, EVENT_ENTRY, FIBER);
    event(s, 1, LONG, EVENT_ENTRY, FIBER - 64);
    event(s, 2 * LIMIT, OTHER, EVENT_CONTROL, TOP - 32);
    expect(s, 0, NULL);
    event(s, 1, LONG, EVENT_RETURN, TOP);
    expect(s, 1, "long");
    event(s, 1, OTHER, EVENT_CONTROL, FIBER - 96);
    event(s, 1, LONG, EVENT_RETURN, FIBER - 64);
    expect(s, 1, "long");
    end(s);
}

static void what_was_overwritten_is_counted_and_not_guessed_at(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    expect(s, 0, NULL);
    for (int i = 0; i < 2 * ROOM; i++)
        event(s, LIMIT, OTHER, i % 2 ? EVENT_RETURN : EVENT_ENTRY, TOP - 64);
    event(s, LIMIT, LONG, EVENT_RETURN, TOP); /* perhaps of a later call */
    watch_look(s->watch, &s->slot, &s->table, &s->seen);
    assert_int_equal(s->seen.hits, 0);
    assert_int_equal(s->seen.fill, 100);
    assert_int_equal(s->seen.skipped, 2 * ROOM + 1 - (ROOM - 1));
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    event(s, 2 * LIMIT, LONG, EVENT_RETURN, TOP);
    expect(s, 1, "long");
    end(s);
}

static void an_event_that_is_being_written_is_seen_later(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, OTHER, EVENT_ENTRY, TOP);
    event(s, 1, ENTERED, EVENT_ENTRY, TOP - 64);
    struct event whole = ring_of(&s->slot)[1];
    ring_of(&s->slot)[1].clock_sp = 0;
    expect(s, 0, NULL);
    ring_of(&s->slot)[1] = whole;
    expect(s, 1, "entry");
    end(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_fire_at_once),
        cmocka_unit_test(only_calls_that_took_longer_fire),
        cmocka_unit_test(each_call_of_a_recursion_counts_for_itself),
        cmocka_unit_test(what_is_unwound_has_ended),
        cmocka_unit_test(another_function_s_return_may_end_it),
        cmocka_unit_test(other_stacks_leave_it_open),
        cmocka_unit_test(what_was_overwritten_is_counted_and_not_guessed_at),
        cmocka_unit_test(an_event_that_is_being_written_is_seen_later),
    };
    return cmocka_run_group_tests_name("session watch", tests, NULL, NULL);
}
