/* Triggers fire while their reader follows a ring whose thread keeps running. */
#include "ring/trigger_watch.h"

#include <string.h>

#include "../trace/support.h"
#include "arch/clock.h"
#include "ring/rings.h"

#define TESTS                                                                                      \
    TEST(entry_triggers_at_once)                                                                   \
    TEST(long_calls_only)                                                                          \
    TEST(pauses_do_not_make_calls_long)                                                            \
    TEST(recursive_calls_counted_separately)                                                       \
    TEST(unwound_calls_have_ended)                                                                 \
    TEST(return_of_another_function_ends_a_call)                                                   \
    TEST(other_stacks_do_not_end_a_call)                                                           \
    TEST(overwritten_events_counted)                                                               \
    TEST(unfinished_event_seen_later)

enum { RING = 4096, ROOM = RING / EVENT_BYTES };
enum { OTHER = 1, ENTERED, LONG, BOTH, COUNT };
enum { LIMIT = 1000 }; /* ticks; the limit of LONG and BOTH */
#define STACK_LOW UINT64_C(0x7ffc00000000)
#define TOP (STACK_LOW + 0x10000)
#define FIBER UINT64_C(0x550000010000)

static _Alignas(4096) uint8_t memory[LANE_RING + RING];

struct scene {
    struct lane_handle handle;
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
    s->handle = (struct lane_handle){
        .lane = (void *)memory,
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
    s->watch = watch_new(&s->handle);
    return s;
}

static void end(struct scene *s) {
    watch_free(s->watch);
    free(s);
}

/* An event AFTER ticks later. */
static void event(struct scene *s, unsigned after, uint32_t id, enum event_kind kind, uint64_t sp) {
    s->now += after;
    ring_of(&s->handle)[(s->handle.lane->head & (RING - 1)) / EVENT_BYTES] =
        event_make(s->now, id << 2 | kind, sp);
    s->handle.lane->head += EVENT_BYTES;
}

static void expect(struct scene *s, unsigned hits, const char *why) {
    watch_look(s->watch, &s->handle, &s->table, &s->seen);
    assert_int_equal(s->seen.hits, hits);
    if (hits)
        assert_string_equal(s->seen.why, why);
    assert_int_equal(s->seen.skipped, 0);
}

static void entry_triggers_at_once(void **state) {
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

static void long_calls_only(void **state) {
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

static void stop(struct scene *s, uint64_t from, uint64_t to, uint32_t id) {
    pauses_add(&s->handle.pauses, &(struct pause){s->now + from, s->now + to, id});
}

static void pauses_do_not_make_calls_long(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    stop(s, 10, 10 + 4 * LIMIT, PAUSE_EVENT + PAUSE_DLOPEN);
    event(s, 5 * LIMIT, LONG, EVENT_RETURN, TOP);
    expect(s, 0, NULL);
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    stop(s, 10, 10 + 4 * LIMIT, PAUSE_EVENT + PAUSE_FILTER);
    event(s, 5 * LIMIT + 1, LONG, EVENT_RETURN, TOP);
    expect(s, 1, "long");
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    stop(s, 10, 10 + 4 * LIMIT, PAUSE_EVENT + PAUSE_FILTER + PAUSE_IN_CALL);
    event(s, 5 * LIMIT, LONG, EVENT_RETURN, TOP);
    expect(s, 1, "long");
    pauses_done(&s->handle.pauses);
    end(s);
}

static void recursive_calls_counted_separately(void **state) {
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

static void unwound_calls_have_ended(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, OTHER, EVENT_ENTRY, TOP);
    event(s, 1, LONG, EVENT_ENTRY, TOP - 64);
    event(s, 2 * LIMIT, OTHER, EVENT_CONTROL, TOP - 32); /* a landing pad of OTHER */
    expect(s, 1, "long");
    event(s, 1, LONG, EVENT_ENTRY, TOP - 64);
    event(s, 2 * LIMIT, OTHER, EVENT_ENTRY, TOP - 64); /* an unobserved exit */
    expect(s, 1, "long");
    event(s, 1, LONG, EVENT_ENTRY, TOP - 128);
    event(s, 2 * LIMIT, OTHER, EVENT_RETURN, TOP); /* longjmp has left OTHER's callees */
    expect(s, 1, "long");
    end(s);
}

static void return_of_another_function_ends_a_call(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    event(s, 2 * LIMIT, OTHER, EVENT_RETURN, TOP); /* code shared by both functions */
    expect(s, 1, "long");
    end(s);
}

static void other_stacks_do_not_end_a_call(void **state) {
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

static void overwritten_events_counted(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    expect(s, 0, NULL);
    for (int i = 0; i < 2 * ROOM; i++)
        event(s, LIMIT, OTHER, i % 2 ? EVENT_RETURN : EVENT_ENTRY, TOP - 64);
    event(s, LIMIT, LONG, EVENT_RETURN, TOP); /* perhaps it belongs to a later call */
    watch_look(s->watch, &s->handle, &s->table, &s->seen);
    assert_int_equal(s->seen.hits, 0);
    assert_int_equal(s->seen.fill, 100);
    assert_int_equal(s->seen.skipped, 2 * ROOM + 1 - (ROOM - 1));
    event(s, 1, LONG, EVENT_ENTRY, TOP);
    event(s, 2 * LIMIT, LONG, EVENT_RETURN, TOP);
    expect(s, 1, "long");
    end(s);
}

static void unfinished_event_seen_later(void **state) {
    (void)state;
    struct scene *s = begin();
    event(s, 1, OTHER, EVENT_ENTRY, TOP);
    event(s, 1, ENTERED, EVENT_ENTRY, TOP - 64);
    struct event whole = ring_of(&s->handle)[1];
    ring_of(&s->handle)[1].clock_sp = 0;
    expect(s, 0, NULL);
    ring_of(&s->handle)[1] = whole;
    expect(s, 1, "entry");
    end(s);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring watch", tests, NULL, NULL);
}
