/*
 * Stacks that go from thread to thread and from place to place (calls.h). Each test plays events of
 * two threads and draws what is expected: "+a" a call of function a opens, "-a" it returned, "!a"
 * it was unwound, "xa" frames showed that it was over, ".a" its thread ended, "?a" it was open at
 * the end. The stack stands before it, if no thread owns it, and its caller behind it. A close in
 * another thread than the call's first one has that thread at its end: "1-ba@0".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "trace/calls.h"

#define TESTS                                                                                      \
    TEST(call_ended_by_another_thread)                                                             \
    TEST(threads_alternate_on_two_stacks)                                                          \
    TEST(frames_per_thread)                                                                        \
    TEST(handlers_on_neighbouring_stacks)                                                          \
    TEST(own_stacks_stay_with_their_thread)                                                        \
    TEST(own_stack_begins_at_its_end)                                                              \
    TEST(frames_end_the_last_calls_of_a_thread)                                                    \
    TEST(known_stacks_may_touch)                                                                   \
    TEST(moved_stack_with_its_calls)                                                               \
    TEST(parked_stack_moved_by_another_thread)                                                     \
    TEST(stacks_moved_by_two_threads)                                                              \
    TEST(calls_on_a_freed_stack)                                                                   \
    TEST(new_stack_is_no_moved_stack)                                                              \
    TEST(moved_stack_known_by_its_frames)                                                          \
    TEST(stack_with_outside_frames_not_moved)                                                      \
    TEST(ambiguous_stacks_not_moved)                                                               \
    TEST(repeated_words_count_once)                                                                \
    TEST(invalid_stack_bounds_ignored)                                                             \
    TEST(range_that_holds_other_stacks)                                                            \
    TEST(no_inner_stack_in_a_disproved_range)                                                      \
    TEST(thousands_of_stacks)

enum { A, B }; /* threads */
enum { OWN_A = 0x110000, OWN_B = 0x130000, FIBER = 0x900000, OTHER_FIBER = 0xa00000 };

static struct {
    struct calls *calls;
    char drawn[2048];
    uint64_t clock;
    uint32_t thread;
} play;

static void draw(char sign, const struct call *call, const struct call *parent) {
    size_t n = strlen(play.drawn);
    char stack[16] = "", of[2] = "", from[16] = "";
    if (call->stack)
        snprintf(stack, sizeof stack, "%u", call->stack);
    if (parent)
        of[0] = (char)parent->id;
    if (call->thread != play.thread)
        snprintf(from, sizeof from, "@%u", call->thread);
    snprintf(play.drawn + n, sizeof play.drawn - n, "%s%s%c%c%s%s", n ? " " : "", stack, sign,
             (char)call->id, of, from);
}

static void on_open(void *ctx, struct call *call, struct call *parent) {
    assert_ptr_equal(ctx, &play);
    assert_int_equal(call->thread, play.thread);
    assert_int_equal(call->depth, parent ? parent->depth + 1 : 0);
    draw('+', call, parent);
}

static void on_close(void *ctx, struct call *call, struct call *parent) {
    static const char signs[] = {
        [CALL_RETURNED] = '-', [CALL_TAIL] = '~',         [CALL_UNWOUND] = '!',
        [CALL_MISSED] = 'x',   [CALL_THREAD_ENDED] = '.', [CALL_OPEN] = '?'};
    assert_ptr_equal(ctx, &play);
    draw(signs[call->how], call, parent);
}

static int setup(void **state) {
    (void)state;
    static const struct calls_ops ops = {.on_open = on_open, .on_close = on_close};
    struct trace_thread a = {.stack_low = OWN_A - 0x10000, .stack_high = OWN_A};
    struct trace_thread b = {.stack_low = OWN_B - 0x10000, .stack_high = OWN_B};
    memset(&play, 0, sizeof play);
    play.calls = calls_new(&a, &ops, &play);
    calls_add_thread(play.calls, &b);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    calls_free(play.calls);
    return 0;
}

static void event(uint32_t thread, uint32_t id, enum event_kind kind, uint64_t sp) {
    if (thread != play.thread)
        calls_set_thread(play.calls, thread);
    play.thread = thread;
    calls_event(play.calls, ++play.clock, id, kind, sp);
}

