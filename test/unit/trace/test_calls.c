/*
 * The rules of calls.h, one a test. Each test plays events and draws what is expected: "+a" a call
 * of function a opens, "-a" it returned, "~a" it gave way to a tail call, "!a" it was unwound, "xa"
 * frames showed that it was over, ".a" its thread ended, "?a" it was open at the end. A digit
 * before a letter is its stack, if not 0. Behind each close stands its parent.
 */
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "trace/calls.h"

#define TESTS                                                                                      \
    TEST(nested_calls)                                                                             \
    TEST(exception_unwinds_deeper_frames)                                                          \
    TEST(call_after_a_catch)                                                                       \
    TEST(control_event_closes_no_own_frame)                                                        \
    TEST(longjmp_to_a_returning_frame)                                                             \
    TEST(tail_call_is_a_child_of_the_parent)                                                       \
    TEST(unseen_end_at_an_equal_stack_pointer)                                                     \
    TEST(repeated_call_after_a_longjmp)                                                            \
    TEST(repeated_call_after_an_untraced_tail_jump)                                                \
    TEST(return_from_another_function)                                                             \
    TEST(exits_without_a_frame)                                                                    \
    TEST(coroutine_frames)                                                                         \
    TEST(stack_pieces_unwound_together)                                                            \
    TEST(kept_calls_keep_their_stack_pieces)                                                       \
    TEST(exit_on_a_page_of_two_stack_pieces)                                                       \
    TEST(neighbouring_small_stacks)                                                                \
    TEST(signal_handler_on_its_own_stack)                                                          \
    TEST(longjmp_out_of_a_signal_stack)                                                            \
    TEST(calls_open_before_tracing)                                                                \
    TEST(frames_confirm_open_calls)                                                                \
    TEST(frames_end_calls_no_longer_open)                                                          \
    TEST(call_found_open_between_others)                                                           \
    TEST(frames_of_several_stacks)                                                                 \
    TEST(implausible_frames_accepted)                                                              \
    TEST(open_calls_at_the_end)                                                                    \
    TEST(first_stack_without_a_range)                                                              \
    TEST(stack_across_4_gib)                                                                       \
    TEST(time_of_direct_children)                                                                  \
    TEST(stacks_that_differ_in_the_upper_half)                                                     \
    TEST(recursion_of_200000_frames)                                                               \
    TEST(bounded_number_of_stacks)                                                                 \
    TEST(random_trees_balance)

static const uint64_t LOW = 0x7ffe00010000, HIGH = 0x7ffe00020000, TOP = 0x7ffe0001f000,
                      OTHER = 0x900000;

struct play {
    struct calls *calls;
    char drawn[2048];
    uint64_t clock;
};

static struct play play;

static void draw(char sign, const struct call *call, const struct call *parent) {
    size_t n = strlen(play.drawn);
    char stack[16] = "", of[16] = "";
    if (call->stack)
        snprintf(stack, sizeof stack, "%u", call->stack);
    if (sign != '+' && sign != '*' && parent)
        snprintf(of, sizeof of, "%c", (char)parent->id);
    snprintf(play.drawn + n, sizeof play.drawn - n, "%s%s%c%c%s", n ? " " : "", stack, sign,
             (char)call->id, of);
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    assert_ptr_equal(ctx, &play);
    assert_int_equal(call->user, 0);
    assert_int_equal(call->depth, parent ? parent->depth + 1 : 0);
    assert_int_equal(call->start, play.clock);
    call->user = call->id;
    draw(call->before ? '*' : '+', call, parent);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    static const char signs[] = {
        [CALL_RETURNED] = '-', [CALL_TAIL] = '~',         [CALL_UNWOUND] = '!',
        [CALL_MISSED] = 'x',   [CALL_THREAD_ENDED] = '.', [CALL_OPEN] = '?'};
    assert_ptr_equal(ctx, &play);
    assert_int_equal(call->user, call->id);
    assert_int_equal(call->end, play.clock);
    draw(signs[call->how], call, parent);
}

static const struct calls_ops ops = {.on_open = on_open, .on_close = on_close};

static void begin(uint64_t low, uint64_t high) {
    struct trace_thread thread = {.stack_low = low, .stack_high = high};
    play = (struct play){.calls = calls_new(&thread, &ops, &play)};
}

