/* Callers of a function, found in a slice of this test's own stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/clock.h"
#include "recorded.h"
#include "ring/callers.h"

#define TESTS                                                                                      \
    TEST(separate_chains_per_trace)                                                                \
    TEST(newer_code_is_no_caller)                                                                  \
    TEST(missed_callers_of_asked_functions)

enum { WORDS = 64, MOST = 8 };

static void put(struct stack_slice *s, uint32_t id, uint64_t value) {
    assert_true(slice_take(s, &(struct trace_event){1, id << 2 | EVENT_CONTROL, value}));
}

/* Makes the slice that an entry here would record: the stack, with redzones of sanitizers. */
static __attribute__((noinline, no_sanitize("address"))) uint64_t
slice_here(struct stack_slice *ret) {
    const uint64_t *frame = __builtin_frame_address(0); /* the caller's rbp, the return address */
    uint64_t sp = (uintptr_t)(frame + 1);
    put(ret, SLICE_BEGIN, 0);
    put(ret, SLICE_END, sp + WORDS * sizeof *frame);
    put(ret, SLICE_REGISTER + 1, frame[0]);
    for (uint32_t i = 0; i < WORDS; i++)
        put(ret, SLICE_WORD + i, frame[1 + i]);
    return sp;
}

static __attribute__((noinline)) uint32_t find_here(struct callers *callers,
                                                    struct chains *chains) {
    struct stack_slice slice = {0};
    uint64_t sp = slice_here(&slice);
    struct trace_event entry = {clock_ticks(), EVENT_ENTRY, sp};
    uint32_t chain = callers_find(callers, &slice, &entry, chains);
    slice_done(&slice);
    return chain;
}

static __attribute__((noinline)) uint32_t find_from_one(struct callers *c, struct chains *chains) {
    uint32_t chain = find_here(c, chains);
    __asm__ volatile("" ::: "memory");
    return chain;
}

static __attribute__((noinline)) uint32_t find_from_two(struct callers *c, struct chains *chains) {
    uint32_t chain = find_from_one(c, chains);
    __asm__ volatile("" ::: "memory");
    return chain;
}

/* Starts a trace and finds one chain; its first functions are WANT. */
static __attribute__((noinline)) void
check_round(struct callers *callers, uint32_t (*find_from)(struct callers *, struct chains *),
            const char *const *want) {
    AUTO_FREE char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct chains *chains = chains_new(w);
    struct trace_chain at = {.callers = find_from(callers, chains)};
    chains_write_new(chains);
    chains_free(chains);
    must_finish(w);
    struct trace_reader *r = must_open_reader(path);
    for (; *want; want++) {
        assert_true(trace_reader_chain(r, at.callers, &at));
        assert_string_equal(trace_reader_place(r, at.place)->function, *want);
    }
    trace_reader_free(r);
    scratch_free(steal(path));
}

/* The memory of a freed trace may be reused by another one. */
static void separate_chains_per_trace(void **state) {
    static const char *const one[] = {"find_here", "find_from_one", NULL}, *const two[] = {
                                                                               "find_here",
                                                                               "find_from_one",
                                                                               "find_from_two",
                                                                               NULL};
    enum { ROUNDS = 40 };
    (void)state;
    struct callers *callers = callers_new(getpid(), MOST, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        check_round(callers, find_from_one, one);
        check_round(callers, find_from_two, two);
    }
    callers_unref(callers);
}

/* The ring is read after it was written: a file that is mapped then was mapped all along. */
static void newer_code_is_no_caller(void **state) {
    (void)state;
    const uint64_t sp = 0x7fff0000;
    AUTO_FREE char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct chains *chains = chains_new(w);
    struct callers *callers = callers_new(getpid(), MOST, NULL);
    const uint64_t before = clock_ticks();
    void *library = dlopen(SITES, RTLD_NOW);
    assert_non_null(library);
    const uint64_t inside = (uintptr_t)dlsym(library, "site_plain") + 4;
    callers_look(callers, getpid());
    const uint64_t moments[] = {before, clock_ticks()};
    for (int i = 0; i < 2; i++) {
        struct stack_slice slice = {0};
        struct trace_event entry = {moments[i], EVENT_ENTRY, sp};
        put(&slice, SLICE_BEGIN, 0);
        put(&slice, SLICE_END, sp + 2 * sizeof inside);
        put(&slice, SLICE_WORD, inside);
        uint32_t chain = callers_find(callers, &slice, &entry, chains);
        assert_int_equal(chain, i ? CHAIN_FIRST : CHAIN_LOST);
        slice_done(&slice);
    }
    callers_unref(callers);
    chains_free(chains);
    dlclose(library);
    must_finish(w);
    scratch_free(steal(path));
}

enum { ASKED_ID = 70000, OTHER_ID };

/* The chain of ID's entry behind SLICES beginnings of slices, or CHAIN_NONE. */
static uint32_t pass(struct callers *callers, struct chains *chains, int slices, uint32_t id) {
    struct stack_slice slice = {0};
    struct trace_event ret[CALLERS_EVENTS];
    while (slices--)
        put(&slice, SLICE_BEGIN, 0);
    struct trace_event entry = {1, id << 2 | EVENT_ENTRY, 0x7fff0000};
    size_t n = callers_pass(callers, &slice, chains, &entry, ret);
    assert_int_equal(ret[n - 1].site, entry.site);
    slice_done(&slice);
    return n == 2 ? (uint32_t)ret[0].sp : CHAIN_NONE;
}

/* A full ring has room for neither slice nor entry, or for one of the two, or gets room in between.
 */
static void missed_callers_of_asked_functions(void **state) {
    (void)state;
    AUTO_FREE char *path = scratch_new();
    struct trace_writer *w = must_open_writer(path);
    struct chains *chains = chains_new(w);
    struct stack_functions *asked = stack_functions_new();
    const uint8_t odd[] = {0x02};
    stack_functions_add(asked, ASKED_ID - 1, odd, 2);
    struct callers *callers = callers_new(getpid(), MOST, asked);
    assert_int_equal(pass(callers, chains, 0, ASKED_ID), CHAIN_MISSED);
    assert_int_equal(pass(callers, chains, 1, ASKED_ID), CHAIN_MISSED);
    assert_int_equal(pass(callers, chains, 0, OTHER_ID), CHAIN_NONE);
    assert_int_equal(pass(callers, chains, 1, OTHER_ID), CHAIN_NONE);
    assert_int_equal(pass(callers, chains, 0, ASKED_ID - 1), CHAIN_NONE);
    assert_int_equal(pass(callers, chains, 0, STACK_MADE_LOW), CHAIN_NONE);
    callers_unref(callers);
    stack_functions_free(asked);
    chains_free(chains);
    must_finish(w);
    scratch_free(steal(path));
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("ring callers", tests, NULL, NULL);
}
