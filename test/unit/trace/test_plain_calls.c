/*
 * Random events give the same calls as a model, which knows the rules of calls.h and nothing of
 * their speed: each stack is an array that is searched from its innermost call. Some of the events
 * come to calls_event(), the others first to the functions of plain_calls.h.
 */
#include "trace/plain_calls.h"

#include <string.h>

#include "support.h"

#define TESTS                                                                                      \
    TEST(stack_with_a_range)                                                                       \
    TEST(stack_without_a_range)                                                                    \
    TEST(several_stacks)                                                                           \
    TEST(many_ends_without_an_exit)                                                                \
    TEST(deep_calls)

enum { STACKS = 4, DEPTH = 512, AREA = 1 << 21 };
static const uint64_t HIGHEST = 0x7ffe00000000;

struct model_stack {
    struct call frames[DEPTH];
    uint32_t count, number; /* number: of stacks before it, by appearance */
    bool known;
    uint64_t paused;
};

typedef ARRAY(struct call) closed_calls; /* `user` is the parent's stack pointer */

struct model {
    struct model_stack stacks[STACKS]; /* [0]: the thread's own */
    uint32_t known, current, chain;
    closed_calls closed;
};

struct play {
    uint64_t random, now;
    struct model model;
    struct calls *calls;
    closed_calls closed;
    size_t inlined, opened;
};

static uint64_t draw(struct play *p, uint64_t below) {
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return (p->random >> 16) % below;
}

/* ---- the model ---- */

static void model_close(struct model *m, struct model_stack *s, uint64_t ticks, enum call_end how) {
    struct call *call = &s->frames[--s->count], *parent = s->count ? call - 1 : NULL;
    call->end = ticks;
    call->how = how;
    call->paused = s->paused - call->paused;
    call->user = parent ? parent->sp : 0;
    if (parent)
        parent->child_ticks += call->end - call->start - call->paused;
    ARRAY_PUSH(&m->closed, *call);
}

static void model_unwind(struct model *m, struct model_stack *s, uint64_t ticks, uint64_t below) {
    while (s->count && s->frames[s->count - 1].sp < below)
        model_close(m, s, ticks, CALL_UNWOUND);
}

static void model_event(struct model *m, const struct call *event, enum event_kind kind) {
    struct model_stack *s = &m->stacks[m->current];
    model_unwind(m, s, event->start, event->sp + (kind == EVENT_ENTRY));
    const struct call *top = s->count ? &s->frames[s->count - 1] : NULL;
    if (kind == EVENT_ENTRY) {
        if (!s->known)
            s->number = m->known++;
        s->known = true;
        s->frames[s->count] = *event;
        s->frames[s->count].depth = s->count;
        s->frames[s->count].stack = s->number;
        s->frames[s->count].chain = m->chain;
        s->frames[s->count++].paused = s->paused;
    } else if (kind != EVENT_CONTROL && top && top->sp == event->sp) {
        model_close(m, s, event->start, kind == EVENT_TAIL ? CALL_TAIL : CALL_RETURNED);
    }
    m->chain = CHAIN_NONE;
}

static void model_close_all(struct model *m, uint64_t ticks, enum call_end how) {
    for (uint32_t number = 0; number < m->known; number++)
        for (uint32_t i = 0; i < STACKS; i++)
            while (m->stacks[i].number == number && m->stacks[i].count)
                model_close(m, &m->stacks[i], ticks, how);
    m->chain = CHAIN_NONE;
}

/* ---- the calls under test ---- */

static void on_open(void *ctx, struct call *call, struct call *parent) {
    struct play *p = ctx;
    assert_int_equal(call->depth, parent ? parent->depth + 1 : 0);
    assert_int_equal(call->user, 0);
    call->user = ++p->opened;
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    struct play *p = ctx;
    struct call copy = *call;
    assert_int_not_equal(call->user, 0);
    copy.user = parent ? parent->sp : 0;
    ARRAY_PUSH(&p->closed, copy);
}

static bool take_plain(struct play *p, const struct call *e, enum event_kind kind) {
    struct call *call = NULL;
    if (kind == EVENT_ENTRY)
        call = calls_enter(p->calls, e->start, e->id, e->sp);
    else if (kind != EVENT_CONTROL)
        call = calls_leave(p->calls, e->start, kind, e->sp);
    if (call)
        (kind == EVENT_ENTRY ? on_open : on_close)(p, call, calls_plain_parent(call));
    p->inlined += call != NULL;
    return call != NULL;
}

static void event(struct play *p, enum event_kind kind, uint64_t sp) {
    struct call e = {.id = (uint32_t)draw(p, 50), .sp = sp, .start = p->now};
    if (draw(p, 2) || !take_plain(p, &e, kind))
        calls_event(p->calls, e.start, e.id, kind, e.sp);
    model_event(&p->model, &e, kind);
}

/* ---- random events ---- */