static void enters(uint32_t thread, char id, uint64_t sp) {
    event(thread, (uint32_t)id, EVENT_ENTRY, sp);
}
static void returns(uint32_t thread, char id, uint64_t sp) {
    event(thread, (uint32_t)id, EVENT_RETURN, sp);
}
static void made(uint32_t thread, uint64_t low, uint64_t high) {
    event(thread, STACK_MADE_LOW, EVENT_CONTROL, low);
    event(thread, STACK_MADE_HIGH, EVENT_CONTROL, high);
}
static void freed(uint32_t thread, uint64_t low, uint64_t high) {
    event(thread, STACK_FREED_LOW, EVENT_CONTROL, low);
    event(thread, STACK_FREED_HIGH, EVENT_CONTROL, high);
}
static void moves(uint32_t thread) { event(thread, STACK_MOVES, EVENT_CONTROL, OWN_A - 512); }

static void expect(const char *drawing) { assert_string_equal(play.drawn, drawing); }
static void expect_strays(uint64_t count) { assert_int_equal(calls_strays(play.calls), count); }

static void call_ended_by_another_thread(void **state) {
    (void)state;
    enters(A, 'r', OWN_A - 64);
    enters(A, 'f', FIBER);
    enters(A, 'g', FIBER - 32);
    returns(A, 'r', OWN_A - 64);
    enters(B, 'r', OWN_B - 64);
    returns(B, 'g', FIBER - 32);
    enters(B, 'h', FIBER - 32);
    returns(B, 'h', FIBER - 32);
    returns(B, 'f', FIBER);
    returns(B, 'r', OWN_B - 64);
    expect("+r 1+f 1+gf -r +r 1-gf@0 1+hf 1-hf 1-f@0 -r");
    expect_strays(0);
}

static void threads_alternate_on_two_stacks(void **state) {
    (void)state;
    enters(A, 'a', FIBER);
    enters(B, 'b', OTHER_FIBER);
    enters(B, 'c', FIBER - 16);
    enters(A, 'd', OTHER_FIBER - 16);
    returns(B, 'c', FIBER - 16);
    returns(A, 'd', OTHER_FIBER - 16);
    returns(A, 'a', FIBER);
    returns(B, 'b', OTHER_FIBER);
    expect("1+a 2+b 1+ca 2+db 1-ca 2-db 1-a 2-b");
}

/* A thread has arrived where another thread's stack was. */
static void frames_per_thread(void **state) {
    (void)state;
    struct trace_frame frame = {'a', OWN_A - 64};
    struct trace_frames frames = {.ticks = 50, .count = 1, .frames = &frame};
    struct trace_thread late = {.stack_low = OWN_A - 0x10000, .stack_high = OWN_A};
    calls_add_thread(play.calls, &late);
    calls_frames(play.calls, 50, &frames);
    calls_set_thread(play.calls, play.thread = 2);
    calls_frames(play.calls, 51, &frames);
    calls_frames(play.calls, 52, &frames);
    returns(2, 'a', OWN_A - 64);
    returns(A, 'a', OWN_A - 64);
    expect("+a +a -a -a");
}

/* Each thread has a signal stack of its own, and these lie side by side. */
static void handlers_on_neighbouring_stacks(void **state) {
    (void)state;
    enters(A, 'a', FIBER);
    enters(A, 'b', FIBER - 32);
    enters(B, 'c', FIBER - 0x2000);
    enters(B, 'd', FIBER - 0x2000 - 32);
    returns(A, 'b', FIBER - 32);
    returns(B, 'd', FIBER - 0x2000 - 32);
    returns(A, 'a', FIBER);
    returns(B, 'c', FIBER - 0x2000);
    expect("1+a 1+ba 2+c 2+dc 1-ba 2-dc 1-a 2-c");
}

static void own_stacks_stay_with_their_thread(void **state) {
    (void)state;
    enters(A, 'a', OWN_A - 64);
    enters(B, 'b', OWN_B - 64);
    returns(A, 'b', OWN_B - 64);
    expect("+a +b");
    expect_strays(1);
    returns(B, 'b', OWN_B - 64);
    calls_set_thread(play.calls, play.thread = A);
    calls_finish_thread(play.calls, 99, true);
    expect("+a +b -b .a");
}

/* A function without a caller finds its stack empty (clone3). Where one stack ends, the next may
 * begin. */
static void own_stack_begins_at_its_end(void **state) {
    (void)state;
    enters(B, 'b', OWN_B);
    enters(B, 'c', OWN_B - 16);
    enters(B, 'd', OWN_B - 0x10000); /* the end of the stack below */
    expect("+b +cb 1+d");
}

