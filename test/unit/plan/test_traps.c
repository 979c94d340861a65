/* The last tier: sites that get traps, and sites that never do (traps.S). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "base/mem.h"
#include "plan/plan.h"

#define TESTS                                                                                      \
    TEST(no_traps_for_unnamed_functions)                                                           \
    TEST(trap_for_an_entry_without_room)                                                           \
    TEST(branch_into_a_trap_site)                                                                  \
    TEST(trap_for_an_exit_without_room)                                                            \
    TEST(no_trap_on_unmovable_instructions)                                                        \
    TEST(trap_instead_of_a_lost_pun)                                                               \
    TEST(no_trap_after_withdrawal)                                                                 \
    TEST(traps_in_the_view)                                                                        \
    TEST(trap_tier_alone)

enum { FIRST_ID = 1000, RING_BYTES = 1 << 16, PAGE = 0x1000, GAP = 0x100000, BREAKPOINT = 0xcc };

struct trial {
    struct module *module;
    struct plan *plan;
    struct plan_code code;
    taddr_t area;
};

static const char *file;

static uint32_t number(const struct trial *t, const char *name) {
    for (size_t i = 0; i < plan_function_count(t->plan); i++) {
        const struct plan_function *f = plan_function(t->plan, i);
        if (f->name && !strcmp(f->name, name))
            return (uint32_t)i;
    }
    fail_msg("no function %s", name);
    return 0;
}

static const struct plan_function *function(const struct trial *t, const char *name) {
    return plan_function(t->plan, number(t, name));
}

static uint8_t *bitmap_of(const struct trial *t, const char *const *names) {
    uint8_t *bits = mem_alloc(plan_function_count(t->plan) / 8 + 1);
    for (; *names; names++) {
        uint32_t i = number(t, *names);
        bits[i / 8] |= (uint8_t)(1u << i % 8);
    }
    return bits;
}

static struct trial open_by(enum tier only) {
    struct trial t = {0};
    assert_int_equal(module_load(file, 0, &t.module, NULL), 0);
    assert_int_equal(plan_new_with_tier(t.module, only, &t.plan, NULL), 0);
    t.area = (t.module->high + GAP) & ~(taddr_t)(PAGE - 1);
    return t;
}

static void emit(struct trial *t, size_t islands, const uint8_t *without) {
    struct plan_request request = {.area = t->area,
                                   .area_size = plan_area_size(t->plan),
                                   .first_id = FIRST_ID,
                                   .most_islands = islands,
                                   .without_traps = without,
                                   .ring_bytes = RING_BYTES};
    assert_int_equal(plan_emit(t->plan, &request, &t->code, NULL), 0);
}

/* A trial whose user has named the functions NAMES (NULL-terminated). */
static struct trial open_named(const char *const *names, size_t islands) {
    struct trial t = open_by(TIER_NONE);
    AUTO_FREE uint8_t *bits = bitmap_of(&t, names);
    plan_permit_traps(t.plan, bits);
    emit(&t, islands, NULL);
    return t;
}
#define NAMED(islands, ...) open_named((const char *const[]){__VA_ARGS__, NULL}, islands)

static void close_trial(struct trial *t) {
    plan_code_done(&t->code);
    plan_free(t->plan);
    module_free(t->module);
}

static const struct trap *trap_at(const struct trial *t, vaddr_t at) {
    for (size_t i = 0; i < t->code.trap_count; i++) {
        if (t->code.traps[i].at == at)
            return &t->code.traps[i];
    }
    return NULL;
}

static vaddr_t place(const struct trial *t, const char *name) {
    return module_symbol_named(t->module, name)->addr;
}

/* A breakpoint at AT leads to the stub of AT. */
static void assert_trap(const struct trial *t, vaddr_t at, const char *owner) {
    const struct trap *trap = trap_at(t, at);
    const struct patch *patch = NULL;
    assert_non_null(trap);
    assert_int_equal(trap->function, number(t, owner));
    for (size_t i = 0; i < t->code.patch_count; i++) {
        if (t->code.patches[i].at == at)
            patch = &t->code.patches[i];
    }
    assert_non_null(patch);
    assert_int_equal(patch->size, 1);
    assert_int_equal(patch->after[0], BREAKPOINT);
    for (size_t i = 0; i < t->code.mark_count; i++) {
        const struct mark *m = &t->code.marks[i];
        if (m->offset == trap->trampoline && m->kind == MARK_STUB) {
            assert_int_equal(m->orig, at);
            assert_true(m->at_start);
            return;
        }
    }
    fail_msg("no stub");
}

static void no_traps_for_unnamed_functions(void **state) {
    (void)state;
    struct trial t = open_by(TIER_NONE);
    emit(&t, 0, NULL);
    assert_int_equal(t.code.trap_count, 0);
    assert_int_equal(function(&t, "loops")->entry, TIER_NONE);
    assert_true(function(&t, "loops")->trap);
    assert_int_equal(function(&t, "narrow_exit")->exits[TIER_NONE], 1);
    close_trial(&t);
}

