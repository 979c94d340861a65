/*
 * The events of a thread that -D and -t keep. A test draws its calls as letters: "a" enters
 * function a, "A" returns from it, "." lets time pass, "1" and "2" change to another stack. The
 * events that must be kept are drawn alike. "[ab]" stands for frames: a and b are open. "|" stands
 * for a further thread. "~" is a pause of the same length as ".", "=" one in a blocking call.
 */
#include "ring/thin.h"

#include <ctype.h>
#include <string.h>

#include "recorded.h"

#define TESTS                                                                                      \
    TEST(no_limits)                                                                                \
    TEST(depth_limit)                                                                              \
    TEST(depth_per_stack)                                                                          \
    TEST(short_calls_left_out)                                                                     \
    TEST(callers_of_long_calls_kept)                                                               \
    TEST(chains_kept_with_calls)                                                                   \
    TEST(pauses_in_order)                                                                          \
    TEST(calls_long_by_pauses_only)                                                                \
    TEST(many_pauses_of_a_call_that_stays_open)                                                    \
    TEST(call_as_long_as_the_limit)                                                                \
    TEST(depth_and_length_together)                                                                \
    TEST(long_calls_without_return)                                                                \
    TEST(interleaved_stacks_in_order)                                                              \
    TEST(many_events_in_order)                                                                     \
    TEST(depth_of_calls_open_before)                                                               \
    TEST(calls_open_before_are_never_short)                                                        \
    TEST(calls_still_open_written_first)                                                           \
    TEST(events_wait_for_the_open_calls)                                                           \
    TEST(shared_stacks_stay_whole)                                                                 \
    TEST(own_stack_limited_beside_shared_ones)                                                     \
    TEST(unreported_thread_written_at_its_end)                                                     \
    TEST(long_open_calls_written_meanwhile)

enum { TICKS = 100, STACKS = 3, STACK_BYTES = 1 << 20, NATIVE = 0x70000000 };

struct drawing {
    char open[STACKS][32]; /* functions */
    uint32_t depth[STACKS];
    int stack;
    uint64_t now;
};

static uint64_t stack_start(int stack) { return NATIVE - (uint64_t)stack * 16 * STACK_BYTES; }

/* Draws one letter; returns whether it makes an event. */
static bool draw(struct drawing *d, char c, struct trace_event *ret) {
    enum { FRAME_BYTES = 64 };
    d->now += strchr(".~=", c) ? TICKS + 1 : 1;
    if (c == '~' || c == '=') {
        uint32_t id = PAUSE_EVENT + PAUSE_DLOPEN + (c == '=' ? PAUSE_IN_CALL : 0);
        *ret = (struct trace_event){d->now, id << 2 | EVENT_CONTROL, TICKS + 1};
        return true;
    }
    if (isdigit(c))
        d->stack = c - '0';
    if (!isalpha(c))
        return false;
    uint32_t *depth = &d->depth[d->stack];
    char *open = d->open[d->stack];
    if (islower(c))
        open[(*depth)++] = c;
    while (isupper(c) && open[*depth - 1] != tolower(c))
        (*depth)--; /* left without a return */
    uint32_t kind = islower(c) ? EVENT_ENTRY : EVENT_RETURN;
    uint64_t sp = stack_start(d->stack) - *depth * FRAME_BYTES;
    *ret = (struct trace_event){d->now, (uint32_t)tolower(c) << 2 | kind, sp};
    *depth -= isupper(c) != 0;
    return true;
}

static size_t events_of(const char *drawing, struct trace_event *ret, uint64_t *ret_end) {
    struct drawing d = {.now = 1000};
    size_t count = 0;
    for (const char *c = drawing; *c; c++)
        count += draw(&d, *c, &ret[count]);
    *ret_end = d.now + 1;
    return count;
}

static void check_order(const struct recorded *r) {
    for (size_t i = 1; i < r->items.count; i++)
        assert_true(r->items.at[i - 1].ticks <= r->items.at[i].ticks);
}

/* WANT has no dots, and "!" where a call is left without an exit. Each event must have its time in
 * GOT's drawing. */
