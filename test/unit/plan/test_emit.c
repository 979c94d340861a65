/* Output of plan_emit() for all kinds of requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "arch/x86_64/stub.h"
#include "base/mem.h"
#include "fixture.h"
#include "route.h"

#define TESTS                                                                                      \
    TEST(agent_at_the_start_of_the_area)                                                           \
    TEST(ids_from_the_first)                                                                       \
    TEST(patches_jump_into_the_area)                                                               \
    TEST(empty_selection)                                                                          \
    TEST(sites_of_a_selected_function)                                                             \
    TEST(caller_check_in_filtered_stubs)                                                           \
    TEST(filtered_call_lasts_through_a_tail_call)                                                  \
    TEST(filtered_call_ends_at_another_entry)                                                      \
    TEST(unfiltered_call_ends_with_its_function)                                                   \
    TEST(control_sites_without_a_selection)                                                        \
    TEST(parts_of_a_function)                                                                      \
    TEST(hook_before_the_entry_event)                                                              \
    TEST(hook_without_a_selection)                                                                 \
    TEST(unpatchable_hook_is_an_error)                                                             \
    TEST(area_out_of_reach_is_an_error)                                                            \
    TEST(functions_out_of_reach_are_missed)                                                        \
    TEST(second_area_beyond_the_first)                                                             \
    TEST(second_area_for_unreached_ends)                                                           \
    TEST(sites_in_the_callers_memory)                                                              \
    TEST(range_wanted_by_a_selection)                                                              \
    TEST(area_without_room_is_an_error)                                                            \
    TEST(functions_without_room_are_missed)                                                        \
    TEST(room_of_a_selection_only)                                                                 \
    TEST(foreign_machine_is_an_error)                                                              \
    TEST(text_relocations_refuse_all_functions)                                                    \
    TEST(code_beyond_branch_range_is_an_error)                                                     \
    TEST(module_without_code)

enum { FIRST_ID = 77, GIGABYTE = 1 << 30 };

static struct fixture *fixture;
static struct plan_request request;
static struct plan_code code;

static int prepare(void **state) {
    (void)state;
    request = (struct plan_request){.bias = 0x7f0000000000,
                                    .area = 0x7f0010000000,
                                    .area_size = plan_area_size(fixture->named_plan),
                                    .first_id = FIRST_ID,
                                    .ring_bytes = 1 << 12,
                                    .overflow = OVERFLOW_DROP,
                                    .most_islands = 16};
    return 0;
}

static int clean(void **state) {
    (void)state;
    plan_code_done(&code);
    return 0;
}

static void emit(void) {
    assert_int_equal(plan_emit(fixture->named_plan, &request, &code, NULL), 0);
}

static uint32_t number_of(const char *name) {
    vaddr_t addr = fixture_place(fixture, name);
    for (size_t i = 0; i < plan_function_count(fixture->named_plan); i++) {
        if (plan_function(fixture->named_plan, i)->addr == addr)
            return (uint32_t)i;
    }
    fail();
    return 0;
}

static const struct mark *stub_at(vaddr_t addr, uint8_t hook) {
    for (size_t i = 0; i < code.mark_count; i++) {
        const struct mark *m = &code.marks[i];
        if (m->kind == MARK_STUB && m->orig == addr && (m->variant & STUB_HOOK) == hook)
            return m;
    }
    return NULL;
}

static uint32_t site_of(const struct mark *m) {
    uint32_t site;
    memcpy(&site, code.area + m->offset + stub_site_offset(m->variant, code.overflow), sizeof site);
    return site;
}

static void agent_at_the_start_of_the_area(void **state) {
    (void)state;
    emit();
    assert_memory_equal(code.area, agent_bytes, agent_size);
    assert_int_equal(code.marks[0].kind, MARK_NONE);
    assert_int_equal(code.overflow, OVERFLOW_DROP);
    assert_true(code.area_used <= plan_area_size(fixture->named_plan));
}

static void ids_from_the_first(void **state) {
    (void)state;
    emit();
    const struct mark *m = stub_at(fixture_place(fixture, "ordinary"), 0);
    assert_non_null(m);
    assert_int_equal(site_of(m), (FIRST_ID + number_of("ordinary")) << 2 | EVENT_ENTRY);
}

static void patches_jump_into_the_area(void **state) {
    (void)state;
    emit();
    assert_true(code.patch_count > 20);
    for (size_t i = 0; i < code.patch_count; i++) {
        struct scene scene = {fixture->named, &code, request.bias, request.area};
        struct route r;
        assert_true(route_follow(&scene, code.patches[i].at, &r));
        assert_in_range(r.offset, agent_size, code.area_used);
    }
}

static void empty_selection(void **state) {
    (void)state;
    uint8_t none[64] = {0};
    request.selected = none;
    emit();
    assert_int_equal(code.patch_count, 0);
    assert_int_equal(code.sites, 0);
    assert_int_equal(code.area_used, agent_size);
}

static void sites_of_a_selected_function(void **state) {
    (void)state;
    uint8_t selected[64] = {0};
    uint32_t n = number_of("conditional_tail");
    selected[n / 8] = (uint8_t)(1 << n % 8);
    request.selected = selected;
    emit();
    assert_int_equal(code.sites, 3); /* entry, conditional tail call, return */
    for (size_t i = 0; i < code.mark_count; i++) {
        if (code.marks[i].kind == MARK_STUB)
            assert_int_equal(site_of(&code.marks[i]) >> 2, FIRST_ID + n);
    }
}