static int setup(void **state) {
    (void)state;
    begin(LOW, HIGH);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    calls_free(play.calls);
    return 0;
}

static void event(char id, enum event_kind kind, uint64_t sp) {
    play.clock += 10;
    calls_event(play.calls, play.clock, (uint32_t)id, kind, sp);
}

static void enters(char id, uint64_t sp) { event(id, EVENT_ENTRY, sp); }
static void returns(char id, uint64_t sp) { event(id, EVENT_RETURN, sp); }
static void tails(char id, uint64_t sp) { event(id, EVENT_TAIL, sp); }

static void arrives(char id, uint64_t sp) { event(id, EVENT_CONTROL, sp); }

/* Frames: IDS are open, each 16 bytes below the one before. */
static void frames_at(const char *ids, uint64_t sp) {
    struct trace_frame frames[16];
    struct trace_frames f = {.frames = frames};
    for (; ids[f.count]; f.count++)
        frames[f.count] = (struct trace_frame){(uint32_t)ids[f.count], sp - 16 * f.count};
    play.clock += 10;
    calls_frames(play.calls, play.clock, &f);
}

static void finish(bool ended) {
    play.clock += 10;
    calls_finish(play.calls, play.clock, ended);
}

static void expect(const char *drawing) { assert_string_equal(play.drawn, drawing); }

static void nested_calls(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    returns('b', TOP - 16);
    enters('c', TOP - 16);
    returns('c', TOP - 16);
    returns('a', TOP);
    expect("+a +b -ba +c -ca -a");
}

static void calls_open_before_tracing(void **state) {
    (void)state;
    frames_at("abc", TOP);
    returns('c', TOP - 32);
    enters('d', TOP - 32);
    returns('d', TOP - 32);
    returns('b', TOP - 16);
    returns('a', TOP);
    expect("*a *b *c -cb +d -db -ba -a");
}

static void frames_confirm_open_calls(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    frames_at("ab", TOP);
    frames_at("ab", TOP);
    returns('b', TOP - 16);
    expect("+a +b -ba");
}

static void frames_end_calls_no_longer_open(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('c', TOP - 32);
    frames_at("ad", TOP);
    returns('d', TOP - 16);
    frames_at("", TOP);
    expect("+a +b +c xcb xba *d -da xa");
}

static void call_found_open_between_others(void **state) {
    (void)state;
    enters('a', TOP);
    enters('c', TOP - 32);
    frames_at("abc", TOP);
    returns('c', TOP - 32);
    expect("+a +c xca *b *c -cb");
}

static void exception_unwinds_deeper_frames(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('c', TOP - 32);
    enters('d', TOP - 48);
    enters('e', TOP - 24); /* called by b's handler: c and d are gone */
    returns('e', TOP - 24);
    returns('b', TOP - 16);
    expect("+a +b +c +d !dc !cb +e -eb -ba");
}

static void call_after_a_catch(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('c', TOP - 32);
    arrives('b', TOP - 24);
    enters('d', TOP - 64); /* deeper than c was */
    returns('d', TOP - 64);
    returns('b', TOP - 16);
    expect("+a +b +c !cb +d -db -ba");
}

static void control_event_closes_no_own_frame(void **state) {
    (void)state;
    enters('a', TOP);
    arrives('a', TOP - 16);
    arrives('a', TOP);
    arrives('x', 0x1000); /* an unknown stack */
    returns('a', TOP);
    expect("+a -a");
    assert_int_equal(calls_strays(play.calls), 0);
}

static void longjmp_to_a_returning_frame(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('c', TOP - 32);
    returns('a', TOP);
    expect("+a +b +c !cb !ba -a");
}

static void tail_call_is_a_child_of_the_parent(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    tails('b', TOP - 16);
    enters('c', TOP - 16);
    returns('c', TOP - 16);
    returns('a', TOP);
    expect("+a +b ~ba +c -ca -a");
}

static void unseen_end_at_an_equal_stack_pointer(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('x', TOP - 32);
    enters('c', TOP - 16);
    returns('c', TOP - 16);
    expect("+a +b +x !xb !ba +c -ca");
}