static void check_items(const struct recorded *r, const char *want) {
    char got[256] = "";
    size_t n = 0, p = 0;
    for (size_t i = 0; i <= r->items.count && n < sizeof got - 1; i++) {
        const struct trace_item *item = &r->items.at[i];
        for (; p < r->pauses.count && r->pauses.at[p].before == i; p++)
            got[n++] = r->pauses.at[p].id & PAUSE_IN_CALL ? '=' : '~';
        if (i < r->items.count)
            got[n++] = (char)(item->event == EVENT_ENTRY     ? item->id
                              : item->event == EVENT_CONTROL ? '!'
                                                             : (uint32_t)toupper((int)item->id));
    }
    assert_string_equal(got, want);
}

static void check_times(const struct recorded *r, const struct trace_event *events, size_t count) {
    for (size_t i = 0; i < r->items.count; i++) {
        const struct trace_item *item = &r->items.at[i];
        bool found = item->event == EVENT_CONTROL; /* the time of the event that showed its end */
        for (size_t k = 0; k < count && !found; k++)
            found = events[k].ticks == item->ticks && events[k].sp == item->sp &&
                    events[k].site == (item->id << 2 | item->event);
        assert_true(found);
    }
}

static void expect(uint32_t depth, uint64_t threshold, const char *drawing, const char *want) {
    struct trace_event events[256];
    uint64_t end;
    size_t count = events_of(drawing, events, &end);
    AUTO_FREE char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct trace_thread thread = {
        .stack_low = stack_start(0) - STACK_BYTES, .stack_high = stack_start(0), .name = "t"};
    trace_writer_thread(w, &thread);
    struct thin_options options = {w, depth, threshold};
    struct thin *t = thin_new(&options, &thread);
    for (size_t i = 0; i < count; i++)
        thin_events(t, &events[i], 1);
    thin_free(t, end);
    struct recorded r;
    recorded_read(w, path, 0, &r);
    check_items(&r, want);
    check_order(&r);
    check_times(&r, events, count);
    recorded_done(&r);
    scratch_free(steal(path));
}

static void no_limits(void **state) {
    (void)state;
    expect(0, 0, "abBcCA", "abBcCA");
    expect(0, 0, "", "");
}

static void depth_limit(void **state) {
    (void)state;
    expect(1, 0, "abcCBAdD", "aAdD");
    expect(2, 0, "abcdDCcCBbBAaA", "abBbBAaA");
}

static void depth_per_stack(void **state) {
    (void)state;
    expect(1, 0, "ab1cdDC0BA", "acCA");
}

static void short_calls_left_out(void **state) {
    (void)state;
    expect(0, TICKS, "abBc.CdDA", "acCA");
    expect(0, TICKS, "abBA", "");
    expect(0, TICKS, "aAb.BcC", "bB");
}

static void callers_of_long_calls_kept(void **state) {
    (void)state;
    expect(0, TICKS, "abc.CBA", "abcCBA");
    expect(0, TICKS, "a.bBcdD.CA", "acCA");
}

/* Letters as in a drawing; "<n": the next entry has chain n. */
static void expect_chains(uint64_t threshold, const char *want) {
    enum { HIGHEST = NATIVE - 64, LENGTH = 10 };
    const struct trace_event events[] = {{1, (uint32_t)CHAIN_EVENT << 2 | EVENT_CONTROL, 1},
                                         {1, 'a' << 2 | EVENT_ENTRY, HIGHEST},
                                         {2, (uint32_t)CHAIN_EVENT << 2 | EVENT_CONTROL, 2},
                                         {2, 'b' << 2 | EVENT_ENTRY, HIGHEST - 64},
                                         {3, 'b' << 2 | EVENT_RETURN, HIGHEST - 64},
                                         {4, 'c' << 2 | EVENT_ENTRY, HIGHEST - 64},
                                         {4 + LENGTH, 'c' << 2 | EVENT_RETURN, HIGHEST - 64},
                                         {5 + LENGTH, 'a' << 2 | EVENT_RETURN, HIGHEST}};
    AUTO_FREE char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct trace_thread thread = {
        .stack_low = NATIVE - STACK_BYTES, .stack_high = NATIVE, .name = "t"};
    trace_writer_thread(w, &thread);
    struct thin_options options = {w, 0, threshold};
    struct thin *t = thin_new(&options, &thread);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        thin_events(t, &events[i], 1);
    thin_free(t, 100);
    struct recorded r;
    recorded_read(w, path, 0, &r);
    AUTO_FREE char *got = mem_strdup("");
    for (size_t i = 0; i < r.items.count; i++) {
        const struct trace_item *item = &r.items.at[i];
        AUTO_FREE char *before = got;
        int letter = item->event == EVENT_ENTRY ? (int)item->id : toupper((int)item->id);
        got = item->id == CHAIN_EVENT ? mem_printf("%s<%lu", before, item->sp)
                                      : mem_printf("%s%c", before, letter);
    }
    assert_string_equal(got, want);
    recorded_done(&r);
    scratch_free(steal(path));
}