/* ---- library calls ---- */

static uint8_t selected[64], filtered[64];

/* Selects only NAME and OTHER, if given; FILTER: only for calls from the caller. */
static void select_two(const char *name, const char *other, bool filter) {
    memset(selected, 0, sizeof selected);
    uint32_t n = number_of(name), m = other ? number_of(other) : n;
    selected[n / 8] |= (uint8_t)(1 << n % 8);
    selected[m / 8] |= (uint8_t)(1 << m % 8);
    memcpy(filtered, selected, sizeof filtered);
    request.selected = selected;
    request.filtered = filter ? filtered : NULL;
    request.caller = (struct span){0x5500000000, 0x5500001000};
}

static bool asks(const struct mark *m) { return m->variant & STUB_CALLER; }

/* The number of stubs of EVENT. All of them check the caller, or none does. */
static size_t count_stubs(enum event_kind event, bool asking) {
    size_t count = 0;
    for (size_t i = 0; i < code.mark_count; i++) {
        const struct mark *m = &code.marks[i];
        if (m->kind != MARK_STUB || (site_of(m) & 3) != event)
            continue;
        assert_int_equal(asks(m), asking);
        count++;
    }
    return count;
}

static void caller_check_in_filtered_stubs(void **state) {
    (void)state;
    select_two("ordinary", "only_return", true);
    filtered[number_of("only_return") / 8] &= (uint8_t) ~(1 << number_of("only_return") % 8);
    emit();
    assert_memory_equal(&code.caller, &request.caller, sizeof code.caller);
    assert_int_equal(code.sites, 4);
    for (size_t i = 0; i < code.mark_count; i++) {
        const struct mark *m = &code.marks[i];
        if (m->kind == MARK_STUB)
            assert_int_equal(asks(m), site_of(m) >> 2 == FIRST_ID + number_of("ordinary"));
    }
}

static void filtered_call_lasts_through_a_tail_call(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        select_two(i ? "conditional_tail" : "tail_call", NULL, true);
        emit();
        assert_int_equal(count_stubs(EVENT_ENTRY, true), 1);
        assert_int_equal(count_stubs(EVENT_TAIL, true), 0);
        assert_int_equal(count_stubs(EVENT_RETURN, true), 1 + i);
        assert_null(stub_at(fixture_place(fixture, "ordinary"), 0));
        plan_code_done(&code);
    }
}

