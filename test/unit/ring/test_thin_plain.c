/*
 * A thread's events give the same trace whether they come in pieces, as the drainer feeds them, or
 * are held until the end: held events are taken one by one, without the loop for plain events. The
 * events are random: calls on the thread's own stack and on others, ends without an exit, chains,
 * pauses, lost events, stacks that the program reports.
 */
#include "ring/thin.h"

#include <string.h>

#include "recorded.h"

#define TESTS                                                                                      \
    TEST(depth_limit)                                                                              \
    TEST(short_calls)                                                                              \
    TEST(depth_limit_and_short_calls)                                                              \
    TEST(no_limits)                                                                                \
    TEST(shared_stacks)                                                                            \
    TEST(stacks_shared_later)                                                                      \
    TEST(forked_process)                                                                           \
    TEST(unknown_stack)                                                                            \
    TEST(calls_open_before)                                                                        \
    TEST(chains)

enum { STACKS = 4, DEPTH = 256, AREA = 1 << 20, EVENTS_MOST = 20000, SEEDS = 8 };
static const uint64_t HIGHEST = 0x7ffe00000000;

struct variant {
    uint32_t depth;
    uint64_t threshold_ticks;
    bool shared, shared_later, forked, unknown, open_before, chains;
};

struct step { /* an event, or so many lost ones */
    struct trace_event event;
    uint64_t lost;
};

struct generator {
    uint64_t random, now;
    struct {
        uint64_t sp[DEPTH];
        uint32_t id[DEPTH], count;
    } stacks[STACKS];
    uint32_t stack;
    const struct variant *variant;
    ARRAY(struct step) steps;
};

static uint64_t draw(struct generator *g, uint64_t below) {
    g->random ^= g->random << 13;
    g->random ^= g->random >> 7;
    g->random ^= g->random << 17;
    return (g->random >> 16) % below;
}

static void add(struct generator *g, uint32_t id, enum event_kind kind, uint64_t sp) {
    ARRAY_PUSH(&g->steps, ((struct step){.event = {g->now, id << 2 | kind, sp}}));
}

static uint64_t top_of(const struct generator *g) {
    uint32_t count = g->stacks[g->stack].count;
    return count ? g->stacks[g->stack].sp[count - 1]
                 : HIGHEST - (uint64_t)g->stack * 16 * AREA - 256;
}

static void enter(struct generator *g) {
    uint64_t sp = top_of(g) - 8 - 8 * draw(g, 20);
    uint32_t id = (uint32_t)draw(g, 40), *count = &g->stacks[g->stack].count;
    if (!draw(g, 200))
        sp = top_of(g) + 16 * draw(g, 4);
    if (g->variant->chains && draw(g, 4))
        add(g, CHAIN_EVENT, EVENT_CONTROL, 1 + draw(g, 100));
    add(g, id, EVENT_ENTRY, sp);
    while (*count && top_of(g) <= sp)
        --*count;
    g->stacks[g->stack].sp[*count] = sp;
    g->stacks[g->stack].id[*count] = id;
    ++*count;
}

static void leave(struct generator *g) {
    uint32_t i = g->stacks[g->stack].count - 1;
    if (!draw(g, 100))
        i = (uint32_t)draw(g, i + 1);
    enum event_kind kind = draw(g, 8) ? EVENT_RETURN : EVENT_TAIL;
    add(g, g->stacks[g->stack].id[i], draw(g, 300) ? kind : EVENT_CONTROL,
        g->stacks[g->stack].sp[i] + 4 * !draw(g, 300));
    g->stacks[g->stack].count = i;
}

static void unusual(struct generator *g) {
    static const uint32_t odd[] = {CHAIN_EVENT, PAUSE_EVENT, FORK_EVENT, STACK_MOVES, SLICE_BEGIN};
    uint64_t what = draw(g, 20);
    if (what < 8)
        add(g, PAUSE_EVENT + (uint32_t)draw(g, PAUSE_CAUSES) + PAUSE_IN_CALL * !draw(g, 4),
            EVENT_CONTROL, draw(g, 30));
    else if (what < 9)
        ARRAY_PUSH(&g->steps, ((struct step){{.ticks = g->now}, 1 + draw(g, 100)}));
    else if (what < 10)
        add(g, FORK_EVENT, EVENT_CONTROL, 0);
    else if (what < 11) { /* a stack that is reported */
        add(g, STACK_MADE_LOW, EVENT_CONTROL, HIGHEST - 16 * AREA - 8192);
        add(g, STACK_MADE_HIGH, EVENT_CONTROL, HIGHEST - 16 * AREA);
    } else if (what < 12) /* a broken ring */
        add(g, odd[draw(g, sizeof odd / sizeof *odd)], EVENT_ENTRY, top_of(g) - 64);
    else
        g->stack = draw(g, 2) ? (uint32_t)draw(g, STACKS) : 0;
}

static void generate_steps(struct generator *g) {
    g->now = 1000;
    if (g->variant->open_before)
        for (; g->stacks[0].count < 3; g->stacks[0].count++) {
            g->stacks[0].sp[g->stacks[0].count] = HIGHEST - 512 - g->stacks[0].count * 64;
            g->stacks[0].id[g->stacks[0].count] = g->stacks[0].count;
        }
    for (uint64_t left = draw(g, EVENTS_MOST); left; left--) {
        uint32_t count = g->stacks[g->stack].count;
        uint64_t kind = draw(g, 1000);
        g->now += draw(g, 20);
        if (kind < 5)
            unusual(g);
        else if (kind < 490 ? count < DEPTH : !count)
            enter(g);
        else
            leave(g);
    }
}

