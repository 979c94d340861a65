/* Calls for which a condition does not hold are left out: entries, exits, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ring/conditions.h"

enum { F = 5, G = 6, STACK_LOW = 0x1000, STACK_HIGH = 0x9000 };

struct fixture {
    struct types *types;
    struct captures *captures;
    struct condition *condition;
    uint32_t at_entry, at_return;
    struct call_judge *judge;
    uint64_t ticks;
    char written[4096];
};

static struct fixture set_up(const char *condition) {
    struct fixture f = {.types = types_new(), .captures = captures_new()};
    struct err err;
    const type_id number = types_add(
        f.types,
        &(struct type){.kind = TYPE_INTEGER, .name = "int", .bytes = 4, .flags = TYPE_SIGNED});
    struct capture_value n = {
        .from = FROM_REGISTER, .bytes = 4, .name = "n", .type = number, .length_of = -1};
    captures_set_types(f.captures, f.types);
    assert_int_equal(condition_parse(condition, &f.condition, &err), 0);
    f.at_entry =
        captures_add(f.captures, F,
                     &(struct capture){.kind = EVENT_ENTRY, .values = &n, .count = 1}, f.condition);
    n.name = "ret";
    f.at_return = captures_add(f.captures, F,
                               &(struct capture){.kind = EVENT_RETURN, .values = &n, .count = 1},
                               f.condition);
    f.judge =
        call_judge_new(&(struct trace_thread){.stack_low = STACK_LOW, .stack_high = STACK_HIGH});
    f.ticks = 100;
    return f;
}

static void drain(struct fixture *f) {
    static const char *const kinds[] = {
        [EVENT_ENTRY] = "(", [EVENT_RETURN] = ")", [EVENT_TAIL] = "t"};
    struct trace_event e;
    while (call_judge_next(f->judge, &e)) {
        const size_t length = strlen(f->written);
        snprintf(f->written + length, sizeof f->written - length, "%c%s%s",
                 e.site >> 2 == F ? 'f' : 'g', kinds[e.site & 3], "");
    }
}

static void tear_down(struct fixture *f, const char *expected) {
    call_judge_release(f->judge);
    drain(f);
    assert_string_equal(f->written, expected);
    call_judge_free(f->judge);
    captures_free(f->captures);
    condition_free(f->condition);
    types_free(f->types);
}

/* An event of ID at SP; VALUE is what its capture has recorded. */
static void event(struct fixture *f, uint32_t id, enum event_kind kind, uint64_t sp, int value) {
    const uint64_t word = (uint32_t)value, there = 1;
    const uint32_t number = kind == EVENT_ENTRY ? f->at_entry : f->at_return;
    const struct trace_event e = {f->ticks += 10, id << 2 | kind, sp};
    const struct event_values v = {e.ticks, number, captures_get(f->captures, number), &word,
                                   &there};
    call_judge_take(f->judge, &e, id == F && kind != EVENT_TAIL ? &v : NULL);
    drain(f);
}

#define ENTER(id, sp, value) event(&f, id, EVENT_ENTRY, sp, value)
#define LEAVE(id, sp, value) event(&f, id, EVENT_RETURN, sp, value)

static void arguments_decide_at_once(void **state) {
    struct fixture f = set_up("n > 3");
    (void)state;
    ENTER(G, 0x8000, 0);
    ENTER(F, 0x7000, 1);
    ENTER(G, 0x6000, 0);
    ENTER(F, 0x5000, 7);
    assert_string_equal(f.written, "g(g(f(");
    ENTER(F, 0x4000, -1);
    LEAVE(F, 0x4000, 0);
    LEAVE(F, 0x5000, 0);
    LEAVE(G, 0x6000, 0);
    LEAVE(F, 0x7000, 0);
    LEAVE(G, 0x8000, 0);
    tear_down(&f, "g(g(f(f)g)g)");
}

