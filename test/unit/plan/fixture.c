/* Loads and plans both copies of a module, and finds their functions, places, patches and stubs. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "arch/x86_64/stub.h"
#include "base/mem.h"

enum { FIRST_ID = 1000, RING_BYTES = 1 << 16, PAGE = 0x1000, GAP = 0x100000 };

static struct module *load(const char *path, struct plan **ret_plan) {
    struct module *m;
    struct err err = {0};
    if (module_load(path, 0, &m, &err) || plan_new(m, ret_plan, &err))
        fail_msg("%s", err.text);
    return m;
}

struct fixture *fixture_open(const char *named, const char *bare) {
    struct fixture *f = mem_alloc(sizeof *f);
    f->named = load(named, &f->named_plan);
    f->bare = load(bare, &f->plan);
    f->area = (f->bare->high + GAP) & ~(taddr_t)(PAGE - 1);
    struct plan_request request = {.area = f->area,
                                   .area_size = plan_area_size(f->plan),
                                   .first_id = FIRST_ID,
                                   .ring_bytes = RING_BYTES};
    assert_int_equal(plan_emit(f->plan, &request, &f->code, NULL), 0);
    return f;
}

void fixture_close(struct fixture *f) {
    plan_code_done(&f->code);
    plan_free(f->plan);
    plan_free(f->named_plan);
    module_free(f->bare);
    module_free(f->named);
    free(f);
}

vaddr_t fixture_place(const struct fixture *f, const char *name) {
    const struct symbol *s = module_symbol_named(f->named, name);
    if (!s)
        fail_msg("no symbol %s", name);
    return s->addr;
}

static const struct plan_function *find(const struct plan *plan, vaddr_t addr) {
    for (size_t i = 0; i < plan_function_count(plan); i++) {
        if (plan_function(plan, i)->addr == addr)
            return plan_function(plan, i);
    }
    return NULL;
}

const struct plan_function *fixture_bare(const struct fixture *f, const char *name) {
    return find(f->plan, fixture_place(f, name));
}

const struct plan_function *fixture_named(const struct fixture *f, const char *name) {
    return find(f->named_plan, fixture_place(f, name));
}

const struct patch *fixture_patch_at(const struct fixture *f, vaddr_t addr) {
    for (size_t i = 0; i < f->code.patch_count; i++) {
        if (f->code.patches[i].at == addr)
            return &f->code.patches[i];
    }
    return NULL;
}

const struct patch *fixture_patch_over(const struct fixture *f, vaddr_t addr) {
    for (size_t i = 0; i < f->code.patch_count; i++) {
        const struct patch *p = &f->code.patches[i];
        if (addr > p->at && addr < p->at + p->size)
            return p;
    }
    return NULL;
}

bool fixture_is_free(const struct fixture *f, vaddr_t addr) {
    for (size_t i = 0; i < f->code.patch_count; i++) {
        const struct patch *p = &f->code.patches[i];
        if (addr > p->at && addr < p->at + p->window)
            return false;
    }
    return !fixture_patch_over(f, addr);
}

uint32_t fixture_stub_site(const struct fixture *f, const struct mark *stub) {
    uint32_t site;
    memcpy(&site, f->code.area + stub->offset + stub_site_offset(stub->variant, f->code.overflow),
           sizeof site);
    return site;
}

size_t fixture_check_pieces(const struct fixture *f, vaddr_t addr) {
    const struct mark *m = fixture_stub(f, addr, EVENT_ENTRY);
    const struct mark *end = f->code.marks + f->code.mark_count;
    size_t pieces = 0;
    if (!m || !m->at_start)
        fail_msg("no stub at %#lx, or not at its start", (unsigned long)addr);
    while (++m < end && m->kind != MARK_NONE && m->orig == addr) {
        assert_false(m->at_start);
        pieces++;
    }
    return pieces;
}

const struct mark *fixture_stub(const struct fixture *f, vaddr_t addr, enum event_kind kind) {
    for (size_t i = 0; i < f->code.mark_count; i++) {
        const struct mark *m = &f->code.marks[i];
        bool here = m->kind == MARK_STUB && m->orig == addr;
        if (here && (fixture_stub_site(f, m) & 3) == (uint32_t)kind)
            return m;
    }
    return NULL;
}