static void filtered_call_ends_at_another_entry(void **state) {
    (void)state;
    select_two("tail_call", "ordinary", true);
    emit();
    assert_int_equal(count_stubs(EVENT_ENTRY, true), 2);
    assert_int_equal(count_stubs(EVENT_TAIL, true), 1);
    assert_int_equal(count_stubs(EVENT_RETURN, true), 1);
}

static void unfiltered_call_ends_with_its_function(void **state) {
    (void)state;
    select_two("tail_call", NULL, false);
    emit();
    assert_int_equal(count_stubs(EVENT_ENTRY, false), 1);
    assert_int_equal(count_stubs(EVENT_TAIL, false), 1);
    assert_int_equal(count_stubs(EVENT_RETURN, false), 0);
}

static void control_sites_without_a_selection(void **state) {
    (void)state;
    uint8_t none[64] = {0};
    request.selected = none;
    request.controls = true;
    emit();
    assert_true(plan_has_controls(fixture->named_plan));
    assert_non_null(stub_at(fixture_place(fixture, "at_second_return"), 0));
    assert_non_null(stub_at(fixture_place(fixture, "at_far_jump"), 0));
    assert_int_equal(count_stubs(EVENT_CONTROL, false), code.sites);
}

static void parts_of_a_function(void **state) {
    (void)state;
    emit();
    uint32_t n = number_of("table_parent");
    vaddr_t part_return = fixture_place(fixture, "table_parent_part") + 7;
    const struct mark *m = stub_at(part_return, 0);
    assert_non_null(m);
    assert_int_equal(site_of(m), (FIRST_ID + n) << 2 | EVENT_RETURN);
}

static void hook_before_the_entry_event(void **state) {
    (void)state;
    request.hook = fixture_place(fixture, "only_return");
    emit();
    const struct mark *hook = stub_at(request.hook, STUB_HOOK), *entry = stub_at(request.hook, 0);
    assert_non_null(hook);
    assert_non_null(entry);
    assert_true(hook < entry);
    assert_true(hook->at_start);
}

static void hook_without_a_selection(void **state) {
    (void)state;
    uint8_t none[64] = {0};
    request.selected = none;
    request.hook = fixture_place(fixture, "only_return");
    emit();
    assert_int_equal(code.patch_count, 1);
    assert_int_equal(code.sites, 0);
    assert_non_null(stub_at(request.hook, STUB_HOOK));
    assert_null(stub_at(request.hook, 0));
}

static void unpatchable_hook_is_an_error(void **state) {
    (void)state;
    struct err err;
    request.hook = fixture_place(fixture, "_start");
    assert_int_equal(plan_emit(fixture->named_plan, &request, &code, &err), -ENOENT);
    assert_string_equal(err.tag, "no-hook");
}

static void area_out_of_reach_is_an_error(void **state) {
    (void)state;
    struct err err;
    request.area = request.bias + 3ull * GIGABYTE;
    assert_int_equal(plan_emit(fixture->named_plan, &request, &code, &err), -ERANGE);
    assert_string_equal(err.tag, "out-of-reach");
    assert_null(code.area);
}

static bool is_missed(uint32_t function) { return code.missed[function / 8] >> function % 8 & 1; }

/* The area is above all functions, and so far away that only the lower ones reach it. Their
 * trampolines need more room than there is. */
