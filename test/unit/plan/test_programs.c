/*
 * Whole programs and libraries are planned and emitted. Capstone, independent of spoor's decoder,
 * then decodes every function and every trampoline anew.
 *
 *     test_programs FILE…          (files that do not exist are left out)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/x86_64/stub.h"
#include "base/mem.h"
#include "oracle.h"
#include "plan/plan.h"
#include "programs.h"
#include "route.h"

#define TESTS TEST(plans_of_real_programs)

/* Facts about one byte of a patch. */
enum {
    FIRST = 1,    /* the first byte of a site's patch */
    INSIDE = 2,   /* another byte of a patch, or a byte of a hole */
    MOVED = 4,    /* a moved instruction starts here, not the first one */
    BOUNDARY = 8, /* Capstone sees an instruction start here */
};

struct fixture fixture;

void fail_at(const char *what, vaddr_t addr) {
    fail_msg("%s: %s at %#lx", fixture.module->name, what, (unsigned long)addr);
}

static uint8_t *byte_at(vaddr_t addr) {
    static uint8_t nowhere;
    const struct module *m = fixture.module;
    return addr >= m->text_low && addr < m->text_high ? &fixture.bytes[addr - m->text_low]
                                                      : &nowhere;
}

static struct scene scene(void) {
    return (struct scene){fixture.module, &fixture.code, fixture.bias, fixture.area};
}

enum { MOST_ISLANDS = 4096, FIRST_ID = 100 };

static int emit(struct plan_code *ret) {
    struct plan_request request = {.bias = fixture.bias,
                                   .area = fixture.area,
                                   .area_size = plan_area_size(fixture.plan),
                                   .first_id = FIRST_ID,
                                   .ring_bytes = 1 << 16,
                                   .overflow = OVERFLOW_WAIT,
                                   .taken = fixture.taken,
                                   .taken_count = fixture.taken_count,
                                   .most_islands = MOST_ISLANDS};
    return plan_emit(fixture.plan, &request, ret, NULL);
}

static void note_code(void) {
    const struct module *m = fixture.module;
    fixture.bytes = mem_alloc(m->text_high - m->text_low);
    for (size_t i = 0; i < fixture.code.patch_count; i++) {
        const struct patch *p = &fixture.code.patches[i];
        *byte_at(p->at) |= p->window ? FIRST : INSIDE;
        for (uint8_t j = 1; j < p->size; j++)
            *byte_at(p->at + j) |= INSIDE;
    }
    vaddr_t start = 0; /* of the window, as its trampoline's first mark says */
    for (size_t i = 0; i < fixture.code.mark_count; i++) {
        const struct mark *k = &fixture.code.marks[i];
        if (k->at_start)
            start = k->orig;
        else if (k->kind == MARK_INSN && k->orig != start)
            *byte_at(k->orig) |= MOVED;
    }
}

static int open_file(const char *path) {
    struct err err;
    if (module_load(path, 0, &fixture.module, &err))
        return -1;
    assert_int_equal(plan_new(fixture.module, &fixture.plan, &err), 0);
    enum { PAGE = 0x1000, GAP = 0x100000 };
    fixture.bias = fixture.module->position_independent ? 0x7f1200000000 : 0;
    fixture.area = ((fixture.module->high + GAP) & ~(taddr_t)(PAGE - 1)) + fixture.bias;
    assert_int_equal(emit(&fixture.code), 0);
    note_code();
    return 0;
}

static void close_file(void) {
    plan_code_done(&fixture.code);
    free(fixture.taken);
    fixture.taken = NULL;
    fixture.taken_count = 0;
    plan_free(fixture.plan);
    module_free(fixture.module);
    free(fixture.bytes);
}

/* ---- the original code ---- */

/* INSN at ADDR is moved, or overwritten in part or as a whole. */
static void check_taken(const struct oracle_insn *in, vaddr_t addr) {
    uint8_t any = 0;
    for (uint8_t i = 0; i < in->size; i++)
        any |= *byte_at(addr + i);
    if (!(any & (FIRST | INSIDE | MOVED)))
        return;
    if ((in->call && !in->direct) || in->syscall || in->landing)
        fail_at("a patch covers an indirect call, a system call or a landing pad", addr);
    for (uint8_t i = 1; i < in->size; i++) {
        if (*byte_at(addr + i) & FIRST)
            fail_at("a patch begins inside an instruction", addr);
    }
}