static void chains_kept_with_calls(void **state) {
    (void)state;
    expect_chains(0, "<1a<2bBcCA");
    expect_chains(5, "<1acCA");
}

static void pauses_in_order(void **state) {
    (void)state;
    expect(0, 0, "a~Ab=B~", "a~Ab=B~");
    expect(1, 0, "ab~Bc=CA", "a~=A");
    expect(0, TICKS, "a~b.B~A~c.C", "a~bB~A~cC");
    expect(0, TICKS, "ab~BA", "~");
    expect(0, TICKS, "abc~.CBA", "abc~CBA");
    expect(0, TICKS, "ab~Bc.CA", "a~cCA");
}

static void calls_long_by_pauses_only(void **state) {
    (void)state;
    expect(0, TICKS, "ab~BA", "~");
    expect(0, TICKS, "ab=BA", "ab=BA");
    expect(0, TICKS, "ab~~B.A", "a~~A");
    expect(0, TICKS, "a~.A", "a~A");
}

/* They are not kept for ever. */
static void many_pauses_of_a_call_that_stays_open(void **state) {
    (void)state;
    enum { PAUSES = 10000 };
    AUTO_FREE char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct trace_thread thread = {
        .stack_low = stack_start(0) - STACK_BYTES, .stack_high = stack_start(0), .name = "t"};
    trace_writer_thread(w, &thread);
    struct thin *t = thin_new(&(struct thin_options){w, 0, TICKS}, &thread);
    thin_events(t, &(struct trace_event){1000, 'a' << 2, stack_start(0) - 64}, 1);
    for (uint64_t i = 1; i <= PAUSES; i++) {
        uint32_t site = (uint32_t)(PAUSE_EVENT + PAUSE_RING) << 2 | EVENT_CONTROL;
        thin_events(t, &(struct trace_event){1000 + 10 * i, site, 1}, 1);
    }
    thin_free(t, 1000000);
    struct recorded r;
    recorded_read(w, path, 0, &r);
    assert_int_equal(r.pauses.count, PAUSES);
    assert_int_equal(r.items.at[0].event, EVENT_ENTRY);
    for (size_t i = 0; i < PAUSES; i++)
        assert_int_equal(r.pauses.at[i].end, 1000 + 10 * (i + 1));
    assert_int_equal(r.pauses.at[0].before, 1);
    recorded_done(&r);
}

static void call_as_long_as_the_limit(void **state) {
    (void)state;
    expect(0, TICKS + 2, "a.A", "aA");
    expect(0, TICKS + 3, "a.A", "");
}

static void depth_and_length_together(void **state) {
    (void)state;
    expect(2, TICKS, "abc.CBdDe.EA", "abBeEA");
}

static void long_calls_without_return(void **state) {
    (void)state;
    expect(0, TICKS, "abc.", "abc");     /* still open when the thread ends */
    expect(0, TICKS, "abc.A", "abc!!A"); /* b and c were unwound */
    expect(0, TICKS, "a.bcAdD", "aA");
}

/* A long call ends while a younger call on another stack is open. */
static void interleaved_stacks_in_order(void **state) {
    (void)state;
    expect(0, TICKS, "a.1b0A1.B", "abAB");
    expect(0, TICKS, "a1b0A1B", "");
    expect(0, TICKS, "a1b.0A1B", "abAB");
    expect(0, TICKS, "a1bc0.A1CB", "abcACB");
}

