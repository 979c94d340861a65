/*
 * Description in the trace of a module that is loaded at several places with different patches:
 * the best result for each function, the worst for exits.
 */
#include "select/outcome.h"

#include <string.h>

#include "../trace/support.h"

#define TESTS                                                                                      \
    TEST(function_patched_in_one_place)                                                            \
    TEST(function_patched_nowhere_refused)                                                         \
    TEST(function_with_changed_text_refused)                                                       \
    TEST(function_never_patched_refused)                                                           \
    TEST(exactness_needs_every_load_place)                                                         \
    TEST(trap_in_one_place)                                                                        \
    TEST(unreachable_exits_have_no_tier)

enum { MOST_BYTES = 64 };

struct place { /* where the module is loaded: numbers of functions, −1 for none */
    int missed, inexact, trapped;
};

struct fixture {
    struct module *module;
    struct traced_module entry;
    struct trace_writer *writer;
    char *path;
};

static void set(uint8_t *bitmap, int i) {
    if (i >= 0)
        bitmap[i / 8] |= (uint8_t)(1u << i % 8);
}

/* Returns whether the description changes. */
static bool load(struct fixture *f, struct place p) {
    uint8_t missed[MOST_BYTES] = {0}, inexact[MOST_BYTES] = {0}, trapped[MOST_BYTES] = {0};
    struct plan_code code = {.missed = missed, .inexact = inexact, .trapped = trapped};
    set(missed, p.missed);
    set(inexact, p.inexact);
    set(trapped, p.trapped);
    bool news = outcome_add_load(&f->entry, &code, NULL);
    if (news)
        outcome_write(f->writer, &f->entry);
    return news;
}

static bool is_refused(const struct trace_module *m, const char *reason) {
    for (uint32_t i = 0; i < m->refused_count; i++) {
        if (!strcmp(m->refused[i].reason, reason))
            return true;
    }
    return false;
}

/* The number of traceable functions. */
static size_t traceable(const struct fixture *f) {
    size_t count = 0;
    for (size_t i = 0; i < plan_function_count(f->entry.plan); i++)
        count += plan_function(f->entry.plan, i)->entry != TIER_NONE;
    return count;
}

static struct trace_reader *read_back(struct fixture *f) {
    must_finish(f->writer);
    struct trace_reader *r = must_open_reader(f->path);
    assert_int_equal(trace_reader_module_count(r), 1);
    return r;
}

static void function_patched_in_one_place(void **state) {
    struct fixture *f = *state;
    size_t all = traceable(f);
    assert_true(load(f, (struct place){1, -1, -1}));
    assert_int_equal(f->entry.missed_count, 1);
    assert_true(load(f, (struct place){2, -1, -1}));
    assert_int_equal(f->entry.missed_count, 0);
    assert_false(load(f, (struct place){1, -1, -1}));
    struct trace_reader *r = read_back(f);
    const struct trace_module *m = trace_reader_module(r, 0);
    assert_int_equal(m->instrumented, all);
    uint64_t entries = 0;
    for (int t = TIER_PAD; t < TIER_COUNT; t++)
        entries += m->tiers[t];
    assert_int_equal(entries, all);
    assert_true(m->functions[1].instrumented && m->functions[2].instrumented);
    assert_false(is_refused(m, "no-address"));
    trace_reader_free(r);
}

static void function_patched_nowhere_refused(void **state) {
    struct fixture *f = *state;
    size_t all = traceable(f);
    load(f, (struct place){3, -1, -1});
    assert_false(load(f, (struct place){3, -1, -1}));
    struct trace_reader *r = read_back(f);
    const struct trace_module *m = trace_reader_module(r, 0);
    assert_int_equal(m->instrumented, all - 1);
    assert_false(m->functions[3].instrumented);
    assert_true(is_refused(m, "no-address"));
    trace_reader_free(r);
}

/* All functions are patched but NUMBER, whose text is writable or, if CHANGED, has changed. */
static void load_without(struct fixture *f, int number, bool changed) {
    uint8_t none[MOST_BYTES] = {0}, all[MOST_BYTES] = {0}, differs[MOST_BYTES] = {0};
    struct plan_code code = {.missed = none, .inexact = none, .trapped = none};
    set(all, number);
    set(differs, changed ? number : -1);
    assert_true(outcome_add_load(&f->entry, &code, &(struct left_out){all, differs}));
    outcome_write(f->writer, &f->entry);
}

static void function_with_changed_text_refused(void **state) {
    struct fixture *f = *state;
    size_t all = traceable(f);
    load(f, (struct place){-1, -1, -1});
    load_without(f, 3, true);
    assert_int_equal(f->entry.missed_count, 0);
    struct trace_reader *r = read_back(f);
    const struct trace_module *m = trace_reader_module(r, 0);
    assert_int_equal(m->instrumented, all);
    assert_true(is_refused(m, "text-changed"));
    assert_true(m->functions[3].partly && !m->functions[2].partly);
    trace_reader_free(r);
}