static uint64_t area_top(uint32_t stack) { return HIGHEST - (uint64_t)stack * 16 * AREA; }

/* An entry: deeper, or, with a chance of 1 in STRANGE, where a call is open. */
static void random_entry(struct play *p, const struct model_stack *s, uint64_t strange) {
    uint64_t top = s->count ? s->frames[s->count - 1].sp : area_top(p->model.current);
    uint64_t sp = top - 8 - draw(p, draw(p, 4) ? 16 : 500) * 8;
    if (s->count && !draw(p, strange))
        sp = s->frames[draw(p, s->count)].sp - draw(p, 2) * 8;
    event(p, EVENT_ENTRY, sp);
}

static void random_exit(struct play *p, const struct model_stack *s, uint64_t strange) {
    uint32_t i = draw(p, strange) ? s->count - 1 : (uint32_t)draw(p, s->count);
    uint64_t sp = s->frames[i].sp;
    enum event_kind kind = draw(p, 8) ? EVENT_RETURN : EVENT_TAIL;
    if (i && !draw(p, strange))
        sp += draw(p, 2) * 4; /* of no open call */
    event(p, draw(p, strange) ? kind : EVENT_CONTROL, sp);
}

static void random_pause(struct play *p) {
    uint64_t length = draw(p, 40);
    p->now += length;
    calls_pause(p->calls, p->now, length);
    p->model.stacks[p->model.current].paused += length;
    if (p->model.current)
        p->model.stacks[0].paused += length;
}

static void random_step(struct play *p, uint32_t stacks, uint64_t strange) {
    struct model_stack *s = &p->model.stacks[p->model.current];
    uint64_t kind = draw(p, 1000);
    p->now += draw(p, 20);
    if (!draw(p, 20)) {
        p->model.chain = 1 + (uint32_t)draw(p, 1000);
        calls_event(p->calls, p->now, CHAIN_EVENT, EVENT_CONTROL, p->model.chain);
    }
    if (kind < 490 && s->count < DEPTH)
        random_entry(p, s, strange);
    else if (kind < 970 && s->count)
        random_exit(p, s, strange);
    else if (kind < 980 && s->known) /* it is known to run there */
        random_pause(p);
    else if (kind < 981) {
        calls_gap(p->calls, p->now);
        model_close_all(&p->model, p->now, CALL_CUT);
    } else if (kind > 990) {
        uint32_t next = (uint32_t)draw(p, stacks);
        p->model.current = next;
        random_entry(p, &p->model.stacks[next], strange);
    }
}

static void compare(const closed_calls *got, const closed_calls *want) {
    assert_int_equal(got->count, want->count);
    for (size_t i = 0; i < want->count; i++) {
        const struct call *a = &got->at[i], *b = &want->at[i];
        assert_int_equal(a->sp, b->sp);
        assert_int_equal(a->id, b->id);
        assert_int_equal(a->depth, b->depth);
        assert_int_equal(a->stack, b->stack);
        assert_int_equal(a->chain, b->chain);
        assert_int_equal(a->start, b->start);
        assert_int_equal(a->end, b->end);
        assert_int_equal(a->how, b->how);
        assert_int_equal(a->paused, b->paused);
        assert_int_equal(a->child_ticks, b->child_ticks);
        assert_int_equal(a->user, b->user);
        assert_false(a->before || a->doubtful || a->late || a->thread);
    }
}

/* STRANGE: the chance that an event is not plain is about 1 in so many. */
static void compare_random(bool range, uint32_t stacks, uint64_t strange, uint64_t seed) {
    static const struct calls_ops ops = {.on_open = on_open, .on_close = on_close};
    enum { STEPS = 6000 };
    struct play *p = mem_alloc(sizeof *p);
    struct trace_thread thread = {0};
    if (range)
        thread = (struct trace_thread){.stack_low = HIGHEST - AREA, .stack_high = HIGHEST};
    p->random = seed * 0x9e3779b97f4a7c15 + 1;
    p->model.known = p->model.stacks[0].known = range; /* it has number 0 from the beginning */
    p->calls = calls_new(&thread, &ops, p);
    for (int i = 0; i < STEPS; i++)
        random_step(p, stacks, strange);
    calls_finish(p->calls, p->now, false);
    model_close_all(&p->model, p->now, CALL_OPEN);
    compare(&p->closed, &p->model.closed);
    assert_true(p->inlined > STEPS / 8);
    calls_free(p->calls);
    ARRAY_FREE(&p->closed);
    ARRAY_FREE(&p->model.closed);
    free(p);
}

static void stack_with_a_range(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        compare_random(true, 1, 200, seed);
}

static void stack_without_a_range(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        compare_random(false, 1, 200, seed);
}

static void several_stacks(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        compare_random(true, STACKS, 100, seed);
}

static void many_ends_without_an_exit(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        compare_random(true, STACKS, 6, seed);
}

static void deep_calls(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        compare_random(seed % 2, 1, 1 << 20, seed);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