static void check_flow(const struct oracle_insn *in, vaddr_t addr) {
    if (in->direct && *byte_at(in->target) & (INSIDE | MOVED))
        fail_at("a branch leads into a patch", addr);
    if (in->call && *byte_at(addr + in->size) & (INSIDE | MOVED))
        fail_at("a return address lies in a patch", addr);
}

/* Capstone 4 misreads some of AVX-512; there the decoder under test counts. */
static uint8_t size_of_unknown(const uint8_t *bytes, size_t room, vaddr_t addr) {
    struct insn in;
    arch_for_machine(fixture.module->machine)->decode(bytes, room, addr, &in, NULL);
    return in.size;
}

/* PROVEN: all of it is code; otherwise only the starts of instructions are noted. */
static void sweep(vaddr_t start, vaddr_t end, bool proven) {
    const uint8_t *bytes = module_bytes(fixture.module, start, end - start);
    for (vaddr_t at = start; bytes && at < end;) {
        struct oracle_insn in;
        const uint8_t *p = bytes + (at - start);
        if (*p == EVEX || !oracle_decode(p, end - at, at, &in)) {
            *byte_at(at) |= BOUNDARY;
            at += size_of_unknown(p, end - at, at);
            continue;
        }
        *byte_at(at) |= BOUNDARY;
        if (proven) {
            check_taken(&in, at);
            check_flow(&in, at);
        }
        at += in.size;
    }
}

static void check_branches(void) {
    const struct module *m = fixture.module;
    for (size_t i = 0; i < m->range_count; i++)
        sweep(m->ranges[i].start, m->ranges[i].end, true);
    for (size_t i = 0; i < plan_function_count(fixture.plan); i++) {
        const struct plan_function *f = plan_function(fixture.plan, i);
        const struct unwind_range *range = module_range_at(m, f->addr);
        const vaddr_t end = f->addr + f->size;
        if (!range)
            sweep(f->addr, end, f->entry != TIER_NONE);
        else if (range->end < end &&
                 !module_range_at(m, range->end)) /* it runs on behind its range */
            sweep(range->end, end, f->entry != TIER_NONE);
    }
    for (size_t i = 0; i < m->symbol_count; i++) { /* parts of functions */
        const struct symbol *s = &m->symbols[i];
        if (s->type == SYMBOL_FUNCTION && strstr(s->name, ".cold") && !module_range_at(m, s->addr))
            sweep(s->addr, s->addr + s->size, true);
    }
    for (size_t i = 0; i < fixture.code.patch_count; i++) {
        vaddr_t at = fixture.code.patches[i].at;
        if (fixture.code.patches[i].window && !(*byte_at(at) & BOUNDARY))
            fail_at("a patch begins where no instruction does", at);
    }
}

static void check_references(void) {
    const struct module *m = fixture.module;
    for (size_t i = 0; i < m->symbol_count; i++) {
        if (*byte_at(m->symbols[i].addr) & (INSIDE | MOVED))
            fail_at("a symbol lies in a patch", m->symbols[i].addr);
    }
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct section *s = module_section_at(m, m->refs[i].from);
        bool hint = s && !strcmp(s->name, "__mcount_loc"); /* test_sleds.c checks these */
        if (!hint && *byte_at(m->refs[i].target) & (INSIDE | MOVED))
            fail_at("a reference leads into a patch", m->refs[i].target);
    }
    for (size_t i = 0; i < m->range_count; i++) {
        if (*byte_at(m->ranges[i].start) & (INSIDE | MOVED))
            fail_at("a function begins in a patch", m->ranges[i].start);
    }
}

static void check_patch_order(void) {
    vaddr_t done = 0;
    for (size_t i = 0; i < fixture.code.patch_count; i++) {
        const struct patch *p = &fixture.code.patches[i];
        if (p->at < done)
            fail_at("patches overlap", p->at);
        done = p->at + p->size;
        const uint8_t *bytes = module_bytes(fixture.module, p->at, p->size);
        if (!bytes || memcmp(bytes, p->before, p->size) != 0)
            fail_at("a patch does not know what it replaces", p->at);
    }
}
/* Bytes of a patch behind its window must be unreachable padding. */
static void check_room(const struct patch *p) {
    if (p->size > p->window &&
        !route_is_dead(fixture.module, p->at, p->at + p->window, (unsigned)(p->size - p->window)))
        fail_at("a patch covers what is not its own", p->at);
}

static vaddr_t last_boundary(vaddr_t at) {
    while (!(*byte_at(at) & BOUNDARY))
        at--;
    return at;
}