static void functions_out_of_reach_are_missed(void **state) {
    (void)state;
    const uint64_t jump = UINT64_C(2) * GIGABYTE;
    const struct plan *plan = fixture->named_plan;
    size_t count = plan_function_count(plan), traced = 0, missed = 0;
    AUTO_FREE bool *can_be = mem_alloc(count);
    emit();
    for (uint32_t i = 0; i < count; i++)
        can_be[i] = !is_missed(i) && plan_function(plan, i)->entry == TIER_JUMP &&
                    stub_at(plan_function(plan, i)->addr, 0);
    size_t used = code.area_used;
    plan_code_done(&code);
    const struct plan_function *middle = plan_function(plan, count / 2);
    request.area = (request.bias + middle->addr + jump - used / 2) & ~(taddr_t)4095;
    emit();
    for (uint32_t i = 0; i < count; i++) {
        if (!can_be[i])
            continue;
        const struct plan_function *f = plan_function(plan, i);
        const struct mark *stub = stub_at(f->addr, 0);
        traced += !is_missed(i);
        missed += is_missed(i);
        assert_int_equal(!stub, is_missed(i));
        for (size_t k = 0; k < code.patch_count && is_missed(i); k++)
            assert_false(code.patches[k].at - f->addr < f->size);
        if (stub)
            assert_true(request.area + stub->offset - (request.bias + f->addr) <= jump + 16);
    }
    assert_true(traced > 0 && missed > 0);
}

/* Whether C patches the start of function I. */
static bool patches(const struct plan_code *c, uint32_t i) {
    for (size_t k = 0; k < c->patch_count; k++)
        if (c->patches[k].at == plan_function(fixture->named_plan, i)->addr)
            return true;
    return false;
}

/* A second area serves functions that the first has no room for, or does not reach, with all of
 * their sites. No function is in both areas. */
static void second_area_beyond_the_first(void **state) {
    (void)state;
    const struct plan *plan = fixture->named_plan;
    size_t count = plan_function_count(plan), bytes = count / 8 + 1, moved = 0, all = 0;
    AUTO_FREE uint8_t *none = mem_alloc(bytes);
    request.controls = true;
    emit();
    struct plan_code whole = code;
    request.area_size = plan_need(plan, &request).bytes / 2;
    request.selected = none;
    request.area_size += plan_need(plan, &request).bytes / 2;
    request.selected = NULL;
    assert_int_equal(plan_emit(plan, &request, &code, NULL), 0);
    struct plan_code first = code;
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(first.beyond[i], first.missed[i] & ~whole.missed[i]);
    request.first = &first;
    request.selected = first.beyond;
    request.area += GIGABYTE;
    request.area_size = plan_need(plan, &request).bytes;
    emit();
    for (size_t i = 0; i < first.patch_count; i++)
        for (size_t k = 0; k < code.patch_count; k++)
            assert_int_not_equal(first.patches[i].at, code.patches[k].at);
    for (uint32_t i = 0; i < count; i++) {
        bool there = patches(&whole, i) && !(whole.missed[i / 8] >> i % 8 & 1);
        assert_false(patches(&first, i) && patches(&code, i));
        assert_true(!there || patches(&first, i) || patches(&code, i));
        moved += there && patches(&code, i);
        all += there;
    }
    assert_in_range(moved, 1, all - 1);
    assert_in_range(first.patch_count + code.patch_count,
                    whole.patch_count - whole.patch_count / 50, whole.patch_count);
    assert_int_equal(first.sites + code.sites, whole.sites);
    plan_code_done(&first);
    plan_code_done(&whole);
}

static size_t missed_exits(const struct plan_code *c) {
    size_t sum = 0;
    for (int t = 0; t < TIER_COUNT; t++)
        sum += c->missed_exits[t] - c->regained_exits[t];
    return sum;
}

/* Whether CODE patches the entry of a function, but not all of its ends, as WHOLE does. */
static bool is_parted(const struct plan_code *whole, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (code.inexact[i] & code.beyond[i] & ~code.missed[i] & ~whole->inexact[i])
            return true;
    return false;
}

