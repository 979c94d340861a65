/* Patched code, run in this process: it computes the same results, and its events nest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/prctl.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan/plan.h"

#define TESTS                                                                                      \
    TEST(nested_events)                                                                            \
    TEST(balanced_events_of_exact_functions)                                                       \
    TEST(call_counts)                                                                              \
    TEST(selected_functions_only)                                                                  \
    TEST(undo_restores_the_file_bytes)

enum { RING_BYTES = 1 << 22, ROUNDS = 200, MAX_DEPTH = 4096, PAGE = 4096 };

static struct module *module;
static struct plan *plan;
static struct plan_code code;
static int (*workload)(int);
static taddr_t bias;
static struct lane *lane;
static const char *path;
static int expected; /* computed before patching */

static void *map_near(taddr_t text, size_t size) {
    enum { STEP = 0x100000, TRIES = 512 };
    for (taddr_t at = (text & ~(taddr_t)(STEP - 1)) - STEP; at > text - (taddr_t)TRIES * STEP;
         at -= STEP) {
        void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (p != MAP_FAILED)
            return p;
    }
    return NULL;
}

static void apply(void) {
    for (size_t i = 0; i < code.patch_count; i++)
        memcpy((void *)(code.patches[i].at + bias), code.patches[i].after, code.patches[i].size);
}

static void undo(void) {
    for (size_t i = 0; i < code.patch_count; i++)
        memcpy((void *)(code.patches[i].at + bias), code.patches[i].before, code.patches[i].size);
}