static void many_events_in_order(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    AUTO_FREE struct trace_event *events = mem_alloc(COUNT * sizeof *events);
    for (uint32_t i = 0; i < COUNT; i++) /* pairs within one call */
        events[i] = (struct trace_event){1000 + i * 10, 'b' << 2 | (i % 2), NATIVE - 64};
    AUTO_FREE char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct trace_thread thread = {.stack_low = NATIVE - STACK_BYTES, .stack_high = NATIVE};
    trace_writer_thread(w, &thread);
    struct thin_options options = {w, 1, 0};
    struct thin *t = thin_new(&options, &thread);
    thin_events(t, events, COUNT);
    thin_free(t, 1000 + COUNT * 10);
    struct recorded r;
    recorded_read(w, path, 0, &r);
    assert_int_equal(r.items.count, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(r.items.at[i].ticks, events[i].ticks);
    recorded_done(&r);
    scratch_free(steal(path));
}

/* ---- calls that were open before ---- */

struct frames_play {
    struct drawing d;
    struct thin *thin;
};

/* Feeds the part of a drawing in brackets: these calls are open, and no others. */
static const char *feed_frames(struct frames_play *p, const char *c) {
    enum { FRAME_BYTES = 64 };
    struct trace_frame list[16];
    struct trace_frames f = {.ticks = ++p->d.now, .frames = list};
    for (; *c != ']'; c++, f.count++) {
        uint64_t sp = stack_start(0) - (f.count + 1) * FRAME_BYTES;
        list[f.count] = (struct trace_frame){(uint32_t)*c, sp};
        p->d.open[0][f.count] = *c;
    }
    p->d.depth[0] = f.count;
    thin_frames(p->thin, &f);
    return c;
}

static void feed_drawing(struct frames_play *p, const char *drawing) {
    for (const char *c = drawing; *c; c++) {
        struct trace_event event;
        if (*c == '[')
            c = feed_frames(p, c + 1);
        else if (*c == '|')
            thin_share(p->thin);
        else if (draw(&p->d, *c, &event))
            thin_events(p->thin, &event, 1);
    }
}

/* Compares a trace with a drawing in which "?" is a loss. */
static void check_drawn(const char *path, const char *want) {
    struct trace_reader *r = must_open_reader(path);
    struct trace_cursor *c;
    struct trace_item item;
    char got[256] = "";
    size_t n = 0;
    uint64_t last = 0;
    assert_int_equal(trace_cursor_open(r, 0, &c, NULL), 0);
    while (trace_cursor_next(c, &item, NULL) > 0) {
        assert_true(item.ticks >= last);
        last = item.ticks;
        if (item.kind == TRACE_FRAMES) {
            got[n++] = '[';
            for (uint32_t i = 0; i < item.frames->count; i++)
                got[n++] = (char)item.frames->frames[i].id;
            got[n++] = ']';
        } else {
            got[n++] = (char)(item.kind != TRACE_EVENT      ? '?'
                              : item.event == EVENT_CONTROL ? '!'
                              : item.event == EVENT_ENTRY   ? item.id
                                                            : (uint32_t)toupper((int)item.id));
        }
    }
    trace_cursor_free(c);
    trace_reader_free(r);
    assert_string_equal(got, want);
}

/* HELD are events that come before the open calls are known; NULL: these are known at once, or
 * never. */
static void expect_frames(struct thin_options options, const char *held, const char *drawing,
                          const char *want) {
    AUTO_FREE char *path = scratch_new();
    struct trace_thread thread = {
        .stack_low = stack_start(0) - STACK_BYTES, .stack_high = stack_start(0), .name = "t"};
    struct frames_play p = {.d = {.now = 1000}};
    options.writer = must_open_writer(path);
    trace_writer_thread(options.writer, &thread);
    p.thin = thin_new(&options, &thread);
    if (held) {
        struct trace_frame frame = {'a', stack_start(0) - 64};
        thin_hold(p.thin);
        p.d.open[0][0] = 'a';
        p.d.depth[0] = 1;
        feed_drawing(&p, held);
        thin_lost(p.thin, p.d.now, 3);
        assert_true(thin_holds(p.thin));
        thin_frames(p.thin, &(struct trace_frames){0, 1000, 1, &frame});
        assert_false(thin_holds(p.thin));
    }
    feed_drawing(&p, drawing);
    thin_free(p.thin, p.d.now + 1);
    must_finish(options.writer);
    check_drawn(path, want);
    scratch_free(steal(path));
}

/* DRAWING, and then a look at the calls that are long by now: COUNT entries are written. */
static void expect_entries_so_far(const char *drawing, uint64_t count, const char *rest,
                                  const char *want) {
    AUTO_FREE char *path = scratch_new();
    struct trace_thread thread = {
        .stack_low = stack_start(0) - STACK_BYTES, .stack_high = stack_start(0), .name = "t"};
    struct frames_play p = {.d = {.now = 1000}};
    struct thin_options options = {must_open_writer(path), 3, TICKS};
    trace_writer_thread(options.writer, &thread);
    p.thin = thin_new(&options, &thread);
    feed_drawing(&p, drawing);
    thin_pass(p.thin, p.d.now);
    assert_int_equal(trace_writer_totals(options.writer).entries, count);
    feed_drawing(&p, rest);
    thin_free(p.thin, p.d.now + 1);
    must_finish(options.writer);
    check_drawn(path, want);
    scratch_free(steal(path));
}

static void long_open_calls_written_meanwhile(void **state) {
    (void)state;
    expect_entries_so_far("ab.", 2, "BA", "abBA");
    expect_entries_so_far("ab.c", 2, "CdDBA", "abBA");
    expect_entries_so_far("abcd.", 3, "DCBA", "abcCBA");
    expect_entries_so_far("ab1c0.", 3, "BdD1C0A", "abcBCA");
    expect_entries_so_far("a~b", 0, "BA", "!");
    expect_entries_so_far("a~.b", 1, "BA", "a!A");
    expect_entries_so_far("[a]b.c", 1, "CBA", "[a]bBA");
}

static void depth_of_calls_open_before(void **state) {
    (void)state;
    expect_frames((struct thin_options){.depth = 2}, NULL, "[abc]CBdDA", "[ab]BdDA");
    expect_frames((struct thin_options){.depth = 1}, NULL, "[a]bBA[bc]CBaA", "[a]A[b]BaA");
}

static void calls_open_before_are_never_short(void **state) {
    (void)state;
    struct thin_options options = {.threshold_ticks = TICKS};
    expect_frames(options, NULL, "[ab]BcCd.DA", "[ab]BdDA");
}

static void calls_still_open_written_first(void **state) {
    (void)state;
    struct thin_options options = {.threshold_ticks = TICKS};
    expect_frames(options, NULL, "abc[ab]BcCA", "ab[ab]BA");
    expect_frames(options, NULL, "ab.[a]A", "ab[a]A");
    expect_frames(options, NULL, "ab[c]C", "[c]C");
}

static void events_wait_for_the_open_calls(void **state) {
    (void)state;
    expect_frames((struct thin_options){.depth = 2}, "bcCBbB", "cCA", "[a]bBbB?cCA");
    expect_frames((struct thin_options){.threshold_ticks = TICKS}, "bBc.C", "A", "[a]cC?A");
}

static void unreported_thread_written_at_its_end(void **state) {
    (void)state;
    struct trace_event event = {1000, 'a' << 2 | EVENT_ENTRY, NATIVE - 64};
    AUTO_FREE char *path = scratch_new();
    struct trace_thread thread = {.stack_low = NATIVE - STACK_BYTES, .stack_high = NATIVE};
    struct thin_options options = {must_open_writer(path), 1, 0};
    trace_writer_thread(options.writer, &thread);
    struct thin *t = thin_new(&options, &thread);
    thin_hold(t);
    thin_events(t, &event, 1);
    thin_free(t, 2000);
    must_finish(options.writer);
    check_drawn(path, "a");
    scratch_free(steal(path));
}

static void shared_stacks_stay_whole(void **state) {
    (void)state;
    struct thin_options deep = {.depth = 1}, brief = {.threshold_ticks = TICKS};
    expect_frames(deep, NULL, "ab|1cdDC0BA", "acdDCA");
    expect_frames(brief, NULL, "a|1cC0A", "acCA");
    expect_frames(brief, NULL, "1cd|DC", "cdDC");
}

static void own_stack_limited_beside_shared_ones(void **state) {
    (void)state;
    struct thin_options deep = {.depth = 1}, brief = {.threshold_ticks = TICKS};
    expect_frames(deep, NULL, "|abBA1cC0abBA", "aAcCaA");
    expect_frames(brief, NULL, "|abB.cC1dD0cCA", "adDA");
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring thin", tests, NULL, NULL);
}