/* Puts the area so far above that a function reaches it from its entry, but not from its end. */
static void emit_parted(const struct plan_code *whole, size_t bytes) {
    const uint64_t jump = UINT64_C(2) * GIGABYTE;
    const struct plan *plan = fixture->named_plan;
    const struct plan_function *middle = plan_function(plan, plan_function_count(plan) / 2);
    enum { STEP = 16 };
    for (size_t less = 0; less < whole->area_used; less += STEP) {
        request.area = request.bias + middle->addr + jump - less;
        if (plan_emit(plan, &request, &code, NULL) < 0)
            continue;
        if (is_parted(whole, bytes))
            return;
        plan_code_done(&code);
    }
    fail_msg("no function was parted");
}

/* A function may be entered in one area and left in the other. */
static void second_area_for_unreached_ends(void **state) {
    (void)state;
    const struct plan *plan = fixture->named_plan;
    size_t bytes = plan_function_count(plan) / 8 + 1;
    emit();
    struct plan_code whole = code;
    emit_parted(&whole, bytes);
    struct plan_code first = code;
    assert_true(missed_exits(&first) > missed_exits(&whole));
    request.first = &first;
    request.selected = first.beyond;
    /* Which puns can be written depends on the area's place: one where all can be. */
    for (request.area = request.bias + GIGABYTE / 4; emit(), loses_puns(&code); request.area += 16)
        plan_code_done(&code);
    for (size_t i = 0; i < first.patch_count; i++)
        for (size_t k = 0; k < code.patch_count; k++)
            assert_int_not_equal(first.patches[i].at, code.patches[k].at);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(code.inexact[i] & first.beyond[i], whole.inexact[i] & first.beyond[i]);
    assert_int_equal(first.sites + code.sites, whole.sites);
    assert_int_equal(missed_exits(&first) + missed_exits(&code), missed_exits(&whole));
    plan_code_done(&first);
    plan_code_done(&whole);
}

/* The caller's memory for each site leaves room for fewer sites. */
static void sites_in_the_callers_memory(void **state) {
    (void)state;
    const struct plan *plan = fixture->named_plan;
    struct plan_need need = plan_need(plan, &request);
    request.area_size = need.bytes + need.sites;
    request.site_bytes = 1;
    emit();
    size_t all = code.patch_count;
    plan_code_done(&code);
    request.site_bytes = 100;
    emit();
    assert_in_range(code.patch_count, 1, all - 1);
    assert_true(code.area_used + code.sites * 100 <= request.area_size);
}

/* A selection needs to be near a part of the text only. */
static void range_wanted_by_a_selection(void **state) {
    (void)state;
    const struct plan *plan = fixture->named_plan;
    AUTO_FREE uint8_t *only = mem_alloc(plan_function_count(plan) / 8 + 1);
    request.selected = only;
    assert_int_equal(plan_need(plan, &request).near.end, 0);
    uint32_t one = number_of("_start") + 1;
    while (plan_function(plan, one)->entry != TIER_JUMP)
        one++;
    only[one / 8] |= (uint8_t)(1u << one % 8);
    const struct plan_function *f = plan_function(plan, one);
    struct span near = plan_need(plan, &request).near;
    assert_in_range(near.start, f->addr, f->addr + f->size);
    assert_in_range(near.end, near.start + 1, f->addr + f->size + 16);
}

static void area_without_room_is_an_error(void **state) {
    (void)state;
    struct err err;
    for (size_t size = 0; size < agent_size; size += agent_size / 5) {
        request.area_size = size;
        assert_int_equal(plan_emit(fixture->named_plan, &request, &code, &err), -ENOSPC);
        assert_string_equal(err.tag, "no-room");
    }
}