static void frames_end_the_last_calls_of_a_thread(void **state) {
    (void)state;
    struct trace_frames none = {.ticks = 50};
    enters(A, 'a', FIBER);
    enters(A, 'b', OTHER_FIBER);
    enters(B, 'c', FIBER - 16);
    calls_frames(play.calls, 50, &none); /* of B, which took over A's stack */
    expect("1+a 2+b 1+ca 1xca 1xa@0");
    returns(A, 'b', OTHER_FIBER);
    expect("1+a 2+b 1+ca 1xca 1xa@0 2-b");
}

static void known_stacks_may_touch(void **state) {
    (void)state;
    made(A, 0x900000, 0x900800);
    made(A, 0x900800, 0x901000);
    enters(A, 'a', 0x900f00);
    enters(A, 'b', 0x900810); /* nearly at the stack's end */
    enters(B, 'c', 0x9007f8); /* the first frame of the other stack */
    returns(B, 'b', 0x900810);
    returns(A, 'c', 0x9007f8);
    returns(B, 'a', 0x900f00);
    expect("2+a 2+ba 1+c 2-ba@0 1-c@1 2-a@0");
    expect_strays(0);
}

static void moved_stack_with_its_calls(void **state) {
    (void)state;
    made(A, 0x900000, 0x900800);
    enters(A, 'a', 0x9007f8);
    enters(A, 'b', 0x900700);
    moves(A);
    made(A, 0xa00000, 0xa01000);
    freed(A, 0x900000, 0x900800);
    enters(A, 'c', 0xa00d00);
    returns(A, 'c', 0xa00d00);
    returns(A, 'b', 0xa00f00);
    returns(A, 'a', 0xa00ff8);
    expect("1+a 1+ba 1+cb 1-cb 1-ba 1-a");
    expect_strays(0);
}

/* Its place is reused at once. The thread that moves it is not the thread that ran on it. */
static void parked_stack_moved_by_another_thread(void **state) {
    (void)state;
    made(A, 0x900000, 0x901000);
    made(A, 0x901000, 0x902000);
    enters(A, 'a', 0x900ff8);
    enters(A, 'b', 0x901ff8);
    moves(B);
    made(B, 0xa00000, 0xa00800);
    freed(B, 0x900000, 0x901000);
    made(A, 0x900000, 0x901000);
    enters(A, 'n', 0x900ff8);
    returns(B, 'a', 0xa007f8);
    returns(A, 'n', 0x900ff8);
    returns(A, 'b', 0x901ff8);
    expect("1+a 2+b 4+n 1-a@0 4-n 2-b");
    expect_strays(0);
}

static void stacks_moved_by_two_threads(void **state) {
    (void)state;
    made(A, 0x900000, 0x900800);
    made(A, 0x900800, 0x901000);
    enters(A, 'a', 0x9007f8);
    enters(B, 'b', 0x900ff8);
    moves(A);
    moves(B);
    made(B, 0xb00000, 0xb01000);
    made(A, 0xa00000, 0xa01000);
    freed(A, 0x900000, 0x900800);
    freed(B, 0x900800, 0x901000);
    returns(A, 'a', 0xa00ff8);
    returns(B, 'b', 0xb00ff8);
    expect("1+a 2+b 1-a 2-b");
}

static void calls_on_a_freed_stack(void **state) {
    (void)state;
    made(A, 0x900000, 0x900800);
    enters(A, 'a', 0x9007f8);
    freed(B, 0x900000, 0x900800);
    expect("1+a 1!a@0");
    returns(A, 'a', 0x9007f8);
    expect_strays(1);
}

/* A stack made after a move is over is not the new place of the stack that is freed next. */
static void new_stack_is_no_moved_stack(void **state) {
    (void)state;
    made(A, 0x900000, 0x900800);
    enters(A, 'a', 0x9007f8);
    moves(A);
    made(A, 0xa00000, 0xa01000);
    freed(A, 0x900000, 0x900800);
    made(A, 0xb00000, 0xb02000);
    freed(A, 0xa00000, 0xa01000);
    expect("1+a 1!a");
}

/* The bounds of this stack are unknown (attach). */
static void moved_stack_known_by_its_frames(void **state) {
    (void)state;
    enters(A, 'a', 0x9007f8);
    enters(A, 'b', 0x900700);
    moves(B);
    made(B, 0xa00000, 0xa01000);
    freed(B, 0x900000, 0x900800);
    returns(B, 'b', 0xa00f00);
    returns(A, 'a', 0xa00ff8);
    expect("1+a 1+ba 1-ba@0 1-a");
    expect_strays(0);
}