static void trap_for_an_entry_without_room(void **state) {
    (void)state;
    struct trial t = NAMED(0, "loops");
    const struct plan_function *f = function(&t, "loops");
    assert_int_equal(f->entry, TIER_TRAP);
    assert_int_equal(f->refused, REFUSED_NOT);
    assert_int_equal(f->exits[TIER_NONE], 0);
    assert_true(f->exact);
    assert_trap(&t, place(&t, "loops"), "loops");
    assert_int_equal(function(&t, "skips_a_prefix")->entry, TIER_NONE);
    close_trial(&t);
}

static void branch_into_a_trap_site(void **state) {
    (void)state;
    struct trial t = NAMED(0, "skips_a_prefix");
    assert_trap(&t, place(&t, "skips_a_prefix"), "skips_a_prefix");
    close_trial(&t);
}

static void trap_for_an_exit_without_room(void **state) {
    (void)state;
    struct trial t = NAMED(0, "narrow_exit");
    const struct plan_function *f = function(&t, "narrow_exit");
    assert_int_equal(f->entry, TIER_JUMP);
    assert_int_equal(f->exits[TIER_TRAP], 1);
    assert_int_equal(f->exits[TIER_NONE], 0);
    assert_true(f->exact);
    assert_int_equal(t.code.trap_count, 1);
    assert_trap(&t, place(&t, "narrow_return"), "narrow_exit");
    close_trial(&t);
}

static void no_trap_on_unmovable_instructions(void **state) {
    (void)state;
    struct trial t = NAMED(0, "calls_first", "asks_the_kernel", "breaks", "counts");
    assert_int_equal(function(&t, "calls_first")->refused, REFUSED_CALL);
    assert_int_equal(function(&t, "asks_the_kernel")->refused, REFUSED_SYSCALL);
    assert_int_equal(function(&t, "breaks")->refused, REFUSED_UNRELOCATABLE);
    assert_int_equal(function(&t, "counts")->exits[TIER_NONE], 1);
    assert_null(trap_at(&t, place(&t, "counting")));
    close_trial(&t);
}

static void trap_instead_of_a_lost_pun(void **state) {
    (void)state;
    struct trial with = NAMED(8, "puns"), without = NAMED(0, "puns"), unnamed = NAMED(0, "loops");
    uint32_t i = number(&with, "puns");
    assert_int_equal(function(&with, "puns")->entry, TIER_PUN);
    assert_int_equal(with.code.trap_count, 0);
    assert_int_equal(without.code.missed[i / 8] >> i % 8 & 1, 0);
    assert_int_equal(without.code.trapped[i / 8] >> i % 8 & 1, 1);
    assert_trap(&without, place(&without, "puns"), "puns");
    assert_int_equal(unnamed.code.missed[i / 8] >> i % 8 & 1, 1);
    close_trial(&with);
    close_trial(&without);
    close_trial(&unnamed);
}

static void no_trap_after_withdrawal(void **state) {
    (void)state;
    struct trial t = open_by(TIER_NONE);
    const char *const names[] = {"loops", "narrow_exit", "puns", NULL};
    AUTO_FREE uint8_t *bits = bitmap_of(&t, names);
    plan_permit_traps(t.plan, bits);
    emit(&t, 0, bits);
    assert_int_equal(t.code.trap_count, 0);
    close_trial(&t);
}

static void traps_in_the_view(void **state) {
    (void)state;
    struct trial t = NAMED(0, "loops");
    struct plan_view view;
    unsigned traps = 0;
    plan_view_init(&view, t.plan);
    for (size_t i = 0; i < view.windows.count; i++) {
        const struct plan_window *w = &view.windows.at[i];
        if (w->tier != TIER_TRAP)
            continue;
        assert_int_equal(w->start, place(&t, "loops"));
        assert_int_equal(w->written, 1);
        traps++;
    }
    assert_int_equal(traps, 1);
    plan_view_done(&view);
    close_trial(&t);
}

static void trap_tier_alone(void **state) {
    (void)state;
    static const enum tier tiers[] = {TIER_JUMP, TIER_HOP, TIER_PUN, TIER_TRAP};
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        struct trial t = open_by(tiers[i]);
        size_t n = plan_function_count(t.plan), served = 0;
        AUTO_FREE uint8_t *all = mem_alloc(n / 8 + 1);
        memset(all, 0xff, n / 8 + 1);
        plan_permit_traps(t.plan, all);
        for (size_t k = 0; k < n; k++) {
            const struct plan_function *f = plan_function(t.plan, k);
            assert_true(f->entry == TIER_NONE || f->entry == tiers[i]);
            assert_true((f->entry == TIER_NONE) == (f->refused != REFUSED_NOT));
            for (int tier = TIER_NONE + 1; tier < TIER_COUNT; tier++)
                assert_true(!f->exits[tier] || tier == (int)tiers[i]);
            served += f->entry != TIER_NONE;
        }
        assert_true(served > 0);
        close_trial(&t);
    }
}

int main(int argc, char **argv) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    (void)argc;
    file = argv[1];
    return cmocka_run_group_tests_name("plan traps", tests, NULL, NULL);
}