static void repeated_call_after_a_longjmp(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('c', TOP - 32); /* longjmps to a, which calls b once more */
    enters('b', TOP - 16);
    returns('b', TOP - 16);
    expect("+a +b +c !cb !ba +b -ba");
}

static void repeated_call_after_an_untraced_tail_jump(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    tails('b', TOP - 16);
    enters('b', TOP - 16);
    tails('b', TOP - 16);
    expect("+a +b ~ba +b ~ba");
}

static void return_from_another_function(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    returns('z', TOP - 16);
    returns('a', TOP);
    expect("+a +b -ba -a");
    assert_int_equal(calls_strays(play.calls), 0);
}

static void exits_without_a_frame(void **state) {
    (void)state;
    returns('x', TOP - 64);
    enters('a', TOP);
    returns('b', TOP - 16);
    tails('b', TOP - 24);
    returns('x', OTHER);
    returns('a', TOP);
    returns('a', TOP);
    expect("+a -a");
    assert_int_equal(calls_strays(play.calls), 5);
}

static void coroutine_frames(void **state) {
    (void)state;
    enters('r', TOP); /* resume */
    enters('g', OTHER);
    enters('y', OTHER - 32); /* yield: switches back */
    returns('r', TOP);
    enters('r', TOP);
    enters('h', OTHER + 0x100000);
    enters('y', OTHER + 0x100000 - 32);
    returns('r', TOP);
    enters('r', TOP);
    returns('y', OTHER - 32);
    returns('g', OTHER);
    returns('r', TOP);
    expect("+r 1+g 1+y -r +r 2+h 2+y -r +r 1-yg 1-g -r");
}

static void stack_pieces_unwound_together(void **state) {
    (void)state;
    calls_expect_split_stacks(play.calls);
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('c', OTHER); /* on a new piece; the next ones lie above and below, and close by */
    enters('d', OTHER + 0x4000);
    enters('e', OTHER - 0x2000);
    enters('f', OTHER + 0x2000);
    arrives('a', TOP); /* longjmp */
    enters('g', OTHER + 0x2000);
    enters('h', OTHER + 0x4000);
    returns('h', OTHER + 0x4000);
    returns('g', OTHER + 0x2000);
    returns('a', TOP);
    expect("+a +b 1+c 2+d 3+e 4+f 4!fe 3!ed 2!dc 1!cb !ba 4+g 2+h 2-hg 4-ga -a");
}

static void kept_calls_keep_their_stack_pieces(void **state) {
    (void)state;
    calls_expect_split_stacks(play.calls);
    enters('a', TOP);
    enters('c', OTHER);
    enters('d', OTHER + 0x4000);
    enters('e', OTHER - 0x2000);
    arrives('d', OTHER + 0x4000);
    returns('d', OTHER + 0x4000);
    enters('f', OTHER + 0x8000); /* between them is code without events */
    arrives('a', TOP);
    expect("+a 1+c 2+d 3+e 3!ed 2-dc 4+f 4!fc 1!ca");
    enters('b', TOP - 64);
    enters('c', OTHER);
    arrives('u', TOP - 32); /* of an untraced function */
    enters('d', TOP);
    expect("+a 1+c 2+d 3+e 3!ed 2-dc 4+f 4!fc 1!ca +b 1+c 1!cb !ba !a +d");
}

static void exit_on_a_page_of_two_stack_pieces(void **state) {
    (void)state;
    const uint64_t page = OTHER + 0x5000;
    calls_expect_split_stacks(play.calls);
    enters('a', TOP);
    enters('b', page + 0xc00); /* this piece is freed, and the next one lies across its place */
    enters('x', TOP - 32);
    returns('x', TOP - 32);
    returns('b', page + 0xc00);
    enters('c', page + 0x1e00);
    enters('d', page + 0x1600);
    enters('e', page + 0xe00);
    enters('f', OTHER - 0x100000);
    returns('f', OTHER - 0x100000);
    returns('e', page + 0xe00);
    returns('d', page + 0x1600);
    returns('c', page + 0x1e00);
    returns('a', TOP);
    expect("+a 1+b +x -xa 1-ba 2+c 2+d 2+e 3+f 3-fe 2-ed 2-dc 2-ca -a");
    assert_int_equal(calls_strays(play.calls), 0);
}

