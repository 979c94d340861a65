/*
 * Control sites: places where a function goes on after something other than a call's return. There
 * its callees' frames are gone without an exit.
 *
 *  - landing pads: an exception was caught, or a frame is cleaned up on its way
 *  - behind calls of functions that return twice: longjmp and setcontext arrive there
 *  - jumps with another stack pointer (exits.c): longjmp itself, unwinders, coroutines
 */
#include "elf/sort.h"
#include "plan/analysis.h"

static bool is_twice(const char *name) { return name && special_returns_twice(name); }

struct watcher { /* who is shown stubs */
    void (*see)(void *ctx, vaddr_t stub, const char *name);
    void *ctx;
};

/* Stubs of A32 may have a head of four bytes for callers in T32, which call that. */
static void show_stub(const struct watcher *w, const struct text *text, vaddr_t begin,
                      const char *name) {
    enum { HEAD_BYTES = 4 };
    vaddr_t head = begin - HEAD_BYTES;
    w->see(w->ctx, begin, name);
    if (text->states && text_holds(text, head) && *text_state(text, head) == CODE_T32)
        w->see(w->ctx, head, name);
}

/* The linker's stubs of SECTION that jump to what they have loaded from an import's slot, or
 * through that. A word that is read between them, as what A32's begin with does, belongs to none.
 */
static void find_stubs(const struct analysis *a, const struct section *section,
                       const struct watcher *w) {
    vaddr_t end = section->start + section->size, begin = 0, slot = 0, literal = 0;
    struct trail trail = {.known = 0};
    const struct text *text = text_at(a, section->start);
    if (!text || !text_holds(text, end - 1))
        return;
    for (vaddr_t at = section->start; at < end;) {
        struct insn in;
        const struct arch *arch = text_arch(a, text, at);
        const uint8_t *bytes = section->bytes + (at - section->start);
        if (at == literal) {
            at += arch->word_bytes;
            continue;
        }
        if (arch->decode(bytes, end - at, at, &in, NULL)) {
            literal = in.operand == OPERAND_PC_MEMORY ? in.target : literal;
            arch_complete(arch, &trail, bytes, &in);
        }
        if (!begin && in.kind != INSN_NOP && in.kind != INSN_BREAK)
            begin = at;
        if (in.operand == OPERAND_PC_MEMORY)
            slot = in.target;
        if (in.kind == INSN_JUMP_INDIRECT && slot)
            show_stub(w, text, begin, module_import_at(a->module, slot));
        if (in.kind == INSN_BAD || in.kind == INSN_JUMP || in.kind == INSN_JUMP_INDIRECT) {
            begin = slot = 0;
            trail.known = 0;
        }
        at += in.size;
    }
}

void stubs_of_imports(const struct analysis *a,
                      void (*see)(void *ctx, vaddr_t stub, const char *name), void *ctx) {
    const struct watcher w = {see, ctx};
    for (size_t i = 0; i < a->module->section_count; i++) {
        const struct section *s = &a->module->sections[i];
        if (s->plt && s->bytes)
            find_stubs(a, s, &w);
    }
}

struct wish {
    bool (*is_wanted)(const char *name);
    address_list *ret;
};

static void take_wanted(void *ctx, vaddr_t stub, const char *name) {
    const struct wish *wish = ctx;
    if (wish->is_wanted(name))
        ARRAY_PUSH(wish->ret, stub);
}

void functions_by_name(const struct analysis *a, bool (*is_wanted)(const char *),
                       address_list *ret) {
    const struct module *m = a->module;
    struct wish wish = {is_wanted, ret};
    bool imported = false;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct symbol *s = &m->symbols[i];
        if (s->type == SYMBOL_FUNCTION && is_wanted(s->name))
            ARRAY_PUSH(ret, s->addr);
    }
    for (size_t i = 0; i < m->import_count && !imported; i++)
        imported = is_wanted(m->imports[i].name);
    if (imported)
        stubs_of_imports(a, take_wanted, &wish);
    sort_by_address(ret->at, ret->count, sizeof *ret->at);
}

void controls_find_twice(struct analysis *a) {
    const struct module *m = a->module;
    functions_by_name(a, is_twice, &a->twice);
    for (size_t i = 0; i < m->import_count; i++) {
        if (is_twice(m->imports[i].name))
            ARRAY_PUSH(&a->twice, m->imports[i].slot);
    }
    sort_by_address(a->twice.at, a->twice.count, sizeof *a->twice.at);
}

void controls_note_call(struct analysis *a, const struct insn *call, vaddr_t slot, uint32_t func) {
    vaddr_t target = call->target || call->kind == INSN_CALL ? call->target : slot;
    if (!a->twice.count || func == NO_FUNC || !target)
        return;
    vaddr_t after = call->addr + call->size;
    if (list_holds(&a->twice, target))
        ARRAY_PUSH(&a->controls, ((struct control_site){.addr = after, .func = func}));
}

/* Behind a landing instruction; once each. */
static void settle(struct analysis *a) {
    size_t kept = 0;
    for (size_t i = 0; i < a->controls.count; i++) {
        struct control_site *c = &a->controls.at[i];
        const struct func *f = &a->funcs[c->func];
        if (c->addr >= f->end)
            continue;
        c->addr +=
            text_arch(a, f->text, c->addr)->landing(text_bytes(f->text, c->addr), f->end - c->addr);
        if (!kept || a->controls.at[kept - 1].addr != c->addr)
            a->controls.at[kept++] = *c;
    }
    a->controls.count = kept;
}

void controls_find(struct analysis *a) {
    const struct module *m = a->module;
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        uint32_t func = r->kind == CODE_REF_LANDING_PAD ? func_at(a, r->target) : NO_FUNC;
        if (func != NO_FUNC)
            ARRAY_PUSH(&a->controls, ((struct control_site){.addr = r->target, .func = func}));
    }
    sort_by_address(a->controls.at, a->controls.count, sizeof *a->controls.at);
    settle(a);
}
