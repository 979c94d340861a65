/* Collects landing pads and the places behind calls that return twice. */
#include "plan/window/controls.h"

#include "elf/probes.h"
#include "elf/sort.h"

/* Moves sites behind a landing instruction, and drops repeated ones. */
static void normalize(const struct code *code, struct controls *all) {
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct control_site *c = &all->at[i];
        const struct func *f = &code->funcs[c->func];
        if (c->addr >= f->end)
            continue;
        c->addr += code_arch(code, f->text, c->addr)
                       ->landing(text_bytes(f->text, c->addr), f->end - c->addr);
        if (!kept || all->at[kept - 1].addr != c->addr)
            all->at[kept++] = *c;
    }
    all->count = kept;
}

static void find_probes(const struct code *code, struct controls *ret) {
    struct probes probes;
    if (!code->func_count || probes_read(code->module, &probes, NULL) < 0)
        return; /* --usdt reports this error (select/marks.c) */
    for (size_t i = 0; i < probes.count; i++) {
        const uint32_t func = code_func_at(code, probes.at[i].addr);
        if (func != NO_FUNC)
            ARRAY_PUSH(&ret->probes, ((struct control_site){probes.at[i].addr, func}));
    }
    probes_done(&probes);
}

struct controls controls_find(const struct code *code) {
    const struct module *m = code->module;
    struct controls ret = {0};
    for (size_t i = 0; i < code->second_returns.count; i++)
        ARRAY_PUSH(&ret, code->second_returns.at[i]);
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        uint32_t func = r->kind == CODE_REF_LANDING_PAD ? code_func_at(code, r->target) : NO_FUNC;
        if (func != NO_FUNC)
            ARRAY_PUSH(&ret, ((struct control_site){.addr = r->target, .func = func}));
    }
    sort_by_address(ret.at, ret.count, sizeof *ret.at);
    normalize(code, &ret);
    find_probes(code, &ret);
    return ret;
}

void controls_done(struct controls *controls) {
    ARRAY_FREE(&controls->probes);
    ARRAY_FREE(controls);
}
