/* Threads that share one thread pointer, distinguished by the ranges of their stack pointers. */
#include "ring/stack_ranges.h"

#include <string.h>

#include "../trace/support.h"

#define TESTS                                                                                      \
    TEST(thread_found_by_its_stack)                                                                \
    TEST(neighbouring_stacks)                                                                      \
    TEST(stack_within_another_frame)                                                               \
    TEST(range_growth)                                                                             \
    TEST(distant_stacks)                                                                           \
    TEST(thread_on_a_foreign_stack)                                                                \
    TEST(dropped_ranges_not_found)                                                                 \
    TEST(range_limit)

enum {
    POINTER = 0x7000,
    OTHER = 0x8000,
    A = 0x100,
    B = 0x200,
    C = 0x300,
    SINK = 0x900,
    PAGE = 4096
};
enum { COUNT = 3 };

static struct stack_ranges all;

static void forget(void) { memset(&all, 0, sizeof all); }

/* The lane that the agent finds at this pointer and stack pointer; 0: none. */
static uint64_t lane_at(uint64_t pointer, uint64_t sp) {
    uint64_t lane = 0;
    for (size_t i = 0; i < all.count; i++) {
        const struct lane_stack_range *s = &all.at[i];
        if (s->thread_pointer != pointer || sp < s->low || sp >= s->high)
            continue;
        assert_true(!lane || lane == s->lane); /* no place belongs to two lanes */
        lane = s->lane;
    }
    return lane;
}

static void look(const struct stopped_thread *threads, size_t count) {
    assert_true(stack_ranges_claim(&all, threads, count, SINK));
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(lane_at(threads[i].pointer, threads[i].sp), 0);
}

static void thread_found_by_its_stack(void **state) {
    (void)state;
    const struct stopped_thread threads[COUNT] = {
        {POINTER, A, 0x7ffe0000, 0}, {POINTER, B, 0x500000, 0x500000}, {OTHER, C, 0x500000, 0}};
    forget();
    look(threads, COUNT);
    assert_int_equal(lane_at(POINTER, 0x7ffe0000 - 8 * PAGE), 0);
    assert_int_equal(lane_at(POINTER, 0x7ffe0000 - PAGE), A);
    assert_int_equal(lane_at(POINTER, 0x500000 - PAGE), B);
    assert_int_equal(lane_at(POINTER, 0x500001), 0); /* the other thread has begun there */
    assert_int_equal(lane_at(OTHER, 0x500000 - PAGE), C);
}

/* A range reaches at most half-way to other stacks, wherever they have begun and ended. */
static void neighbouring_stacks(void **state) {
    (void)state;
    struct stopped_thread threads[] = {
        {POINTER, A, 0x10000, 0}, {POINTER, B, 0x11000, 0x11000}, {POINTER, C, 0x11ff0, 0x12000}};
    forget();
    look(threads, COUNT);
    assert_int_equal(lane_at(POINTER, 0x107ff), A);
    assert_int_equal(lane_at(POINTER, 0x10fe0), B);
    assert_int_equal(lane_at(POINTER, 0x11fe0), C);
    assert_int_equal(lane_at(POINTER, 0x12001), 0);
    threads[1].sp = 0x10a00;
    look(threads, COUNT);
    assert_int_equal(lane_at(POINTER, 0x107ff), A);
    assert_int_equal(lane_at(POINTER, 0x10a00), B);
}

/* A stack in the frame of the thread's maker: the stack above it is the maker's. */
static void stack_within_another_frame(void **state) {
    (void)state;
    struct stopped_thread threads[] = {{POINTER, A, 0x100000, 0}, {POINTER, B, 0x110000, 0x110000}};
    forget();
    look(threads, 2);
    threads[0].sp = 0x110100;
    look(threads, 2);
    assert_int_equal(lane_at(POINTER, 0x110100), A);
    assert_int_equal(lane_at(POINTER, 0x10fff0), B);
    assert_int_equal(lane_at(POINTER, 0x0ffff0), A);
}

static void range_growth(void **state) {
    (void)state;
    struct stopped_thread t = {POINTER, A, 64 << 20, 64 << 20};
    int asked = 0;
    forget();
    for (; t.sp > 32 << 20; t.sp -= 1024)
        if (!lane_at(POINTER, t.sp)) {
            asked++;
            look(&t, 1);
        }
    assert_in_range(asked, 2, 16);
    assert_int_equal(all.count, 1);
}

static void distant_stacks(void **state) {
    (void)state;
    struct stopped_thread t = {POINTER, A, 0x100000, 0};
    forget();
    look(&t, 1);
    t.sp = 0x900000;
    look(&t, 1);
    assert_int_equal(all.count, 2);
    assert_int_equal(lane_at(POINTER, 0x500000), 0);
}

/* Events of two threads on one stack belong to neither. */
static void thread_on_a_foreign_stack(void **state) {
    (void)state;
    struct stopped_thread threads[] = {{POINTER, A, 0x100000, 0}, {POINTER, B, 0x500000, 0}};
    forget();
    look(threads, 2);
    threads[1].sp = 0x100000;
    look(threads, 2);
    assert_int_equal(lane_at(POINTER, 0x100000), SINK);
    forget();
    look(threads, 2);
    assert_int_equal(lane_at(POINTER, 0x100000), SINK);
}

static void dropped_ranges_not_found(void **state) {
    (void)state;
    const struct stopped_thread threads[] = {{POINTER, A, 0x100000, 0}, {OTHER, B, 0x100000, 0}};
    forget();
    look(threads, 2);
    stack_ranges_drop(&all, POINTER);
    assert_int_equal(lane_at(POINTER, 0x100000), 0);
    assert_int_equal(lane_at(OTHER, 0x100000), B);
}

static void range_limit(void **state) {
    (void)state;
    struct stopped_thread t = {POINTER, A, 0x100000, 0};
    forget();
    for (int i = 0; i < LANE_STACK_RANGES_MOST; i++, t.sp += 1 << 20)
        look(&t, 1);
    assert_false(stack_ranges_claim(&all, &t, 1, SINK));
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