/* The first functions that fit get stubs, and the others are reported as missed. */
static void functions_without_room_are_missed(void **state) {
    (void)state;
    const struct plan *plan = fixture->named_plan;
    size_t count = plan_function_count(plan), all = plan_need(plan, &request).bytes, least = 0;
    AUTO_FREE bool *can_be = mem_alloc(count);
    assert_true(all <= plan_area_size(plan));
    emit();
    for (uint32_t i = 0; i < count; i++)
        can_be[i] = !is_missed(i) && stub_at(plan_function(plan, i)->addr, 0);
    for (size_t size = agent_size; size < all; size += (all - agent_size) / 7) {
        size_t traced = 0, last = 0, first = count;
        plan_code_done(&code);
        request.area_size = size;
        emit();
        assert_true(code.area_used <= size);
        for (uint32_t i = 0; i < count; i++) {
            if (!can_be[i])
                continue;
            assert_int_equal(!stub_at(plan_function(plan, i)->addr, 0), is_missed(i));
            traced += !is_missed(i);
            last = is_missed(i) ? last : i;
            first = is_missed(i) && first == count ? i : first;
        }
        assert_true(first < count && last <= first);
        assert_true(traced >= least);
        least = traced;
    }
    assert_true(least > 0);
}

static void room_of_a_selection_only(void **state) {
    (void)state;
    const struct plan *plan = fixture->named_plan;
    size_t bytes = plan_function_count(plan) / 8 + 1;
    AUTO_FREE uint8_t *only = mem_alloc(bytes);
    size_t all = plan_need(plan, &request).bytes;
    request.selected = only;
    assert_int_equal(plan_need(plan, &request).bytes, agent_size);
    uint32_t one = number_of("_start") + 1;
    while (plan_function(plan, one)->entry == TIER_NONE)
        one++;
    only[one / 8] |= (uint8_t)(1u << one % 8);
    struct plan_need need = plan_need(plan, &request);
    assert_true(need.bytes < agent_size + (all - agent_size) / 2);
    assert_in_range(need.sites, 1, 16);
    request.area_size = need.bytes;
    emit();
    assert_non_null(stub_at(plan_function(plan, one)->addr, 0));
    assert_false(is_missed(one));
}

static void foreign_machine_is_an_error(void **state) {
    (void)state;
    struct err err;
    struct plan *plan = NULL;
    struct module foreign = *fixture->named;
    foreign.machine = 22; /* EM_S390 */
    assert_int_equal(plan_new(&foreign, &plan, &err), -ENOTSUP);
    assert_string_equal(err.tag, "foreign-machine");
    assert_null(plan);
}

static void text_relocations_refuse_all_functions(void **state) {
    (void)state;
    struct plan *plan;
    struct module changing = *fixture->named;
    changing.text_relocations = true;
    assert_int_equal(plan_new(&changing, &plan, NULL), 0);
    assert_true(plan_function_count(plan) > 0);
    for (size_t i = 0; i < plan_function_count(plan); i++)
        assert_int_equal(plan_function(plan, i)->refused, REFUSED_TEXT_RELOCATIONS);
    assert_true(plan_area_size(plan) < agent_size + STUB_MAX_BYTES);
    plan_free(plan);
}

static void module_without_code(void **state) {
    (void)state;
    struct plan *plan;
    struct module empty = {.path = (char *)"empty", .name = "empty", .machine = 62};
    assert_int_equal(plan_new(&empty, &plan, NULL), 0);
    assert_int_equal(plan_function_count(plan), 0);
    plan_free(plan);
}

static void code_beyond_branch_range_is_an_error(void **state) {
    (void)state;
    struct err err;
    struct plan *plan = NULL;
    struct segment text = {
        .size = 3ull * GIGABYTE, .file_size = 3ull * GIGABYTE, .executable = true};
    struct module huge = {.path = (char *)"huge",
                          .name = "huge",
                          .machine = 62,
                          .segments = &text,
                          .segment_count = 1};
    assert_int_equal(plan_new(&huge, &plan, &err), -EFBIG);
    assert_string_equal(err.tag, "text-too-large");
    assert_null(plan);
}

static const char *const *files;

static int open_fixture(void **state) {
    (void)state;
    fixture = fixture_open(files[0], files[1]);
    return 0;
}

static int close_fixture(void **state) {
    (void)state;
    fixture_close(fixture);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