static void open_text(void) {
    taddr_t start = (module->text_low + bias) & ~(taddr_t)(PAGE - 1);
    size_t size = module->text_high + bias - start;
    assert_int_equal(mprotect((void *)start, size, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
}

static void emit(const uint8_t *selected, enum overflow overflow) {
    plan_code_done(&code);
    size_t size = plan_area_size(plan);
    void *area = map_near(module->text_low + bias, size);
    assert_non_null(area);
    struct plan_request request = {.bias = bias,
                                   .area = (taddr_t)(uintptr_t)area,
                                   .area_size = size,
                                   .selected = selected,
                                   .ring_bytes = RING_BYTES,
                                   .overflow = overflow};
    assert_int_equal(plan_emit(plan, &request, &code, NULL), 0);
    memcpy(area, code.area, code.area_used);
}

static int prepare(void **state) {
    (void)state;
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        fail_msg("%s", dlerror());
    *(void **)&workload = dlsym(library, "workload");
    struct link_map *map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    bias = map->l_addr;
    expected = workload(ROUNDS);
    assert_int_equal(module_load(path, 0, &module, NULL), 0);
    assert_int_equal(plan_new(module, &plan, NULL), 0);
    open_text();
    lane = mmap(NULL, LANE_RING + RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    return syscall(SYS_arch_prctl, ARCH_SET_GS, (unsigned long)lane) != 0;
}

static int finish(void **state) {
    (void)state;
    plan_code_done(&code);
    plan_free(plan);
    module_free(module);
    return 0;
}

static size_t run(void) {
    memset(lane, 0, LANE_RING + RING_BYTES);
    lane->limit = RING_BYTES;
    apply();
    int got = workload(ROUNDS);
    undo();
    assert_int_equal(got, expected);
    return lane->head / sizeof(struct event);
}

static const struct event *event(size_t i) {
    return (const struct event *)((const char *)lane + LANE_RING) + i;
}

static uint32_t number_of(const char *name) {
    for (size_t i = 0; i < plan_function_count(plan); i++) {
        const char *n = plan_function(plan, i)->name;
        if (n && !strcmp(n, name))
            return (uint32_t)i;
    }
    fail_msg("no function %s", name);
    return 0;
}

static size_t count(size_t events, uint32_t function, enum event_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < events; i++)
        n += event(i)->site == (function << 2 | (uint32_t)kind);
    return n;
}

static size_t count_exits(size_t events, uint32_t function) {
    return count(events, function, EVENT_RETURN) + count(events, function, EVENT_TAIL);
}

/* ---- readers close frames by stack pointer; only inexact functions may need that ---- */

struct stack {
    struct event open[MAX_DEPTH];
    size_t depth;
};

/* Exits too far from any room for puns are not patched here. */
static bool is_exact_function(uint32_t i) {
    return plan_function(plan, i)->exact && !(code.inexact[i / 8] >> i % 8 & 1);
}

static bool is_exact(const struct event *e) { return is_exact_function(e->site >> 2); }

static bool is_open(const struct stack *s, uint64_t sp) {
    return s->depth && event_sp(&s->open[s->depth - 1]) <= sp;
}

/* Closes frames below SP, and the one at SP at a new entry. */
static void unwind(struct stack *s, uint64_t sp) {
    while (is_open(s, sp))
        assert_false(is_exact(&s->open[--s->depth]));
}

static void take(struct stack *s, const struct event *e) {
    if ((e->site & 3) == EVENT_ENTRY) {
        unwind(s, event_sp(e));
        assert_true(s->depth < MAX_DEPTH);
        s->open[s->depth++] = *e;
        return;
    }
    unwind(s, event_sp(e) - 1);
    if (!is_open(s, event_sp(e))) { /* the exit of a function whose entry is not traced */
        assert_int_equal(plan_function(plan, e->site >> 2)->entry, TIER_NONE);
        return;
    }
    s->depth--;
    assert_int_equal(e->site >> 2, s->open[s->depth].site >> 2);
}

static void nested_events(void **state) {
    (void)state;
    static struct stack stack;
    emit(NULL, OVERFLOW_WAIT);
    size_t events = run();
    assert_true(events > 1000);
    for (size_t i = 0; i < events; i++) {
        assert_true(!i || event(i)->clock_sp >> 16 >= event(i - 1)->clock_sp >> 16);
        take(&stack, event(i));
    }
    unwind(&stack, UINT32_MAX);
}

static void balanced_events_of_exact_functions(void **state) {
    (void)state;
    emit(NULL, OVERFLOW_DROP);
    size_t events = run(), exact = 0;
    for (uint32_t i = 0; i < plan_function_count(plan); i++) {
        const struct plan_function *f = plan_function(plan, i);
        if (f->entry == TIER_NONE || !is_exact_function(i))
            continue;
        exact++;
        assert_int_equal(count_exits(events, i), count(events, i, EVENT_ENTRY));
    }
    assert_true(exact > 5);
}

static void call_counts(void **state) {
    (void)state;
    emit(NULL, OVERFLOW_DROP);
    size_t events = run();
    assert_int_equal(count(events, number_of("workload"), EVENT_ENTRY), 1);
    assert_int_equal(count(events, number_of("many"), EVENT_ENTRY), ROUNDS);
    assert_int_equal(count(events, number_of("make_big"), EVENT_ENTRY), ROUNDS);
}

static void selected_functions_only(void **state) {
    (void)state;
    uint32_t fib = number_of("fib");
    uint8_t *selected = calloc(1, plan_function_count(plan) / 8 + 1);
    selected[fib / 8] = (uint8_t)(1 << fib % 8);
    emit(selected, OVERFLOW_OVERWRITE);
    size_t events = run();
    assert_true(events > 0);
    assert_int_equal(count(events, fib, EVENT_ENTRY) + count_exits(events, fib), events);
    assert_int_equal(count(events, fib, EVENT_ENTRY) * 2, events);
    free(selected);
}

static void undo_restores_the_file_bytes(void **state) {
    (void)state;
    emit(NULL, OVERFLOW_WAIT);
    run();
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *s = &module->sections[i];
        if (s->executable && s->bytes)
            assert_memory_equal((void *)(s->start + bias), s->bytes, s->size);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    path = argv[1];
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, prepare, finish);
}