static void neighbouring_small_stacks(void **state) {
    (void)state;
    uint64_t a = OTHER, b = OTHER + 0x4000; /* b's stack has 16 KiB and is nearly full */
    enters('a', a);
    enters('f', a - 64);
    enters('b', b);
    enters('c', b - 0x2800);
    enters('d', b - 0x3300);
    returns('f', a - 64);
    returns('d', b - 0x3300);
    returns('a', a);
    returns('c', b - 0x2800);
    returns('b', b);
    expect("1+a 1+f 2+b 2+c 2+d 1-fa 2-dc 1-a 2-cb 2-b");
    assert_int_equal(calls_strays(play.calls), 0);
}

static void signal_handler_on_its_own_stack(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('s', OTHER);
    enters('t', OTHER - 16);
    returns('t', OTHER - 16);
    returns('s', OTHER);
    returns('b', TOP - 16);
    enters('s', OTHER); /* the same stack again */
    returns('s', OTHER);
    returns('a', TOP);
    expect("+a +b 1+s 1+t 1-ts 1-s -ba 1+s 1-s -a");
}

static void longjmp_out_of_a_signal_stack(void **state) {
    (void)state;
    enters('a', TOP);
    enters('s', OTHER);
    enters('t', OTHER - 16);
    returns('a', TOP);
    enters('s', OTHER - 0);
    expect("+a 1+s 1+t -a 1!ts 1!s 1+s");
    enters('u', OTHER + 16);
    expect("+a 1+s 1+t -a 1!ts 1!s 1+s 1!s 1+u");
}

static void frames_of_several_stacks(void **state) {
    (void)state;
    struct trace_frame list[] = {{'a', TOP}, {'h', OTHER}, {'i', OTHER - 16}};
    struct trace_frames frames = {.count = 3, .frames = list};
    calls_frames(play.calls, play.clock, &frames);
    enters('j', OTHER - 32);
    returns('j', OTHER - 32);
    calls_frames(play.calls, play.clock, &frames);
    returns('i', OTHER - 16);
    frames.count = 1;
    calls_frames(play.calls, play.clock, &frames);
    returns('a', TOP);
    expect("*a 1*h 1*i 1+j 1-ji 1-ih 1xh -a");
}

/* Frames of a damaged trace. */
static void implausible_frames_accepted(void **state) {
    (void)state;
    struct trace_frame list[] = {{'a', 0}, {'b', 8}, {'c', 8}, {'d', UINT64_MAX >> 16}, {'e', TOP}};
    struct trace_frames frames = {.count = 5, .frames = list};
    calls_frames(play.calls, play.clock, &frames);
    calls_frames(play.calls, play.clock, &frames);
    enters('f', 0);
    finish(true);
}

static void open_calls_at_the_end(void **state) {
    (void)state;
    enters('a', TOP);
    enters('b', TOP - 16);
    enters('c', OTHER);
    finish(false);
    expect("+a +b 1+c ?ba ?a 1?c");
    enters('a', TOP);
    finish(true);
    expect("+a +b 1+c ?ba ?a 1?c +a .a");
}

static void first_stack_without_a_range(void **state) {
    (void)state;
    calls_free(play.calls);
    begin(0, 0);
    returns('x', TOP - 4096); /* attached in the middle */
    enters('a', TOP);
    enters('b', TOP - 0x8000); /* a large frame */
    enters('c', TOP - 0x8000 - 0x3fff0);
    enters('d', OTHER);
    returns('c', TOP - 0x8000 - 0x3fff0);
    returns('d', OTHER);
    returns('a', TOP);
    expect("+a +b +c 1+d -cb 1-d !ba -a");
}

static void stack_across_4_gib(void **state) {
    (void)state;
    calls_free(play.calls);
    const uint64_t border = 0x7fff00000000;
    begin(border - 0x8000, border + 0x8000);
    enters('a', border + 0x20);
    enters('b', border - 0x10);
    enters('c', border - 0x7000);
    returns('b', border - 0x10);
    returns('a', border + 0x20);
    expect("+a +b +c !cb -ba -a");
}

struct sums {
    uint64_t child[128], whole[128];
};

static void sum(void *ctx, struct call *call, struct call *parent) {
    struct sums *s = ctx;
    (void)parent;
    s->child[call->id] += call->child_ticks;
    s->whole[call->id] += call->end - call->start;
}