static void feed_pieces(struct thin *t, struct generator *g, size_t from, size_t to) {
    struct trace_event piece[600];
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        const struct step *s = &g->steps.at[i];
        if (!s->lost)
            piece[count++] = s->event;
        if (s->lost || count == 600 || !draw(g, 200)) {
            thin_events(t, piece, count);
            count = 0;
        }
        if (s->lost)
            thin_lost(t, s->event.ticks, s->lost);
    }
    thin_events(t, piece, count);
}

/* The calls that were open before are known at once, or, with HELD, behind half of the events. */
static void feed_halves(struct thin *t, struct generator *g, bool held) {
    const struct variant *v = g->variant;
    struct trace_frame open[3];
    struct trace_frames frames = {0, 999, v->open_before ? 3 : 0, open};
    size_t half = g->steps.count / 2;
    for (uint32_t i = 0; i < 3; i++)
        open[i] = (struct trace_frame){i, HIGHEST - 512 - i * 64};
    if (held)
        thin_hold(t);
    else
        thin_frames(t, &frames);
    feed_pieces(t, g, 0, half);
    if (held)
        thin_frames(t, &frames);
    if (v->shared_later)
        thin_share(t);
    if (held)
        thin_hold(t);
    feed_pieces(t, g, half, g->steps.count);
}

/* Writes G's events to a trace and reads it. */
static void record(struct generator *g, bool held, struct recorded *ret) {
    const struct variant *v = g->variant;
    AUTO_FREE char *path = scratch_new();
    struct trace_thread thread = {.name = "t", .maker = v->forked};
    if (!v->unknown) {
        thread.stack_low = HIGHEST - AREA;
        thread.stack_high = HIGHEST;
    }
    struct thin_options options = {must_open_writer(path), v->depth, v->threshold_ticks};
    trace_writer_thread(options.writer, &thread);
    struct thin *t = thin_new(&options, &thread);
    if (v->shared)
        thin_share(t);
    feed_halves(t, g, held);
    thin_free(t, g->now + 1);
    recorded_read(options.writer, path, 0, ret);
    scratch_free(steal(path));
}

static void check_same(const struct recorded *a, const struct recorded *b) {
    assert_int_equal(a->items.count, b->items.count);
    for (size_t i = 0; i < a->items.count; i++) {
        const struct trace_item *x = &a->items.at[i], *y = &b->items.at[i];
        assert_int_equal(x->ticks, y->ticks);
        assert_int_equal(x->id, y->id);
        assert_int_equal(x->event, y->event);
        assert_int_equal(x->sp, y->sp);
    }
    assert_int_equal(a->pauses.count, b->pauses.count);
    for (size_t i = 0; i < a->pauses.count; i++) {
        assert_int_equal(a->pauses.at[i].before, b->pauses.at[i].before);
        assert_int_equal(a->pauses.at[i].begin, b->pauses.at[i].begin);
        assert_int_equal(a->pauses.at[i].end, b->pauses.at[i].end);
        assert_int_equal(a->pauses.at[i].id, b->pauses.at[i].id);
    }
    assert_int_equal(a->gaps.count, b->gaps.count);
    for (size_t i = 0; i < a->gaps.count; i++) {
        assert_int_equal(a->gaps.at[i].before, b->gaps.at[i].before);
        assert_int_equal(a->gaps.at[i].lost, b->gaps.at[i].lost);
    }
}

static void compare(struct variant v) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct generator *g = mem_alloc(sizeof *g);
        struct recorded pieces, held;
        g->variant = &v;
        g->random = seed * 0x9e3779b97f4a7c15 + 1;
        generate_steps(g);
        record(g, false, &pieces);
        record(g, true, &held);
        check_same(&pieces, &held);
        recorded_done(&pieces);
        recorded_done(&held);
        ARRAY_FREE(&g->steps);
        free(g);
    }
}

static void depth_limit(void **state) {
    (void)state;
    for (uint32_t depth = 1; depth < 5; depth++)
        compare((struct variant){.depth = depth});
}

static void short_calls(void **state) {
    (void)state;
    for (uint64_t ticks = 1; ticks < 1000; ticks = ticks * 4 + 1)
        compare((struct variant){.threshold_ticks = ticks});
}

static void depth_limit_and_short_calls(void **state) {
    (void)state;
    for (uint32_t depth = 1; depth < 8; depth += 2)
        compare((struct variant){.depth = depth, .threshold_ticks = 60});
}

static void no_limits(void **state) {
    (void)state;
    compare((struct variant){0});
}

static void shared_stacks(void **state) {
    (void)state;
    compare((struct variant){.shared = true, .depth = 3});
    compare((struct variant){.shared = true, .threshold_ticks = 50});
    compare((struct variant){.shared = true, .forked = true, .threshold_ticks = 50});
}

static void stacks_shared_later(void **state) {
    (void)state;
    compare((struct variant){.shared_later = true, .depth = 3});
    compare((struct variant){.shared_later = true, .threshold_ticks = 50});
}

static void forked_process(void **state) {
    (void)state;
    compare((struct variant){.forked = true, .depth = 3});
    compare((struct variant){.forked = true, .threshold_ticks = 50});
}

static void unknown_stack(void **state) {
    (void)state;
    compare((struct variant){.unknown = true, .depth = 3, .threshold_ticks = 20});
    compare((struct variant){.unknown = true, .shared = true, .threshold_ticks = 20});
}

static void calls_open_before(void **state) {
    (void)state;
    compare((struct variant){.open_before = true, .depth = 4});
    compare((struct variant){.open_before = true, .threshold_ticks = 50});
}

static void chains(void **state) {
    (void)state;
    compare((struct variant){.chains = true, .depth = 4});
    compare((struct variant){.chains = true, .threshold_ticks = 50});
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring thin plain", tests, NULL, NULL);
}