static void results_decide_at_the_end(void **state) {
    struct fixture f = set_up("n > 3 && ret < 0");
    (void)state;
    ENTER(F, 0x7000, 7);
    ENTER(G, 0x6000, 0);
    LEAVE(G, 0x6000, 0);
    assert_string_equal(f.written, "");
    LEAVE(F, 0x7000, -1);
    assert_string_equal(f.written, "f(g(g)f)");
    ENTER(F, 0x7000, 7);
    ENTER(G, 0x6000, 0);
    LEAVE(G, 0x6000, 0);
    LEAVE(F, 0x7000, 1);
    ENTER(F, 0x7000, 2);
    LEAVE(F, 0x7000, -1);
    tear_down(&f, "f(g(g)f)g(g)");
}

static void recursive_calls_are_judged_alone(void **state) {
    struct fixture f = set_up("ret == n");
    (void)state;
    ENTER(F, 0x7000, 1);
    ENTER(F, 0x6000, 2);
    ENTER(F, 0x5000, 3);
    LEAVE(F, 0x5000, 0);
    LEAVE(F, 0x6000, 2);
    LEAVE(F, 0x7000, 0);
    tear_down(&f, "f(f)");
}

/* A tail call has no result; a call that longjmp() has ended has none, either. */
static void ends_without_results(void **state) {
    struct fixture f = set_up("ret == 0");
    (void)state;
    ENTER(F, 0x7000, 1);
    event(&f, F, EVENT_TAIL, 0x7000, 0);
    ENTER(F, 0x5000, 1);
    ENTER(G, 0x6000, 0);
    assert_string_equal(f.written, "g(");
    LEAVE(G, 0x6000, 0);
    tear_down(&f, "g(g)");
}

/* The exit of a call that was left out, and the same call again at that place. */
static void places_are_used_again(void **state) {
    struct fixture f = set_up("n > 3");
    (void)state;
    ENTER(F, 0x7000, 1); /* ends by longjmp() */
    ENTER(F, 0x7000, 9);
    LEAVE(F, 0x7000, 0);
    ENTER(F, 0x6000, 1); /* likewise */
    ENTER(G, 0x7000, 0);
    ENTER(F, 0x6000, 9);
    LEAVE(F, 0x6000, 0);
    tear_down(&f, "f(f)g(f(f)");
}

/* Events without values, and what waits when events are lost. */
static void what_is_not_known_is_written(void **state) {
    struct fixture f = set_up("ret < 0");
    (void)state;
    ENTER(F, 0x7000, 1);
    call_judge_release(f.judge); /* as before a gap */
    drain(&f);
    assert_string_equal(f.written, "f(");
    LEAVE(F, 0x7000, 5);
    call_judge_take(f.judge, &(struct trace_event){f.ticks += 10, F << 2 | EVENT_ENTRY, 0x6000},
                    NULL);
    LEAVE(F, 0x6000, 5);
    tear_down(&f, "f(f)f(f)");
}

static void waiting_is_bounded(void **state) {
    struct fixture f = set_up("ret < 0");
    struct trace_event e;
    (void)state;
    ENTER(F, 0x7000, 1);
    for (int i = 0; i < 600000; i++) {
        call_judge_take(f.judge, &(struct trace_event){f.ticks += 10, G << 2 | EVENT_ENTRY, 0x6000},
                        NULL);
        call_judge_take(f.judge,
                        &(struct trace_event){f.ticks += 10, G << 2 | EVENT_RETURN, 0x6000}, NULL);
    }
    assert_true(call_judge_next(f.judge, &e));
    assert_int_equal(e.site, F << 2 | EVENT_ENTRY);
    size_t count = 0;
    while (call_judge_next(f.judge, &e))
        count++;
    assert_int_equal(count, 1200000);
    LEAVE(F, 0x7000, 5);
    tear_down(&f, "f)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_decide_at_once),
        cmocka_unit_test(results_decide_at_the_end),
        cmocka_unit_test(recursive_calls_are_judged_alone),
        cmocka_unit_test(ends_without_results),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(what_is_not_known_is_written),
        cmocka_unit_test(waiting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
