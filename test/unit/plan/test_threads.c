/*
 * A plan is the same whatever the number of threads that make it: functions, sites, and all machine
 * code.
 *
 *     test_threads FILE…           (files that do not exist are left out)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "base/workers.h"
#include "plan/plan.h"

enum { GAP = 1 << 20, PAGE = 4096 };

struct made { /* a plan, and its code for one load address */
    struct plan *plan;
    struct plan_view view;
    struct plan_code code;
    int rc; /* of plan_emit() */
};

static void make(const struct module *module, size_t threads, struct made *ret) {
    struct err err;
    workers_limit(threads);
    assert_int_equal(plan_new(module, &ret->plan, &err), 0);
    plan_view_init(&ret->view, ret->plan);
    const struct plan_request request = {.area = (module->high + GAP) & ~(taddr_t)(PAGE - 1),
                                         .area_size = plan_area_size(ret->plan),
                                         .first_id = 100,
                                         .ring_bytes = 1 << 16};
    ret->rc = plan_emit(ret->plan, &request, &ret->code, &err);
}

static void unmake(struct made *made) {
    if (made->rc == 0)
        plan_code_done(&made->code);
    plan_view_done(&made->view);
    plan_free(made->plan);
}

static void check_functions(const struct plan *a, const struct plan *b) {
    assert_int_equal(plan_function_count(a), plan_function_count(b));
    for (size_t i = 0; i < plan_function_count(a); i++) {
        const struct plan_function *f = plan_function(a, i), *g = plan_function(b, i);
        assert_int_equal(f->addr, g->addr);
        assert_int_equal(f->size, g->size);
        assert_ptr_equal(f->name, g->name);
        assert_int_equal(f->entry, g->entry);
        assert_int_equal(f->refused, g->refused);
        assert_memory_equal(f->exits, g->exits, sizeof f->exits);
        assert_int_equal(f->exact, g->exact);
        assert_int_equal(plan_group(a, (uint32_t)i), plan_group(b, (uint32_t)i));
    }
}

static void check_places(const struct plan_view *a, const struct plan_view *b) {
    assert_int_equal(a->windows.count, b->windows.count);
    for (size_t i = 0; i < a->windows.count; i++) {
        const struct plan_window *v = &a->windows.at[i], *w = &b->windows.at[i];
        assert_int_equal(v->start, w->start);
        assert_int_equal(v->end, w->end);
        assert_int_equal(v->hole, w->hole);
        assert_int_equal(v->tier, w->tier);
        assert_int_equal(v->function, w->function);
    }
    assert_int_equal(a->places.count, b->places.count);
    for (size_t i = 0; i < a->places.count; i++) {
        const struct plan_place *p = &a->places.at[i], *q = &b->places.at[i];
        assert_int_equal(p->at, q->at);
        assert_int_equal(p->kind, q->kind);
        assert_int_equal(p->tier, q->tier);
        assert_int_equal(p->refused, q->refused);
        assert_int_equal(p->function, q->function);
        assert_int_equal(p->window, q->window);
    }
}

static void check_same(const struct made *a, const struct made *b) {
    check_functions(a->plan, b->plan);
    check_places(&a->view, &b->view);
    assert_int_equal(plan_area_size(a->plan), plan_area_size(b->plan));
    assert_int_equal(plan_lane_write(a->plan), plan_lane_write(b->plan));
    assert_int_equal(a->rc, b->rc);
    if (a->rc)
        return;
    assert_int_equal(a->code.area_used, b->code.area_used);
    assert_memory_equal(a->code.area, b->code.area, a->code.area_used);
    assert_int_equal(a->code.patch_count, b->code.patch_count);
}

static void threads_change_nothing(void **state) {
    static const size_t numbers[] = {2, 3, 8};
    struct module *module = *state;
    struct made one;
    make(module, 1, &one);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct made many;
        make(module, numbers[i], &many);
        check_same(&one, &many);
        unmake(&many);
    }
    unmake(&one);
}

int main(int argc, char **argv) {
    ARRAY(struct CMUnitTest) tests = {0};
    ARRAY(struct module *) modules = {0};
    for (int i = 1; i < argc; i++) {
        struct module *m;
        struct err err;
        if (module_load(argv[i], 0, &m, &err) < 0)
            continue;
        ARRAY_PUSH(&modules, m);
        ARRAY_PUSH(&tests, ((struct CMUnitTest){argv[i], threads_change_nothing, NULL, NULL, m}));
    }
    int failed =
        tests.count ? _cmocka_run_group_tests("plans", tests.at, tests.count, NULL, NULL) : 1;
    for (size_t i = 0; i < modules.count; i++)
        module_free(modules.at[i]);
    ARRAY_FREE(&modules);
    ARRAY_FREE(&tests);
    return failed;
}