static void function_never_patched_refused(void **state) {
    struct fixture *f = *state;
    size_t all = traceable(f);
    load_without(f, 3, false);
    struct trace_reader *r = read_back(f);
    const struct trace_module *m = trace_reader_module(r, 0);
    assert_int_equal(m->instrumented, all - 1);
    assert_true(is_refused(m, "text-changed") && !is_refused(m, "no-address"));
    trace_reader_free(r);
}

static void exactness_needs_every_load_place(void **state) {
    struct fixture *f = *state;
    size_t all = traceable(f);
    load(f, (struct place){-1, -1, -1});
    assert_true(load(f, (struct place){-1, 4, -1}));
    assert_false(load(f, (struct place){-1, -1, -1}));
    struct trace_reader *r = read_back(f);
    const struct trace_module *m = trace_reader_module(r, 0);
    assert_int_equal(m->exact_exit, all - 1);
    assert_false(m->functions[4].exact);
    trace_reader_free(r);
}

static void trap_in_one_place(void **state) {
    struct fixture *f = *state;
    load(f, (struct place){-1, -1, -1});
    assert_true(load(f, (struct place){-1, -1, 5}));
    struct trace_reader *r = read_back(f);
    assert_int_equal(trace_reader_module(r, 0)->tiers[TIER_TRAP], 1);
    trace_reader_free(r);
}

static uint64_t exits_of(struct fixture *f, uint64_t ret[TIER_COUNT]) {
    struct trace_reader *r = read_back(f);
    uint64_t sum = 0;
    for (int t = 0; t < TIER_COUNT; t++)
        sum += ret[t] = trace_reader_module(r, 0)->exit_tiers[t];
    trace_reader_free(r);
    return sum;
}

/* More sites may be missed than exist, because one exit may have sites at several places. */
static void unreachable_exits_have_no_tier(void **state) {
    struct fixture *f = *state;
    uint8_t none[MOST_BYTES] = {0};
    uint64_t planned[TIER_COUNT] = {0}, exits[TIER_COUNT], all = 0;
    for (size_t i = 0; i < plan_function_count(f->entry.plan); i++) {
        const struct plan_function *g = plan_function(f->entry.plan, i);
        for (int t = 0; t < TIER_COUNT && g->entry != TIER_NONE; t++) {
            planned[t] += g->exits[t];
            all += g->exits[t];
        }
    }
    assert_true(planned[TIER_JUMP] > 3);
    struct plan_code code = {.missed = none, .inexact = none, .trapped = none};
    code.missed_exits[TIER_JUMP] = 2;
    code.trapped_exits[TIER_JUMP] = 1;
    code.missed_exits[TIER_HOP] = planned[TIER_HOP] + 7;
    assert_true(outcome_add_load(&f->entry, &code, NULL));
    outcome_write(f->writer, &f->entry);
    assert_int_equal(exits_of(f, exits), all);
    assert_int_equal(exits[TIER_JUMP], planned[TIER_JUMP] - 3);
    assert_int_equal(exits[TIER_HOP], 0);
    assert_int_equal(exits[TIER_TRAP], planned[TIER_TRAP] + 1);
    assert_int_equal(exits[TIER_NONE], planned[TIER_NONE] + 2 + planned[TIER_HOP]);
}

static int open_all(void **state) {
    struct fixture *f = mem_alloc(sizeof *f);
    struct traced_module *e = &f->entry;
    *state = f;
    f->path = scratch_new();
    f->writer = must_open_writer(f->path);
    assert_int_equal(module_load(SITES, 0, &f->module, NULL), 0);
    e->module = f->module;
    assert_int_equal(plan_new(f->module, &e->plan, NULL), 0);
    assert_in_range(plan_function_count(e->plan), 6, MOST_BYTES * 8);
    e->first_id = 1;
    e->choice.selected = mem_alloc(MOST_BYTES);
    memset(e->choice.selected, 0xff, MOST_BYTES);
    e->choice.filtered = mem_alloc(MOST_BYTES);
    return 0;
}

static int close_all(void **state) {
    struct fixture *f = *state;
    struct traced_module *e = &f->entry;
    scratch_free(f->path);
    plan_free(e->plan);
    module_free(f->module);
    free(e->choice.selected);
    free(e->choice.filtered);
    free(e->outcome.ever_selected);
    free(e->outcome.ever_patched);
    free(e->outcome.ever_inexact);
    free(e->outcome.ever_trapped);
    free(f);
    return 0;
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_all, close_all),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("select describe", tests, NULL, NULL);
}