static void check_hole(const struct patch *hole) {
    if (route_spare(&fixture.code, hole->at, hole->size))
        return;
    vaddr_t start = last_boundary(hole->at - 1);
    struct oracle_insn in = original_insn(start);
    for (; in.padding; in = original_insn(start))
        start = last_boundary(start - 1);
    if (!route_is_dead(fixture.module, start, hole->at, hole->size))
        fail_at("a hole lies where control may come", hole->at);
}

/* The tier follows from a patch's first instruction and the intermediate jump. */
static enum tier check_way(const struct patch *p, const struct route *r) {
    struct oracle_insn jump;
    struct scene s = scene();
    assert_true(route_insn(&s, p->at, &jump));
    assert_int_equal(jump.size, p->reads);
    const struct patch *hole = r->way ? route_patch(&fixture.code, r->way) : NULL;
    if (!hole) {
        assert_true((jump.size == p->size) == !r->way);
        return r->way ? TIER_PUN : TIER_JUMP;
    }
    assert_int_equal(jump.size, p->size);
    assert_true(hole->at == r->way && !hole->window);
    check_hole(hole);
    return TIER_HOP;
}

static const struct way *way_at(vaddr_t at) {
    for (size_t i = 0; i < fixture.code.way_count; i++) {
        if (fixture.code.ways[i].at == at)
            return &fixture.code.ways[i];
    }
    return NULL;
}

static void check_trampolines(void) {
    struct scene s = scene();
    size_t tiers[TIER_COUNT] = {0}, holes = 0;
    for (size_t i = 0; i < fixture.code.patch_count; i++) {
        const struct patch *p = &fixture.code.patches[i];
        struct route r;
        holes += !p->window;
        if (!p->window)
            continue;
        if (!route_follow(&s, p->at, &r))
            fail_at("a patch leads nowhere", p->at);
        tiers[check_way(p, &r)]++;
        const struct way *way = r.way ? way_at(r.way) : NULL;
        if (r.way && (!way || way->site != p->at))
            fail_at("a way does not know its site", p->at);
        check_room(p);
        check_trampoline(p, r.offset);
    }
    /* Each hole and each intermediate jump belongs to one site. */
    assert_int_equal(holes, tiers[TIER_HOP]);
    assert_int_equal(fixture.code.way_count, tiers[TIER_HOP] + tiers[TIER_PUN]);
    printf("%zu jumps, %zu hops, %zu puns on %zu islands\n", tiers[TIER_JUMP], tiers[TIER_HOP],
           tiers[TIER_PUN], fixture.code.island_count);
}

static void check_ways(void) {
    for (size_t i = 1; i < fixture.code.way_count; i++)
        assert_true(fixture.code.ways[i - 1].at < fixture.code.ways[i].at);
}

static bool leads_somewhere(taddr_t island) {
    for (size_t i = 0; i < fixture.code.way_count; i++)
        if (fixture.code.ways[i].at + fixture.bias - island < ISLAND_BYTES)
            return true;
    return false;
}

static void check_islands(void) {
    struct scene s = scene();
    for (size_t i = 0; i < fixture.code.island_count; i++) {
        const struct span area = {fixture.area, fixture.area + plan_area_size(fixture.plan)};
        if (!route_is_clear(&s, i, &area, 1) ||
            !route_is_clear(&s, i, fixture.taken, fixture.taken_count))
            fail_at("an island lies on something", fixture.code.islands[i].at);
        if (!leads_somewhere(fixture.code.islands[i].at))
            fail_at("an island is empty", fixture.code.islands[i].at);
    }
}

static bool is_missed(const uint8_t *missed, size_t function) {
    return missed[function / 8] >> function % 8 & 1;
}

/* Whether AT is in a window, so that its trampoline is used. */
static bool is_patched(vaddr_t at) {
    bool any = false;
    for (size_t i = 0; i < fixture.code.patch_count && !any; i++)
        any = at - fixture.code.patches[i].at < fixture.code.patches[i].window;
    return any;
}