static void stack_with_outside_frames_not_moved(void **state) {
    (void)state;
    enters(A, 'a', 0x900808); /* it seems to be the caller of the frames close below */
    enters(A, 'b', 0x900700);
    moves(A);
    made(A, 0xa00000, 0xa01000);
    freed(A, 0x900000, 0x900800);
    returns(A, 'b', 0xa00f00);
    expect("1+a 1+ba");
    expect_strays(1);
    returns(A, 'b', 0x900700);
    returns(A, 'a', 0x900808);
    expect("1+a 1+ba 1-ba 1-a");
}

/* The range holds frames of two threads: which of their stacks moved is unknown. */
static void ambiguous_stacks_not_moved(void **state) {
    (void)state;
    enters(A, 'a', 0x940000);
    enters(A, 'b', 0x900100);
    moves(A);
    made(A, 0xa00000, 0xa80000);
    freed(A, 0x900000, 0x980000);
    returns(A, 'a', 0xa40000);
    expect("1+a 2+b");
    expect_strays(1);
}

static void repeated_words_count_once(void **state) {
    (void)state;
    event(A, STACK_MADE_LOW, EVENT_CONTROL, 0x900000);
    made(A, 0x900000, 0x900800);
    made(A, 0x900000, 0x900800);
    enters(A, 'a', 0x9007f8);
    moves(A);
    moves(A);
    made(A, 0xa00000, 0xa01000);
    made(A, 0xa00000, 0xa01000);
    freed(A, 0x900000, 0x900800);
    freed(A, 0x900000, 0x900800);
    returns(A, 'a', 0xa00ff8);
    expect("2+a 2-a");
}

static void invalid_stack_bounds_ignored(void **state) {
    (void)state;
    enters(A, 'a', FIBER);
    made(A, 0x900000, 0x900000);
    made(A, 0x900800, 0x900000);
    made(A, 0, 0xffffffffffff);
    made(A, 0x8ff400, 0x900400);
    made(A, 0x8fe800, 0x900000);
    freed(A, 0x800000, 0xa00000);
    enters(A, 'b', FIBER - 0x3000);
    returns(A, 'b', FIBER - 0x3000);
    returns(A, 'a', FIBER);
    expect("1+a 1+ba 1-ba 1-a");
}

/* Go gives new threads small stacks among the others. Only the first address of these was known. */
static void range_that_holds_other_stacks(void **state) {
    (void)state;
    made(A, OWN_B - 0x4000, OWN_B);
    made(A, OWN_B - 0x8000, OWN_B - 0x4000);
    enters(B, 's', OWN_B - 64);
    enters(B, 'g', OWN_B - 0x4000 - 8);
    enters(A, 'a', OWN_A - 64);
    returns(B, 'g', OWN_B - 0x4000 - 8);
    returns(B, 's', OWN_B - 64);
    expect("1+s 2+g +a 2-g 1-s");
}

static void no_inner_stack_in_a_disproved_range(void **state) {
    (void)state;
    made(A, OWN_B - 0x4000, OWN_B);
    enters(A, 'r', OWN_B - 64);
    calls_set_thread(play.calls, play.thread = B);
    calls_begin_inner(play.calls);
    enters(B, 'g', OWN_B - 128);
    returns(B, 'g', OWN_B - 128);
    returns(B, 'r', OWN_B - 64);
    expect("1+r 1+gr 1-gr 1-r@0");
    expect_strays(0);
}

static void thousands_of_stacks(void **state) {
    (void)state;
    enum { MANY = 20000, BYTES = 2048 };
    for (uint64_t i = 0; i < MANY; i++)
        made(A, 0x10000000 + i * BYTES, 0x10000000 + (i + 1) * BYTES);
    for (uint64_t i = 0; i < MANY; i++) {
        enters(i & 1, 'a', 0x10000000 + (i + 1) * BYTES - 8);
        play.drawn[0] = '\0';
    }
    for (uint64_t i = 0; i < MANY; i++) {
        returns(A, 'a', 0x10000000 + (i + 1) * BYTES - 8);
        assert_int_equal(strchr(play.drawn, '!') || strchr(play.drawn, '+'), 0);
        play.drawn[0] = '\0';
        freed(A, 0x10000000 + i * BYTES, 0x10000000 + (i + 1) * BYTES);
    }
    expect_strays(0);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