static void time_of_direct_children(void **state) {
    (void)state;
    static const struct calls_ops summing = {.on_close = sum};
    struct trace_thread thread = {.stack_low = LOW, .stack_high = HIGH};
    struct sums s = {0};
    struct calls *c = calls_new(&thread, &summing, &s);
    calls_event(c, 100, 'a', EVENT_ENTRY, TOP);
    calls_event(c, 110, 'b', EVENT_ENTRY, TOP - 16);
    calls_event(c, 111, 'c', EVENT_ENTRY, TOP - 32);
    calls_event(c, 115, 'c', EVENT_RETURN, TOP - 32);
    calls_event(c, 130, 'b', EVENT_RETURN, TOP - 16);
    calls_event(c, 140, 'b', EVENT_ENTRY, TOP - 16);
    calls_event(c, 150, 'a', EVENT_RETURN, TOP);
    calls_free(c);
    assert_int_equal(s.whole['a'], 50);
    assert_int_equal(s.child['a'], 20 + 10);
    assert_int_equal(s.child['b'], 4);
}

static void stacks_that_differ_in_the_upper_half(void **state) {
    (void)state;
    const uint64_t twin = TOP - ((uint64_t)1 << 40), third = TOP - ((uint64_t)1 << 32);
    enters('a', TOP);
    enters('b', TOP - 64);
    enters('c', twin);
    enters('d', third);
    enters('e', TOP - 128);
    returns('e', TOP - 128);
    returns('d', third);
    returns('c', twin);
    returns('b', TOP - 64);
    returns('a', TOP);
    expect("+a +b 1+c 2+d +e -eb 2-d 1-c -ba -a");
}

static void recursion_of_200000_frames(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    static const struct calls_ops summing = {.on_close = sum};
    struct trace_thread thread = {0};
    struct sums s = {0};
    struct calls *c = calls_new(&thread, &summing, &s);
    for (uint32_t i = 0; i < DEPTH; i++)
        calls_event(c, i, 'f', EVENT_ENTRY, 0xf0000000 - 64 * i);
    calls_event(c, DEPTH, 'f', EVENT_RETURN, 0xf0000000);
    calls_free(c);
    assert_int_equal(s.whole['f'], (uint64_t)DEPTH * (DEPTH + 1) / 2);
}

static void bounded_number_of_stacks(void **state) {
    (void)state;
    static const struct calls_ops silent = {0};
    struct trace_thread thread = {0};
    struct sums s = {0};
    static const struct calls_ops summing = {.on_close = sum};
    struct calls *c = calls_new(&thread, &silent, NULL);
    for (uint32_t i = 0; i < 20000; i++)
        calls_event(c, i, 'f', EVENT_ENTRY, i * 0x34567);
    calls_free(c);
    c = calls_new(&thread, &summing, &s);
    for (uint32_t i = 0; i < 4096; i++)
        calls_event(c, i, i == 9 ? 'i' : 'f', EVENT_ENTRY, i * 0x80000);
    calls_event(c, 5000, 'i', EVENT_RETURN, 9 * 0x80000);
    calls_event(c, 5001, 'n', EVENT_ENTRY, 4096u * 0x80000); /* replaces the idle stack */
    assert_int_equal(s.whole['f'], 0);
    calls_event(c, 5002, 'n', EVENT_ENTRY, 4097u * 0x80000); /* replaces the first one, at 0 */
    assert_int_equal(s.whole['f'], 5002);
    calls_free(c);
}

static void random_trees_balance(void **state) {
    (void)state;
    enum { EVENTS = 100000 };
    static const struct calls_ops summing = {.on_open = NULL};
    struct trace_thread thread = {0};
    for (uint64_t seed = 0; seed < 8; seed++) {
        AUTO_FREE struct trace_event *events = generate((enum shape)(seed % 3), EVENTS, seed, 0);
        struct calls *c = calls_new(&thread, &summing, NULL);
        for (size_t i = 0; i < EVENTS; i++)
            calls_event(c, events[i].ticks, events[i].site >> 2, events[i].site & 3, events[i].sp);
        assert_int_equal(calls_strays(c), 0);
        calls_free(c);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