/* Traced functions, and no others, have an entry stub that is used. */
static void check_missed_functions(void) {
    size_t stubs = 0, traced = 0;
    for (size_t i = 0; i < fixture.code.mark_count; i++) {
        const struct mark *k = &fixture.code.marks[i];
        uint32_t site;
        if (k->kind != MARK_STUB || !is_patched(k->orig))
            continue;
        memcpy(&site, fixture.code.area + k->offset + stub_site_offset(k->variant, OVERFLOW_WAIT),
               sizeof site);
        stubs += (site & 3) == EVENT_ENTRY;
        if (is_missed(fixture.code.missed, (site >> 2) - FIRST_ID))
            fail_at("a function that is not entered is left", k->orig);
    }
    for (size_t i = 0; i < plan_function_count(fixture.plan); i++)
        traced += plan_function(fixture.plan, i)->entry != TIER_NONE &&
                  !is_missed(fixture.code.missed, i);
    assert_int_equal(stubs, traced);
}

static void check_marks(void) {
    const struct plan_code *c = &fixture.code;
    assert_int_equal(c->marks[0].offset, 0);
    for (size_t i = 1; i < c->mark_count; i++)
        assert_true(c->marks[i].offset >= c->marks[i - 1].offset);
    assert_int_equal(c->marks[c->mark_count - 1].offset, c->area_used);
    assert_true(c->area_used <= plan_area_size(fixture.plan));
}

/* ---- */

static void check_repeated_plan(void) {
    struct plan *first = fixture.plan, *second;
    assert_int_equal(plan_new(fixture.module, &second, NULL), 0);
    assert_int_equal(plan_function_count(first), plan_function_count(second));
    for (size_t i = 0; i < plan_function_count(first); i++) {
        const struct plan_function *a = plan_function(first, i), *b = plan_function(second, i);
        assert_true(a->addr == b->addr && a->size == b->size && a->name == b->name);
        assert_true(a->entry == b->entry && a->refused == b->refused && a->exact == b->exact);
        assert_memory_equal(a->exits, b->exits, sizeof a->exits);
    }
    struct plan_code code;
    fixture.plan = second;
    assert_int_equal(emit(&code), 0);
    fixture.plan = first;
    assert_int_equal(code.area_used, fixture.code.area_used);
    assert_memory_equal(code.area, fixture.code.area, code.area_used);
    assert_int_equal(code.patch_count, fixture.code.patch_count);
    for (size_t i = 0; i < code.patch_count; i++) {
        assert_int_equal(code.patches[i].at, fixture.code.patches[i].at);
        assert_memory_equal(code.patches[i].after, fixture.code.patches[i].after, 8);
    }
    assert_int_equal(code.mark_count, fixture.code.mark_count);
    plan_code_done(&code);
    plan_free(second);
}

static void check_exact_share(void) {
    size_t count = 0, traced = 0, exact = 0;
    for (size_t i = 0; i < plan_function_count(fixture.plan); i++) {
        const struct plan_function *f = plan_function(fixture.plan, i);
        if (f->refused == REFUSED_NO_CFI)
            continue;
        count++;
        traced += f->entry != TIER_NONE;
        exact += f->entry != TIER_NONE && f->exact;
    }
    printf("%s: %zu functions, %.2f %% traced, %.2f %% exactly\n", fixture.module->name, count,
           100.0 * (double)traced / (double)count, 100.0 * (double)exact / (double)count);
    enum { A_PROGRAM = 200 };
    if (count < A_PROGRAM) /* a fixture */
        return;
    assert_true(traced * 100 > count * 90);
    assert_true(exact * 100 > count * 80);
}

static void check_code(void) {
    check_patch_order();
    check_branches();
    check_references();
    check_marks();
    check_ways();
    check_islands();
    check_trampolines();
    check_missed_functions();
}

/* Emits once more after the places of the first islands are taken. */
static void take_islands(void) {
    const struct plan_code *c = &fixture.code;
    fixture.taken = mem_alloc(c->island_count * sizeof *fixture.taken + 1);
    for (size_t i = 0; i < c->island_count; i++)
        fixture.taken[i] = (struct span){c->islands[i].at, c->islands[i].at + ISLAND_BYTES};
    fixture.taken_count = c->island_count;
    plan_code_done(&fixture.code);
    free(fixture.bytes);
    assert_int_equal(emit(&fixture.code), 0);
    note_code();
}

static void check_file(const char *path) {
    if (open_file(path)) {
        printf("%s is not here\n", path);
        return;
    }
    check_code();
    take_islands();
    check_code();
    check_repeated_plan();
    check_exact_share();
    close_file();
}

static const char *const *files;

static void plans_of_real_programs(void **state) {
    (void)state;
    for (const char *const *f = files; *f; f++)
        check_file(*f);
}

int main(int argc, char **argv) {
    (void)argc;
    files = (const char *const *)argv + 1;
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
