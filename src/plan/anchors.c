/*
 * Which code without call-frame information is tied to its place. A program may copy code that
 * neither refers to anything around it nor is referred to: V8 does so with its builtins, whose
 * addresses it computes. A patch leads astray in a copy, so such code is left alone.
 *
 * A function is tied by a direct branch from described code, by a word of data that holds its
 * address, and by a name that is known outside of its file. That described code computes its
 * address ties nothing: that is how a copy begins. In modules most of whose functions are not
 * described, those that refer to each other share their fate, and pc-relative references to
 * described code and to data tie them, too.
 */
#include "plan/depth.h"

struct ties {
    const struct analysis *a;
    uint32_t *parent; /* union-find over functions */
    bool *tied;       /* by root */
    bool mostly_bare; /* few functions of the module are described */
};

static uint32_t root_of(const struct ties *t, uint32_t i) {
    while (t->parent[i] != i)
        i = t->parent[i] = t->parent[t->parent[i]];
    return i;
}

static bool is_bare(const struct analysis *a, uint32_t i) {
    return i != NO_FUNC && !a->funcs[i].range;
}

static void unite(struct ties *t, uint32_t x, uint32_t y) {
    x = root_of(t, x);
    y = root_of(t, y);
    t->tied[x] |= t->tied[y];
    t->parent[y] = x;
}

/* Function I has a pc-relative reference to ADDR. */
static void refer(struct ties *t, uint32_t i, vaddr_t addr) {
    uint32_t j = func_at(t->a, addr);
    const struct section *section = j == NO_FUNC ? text_section_at(t->a, addr) : NULL;
    if (is_bare(t->a, j))
        unite(t, i, j);
    else if (j != NO_FUNC || !section || section->plt)
        t->tied[root_of(t, i)] = true;
}

static void read_function(struct ties *t, uint32_t i) {
    const struct func *f = &t->a->funcs[i];
    for (vaddr_t at = f->start; at < f->end && text_is_insn(t->a, at);
         at += text_size(f->text, at)) {
        struct insn in;
        struct insn_constants constants;
        t->a->arch->decode(text_bytes(f->text, at), text_size(f->text, at), at, &in, &constants);
        if (in.target)
            refer(t, i, in.target);
        for (int k = 0; !t->a->module->position_independent && k < constants.immediate_count; k++) {
            uint32_t j = func_at(t->a, constants.immediate[k]);
            if (is_bare(t->a, j) && t->a->funcs[j].start == constants.immediate[k])
                unite(t, i, j);
        }
    }
}

static void read_data(struct ties *t) {
    const struct module *m = t->a->module;
    for (size_t i = 0; i < m->ref_count; i++) {
        bool sure = t->mostly_bare || m->refs[i].kind == CODE_REF_RELOCATION; /* no mere number */
        uint32_t j = sure ? func_at(t->a, m->refs[i].target) : NO_FUNC;
        if (is_bare(t->a, j) && t->a->funcs[j].start == m->refs[i].target)
            t->tied[root_of(t, j)] = true;
    }
    for (size_t i = 0; i < m->symbol_count; i++) {
        uint32_t j = m->symbols[i].global ? func_at(t->a, m->symbols[i].addr) : NO_FUNC;
        if (is_bare(t->a, j) && t->a->funcs[j].start == m->symbols[i].addr)
            t->tied[root_of(t, j)] = true;
    }
}

void anchors_find(struct analysis *a) {
    struct ties t = {.a = a};
    AUTO_FREE uint32_t *parent = mem_alloc((a->func_count + 1) * sizeof *parent);
    AUTO_FREE bool *tied = mem_alloc(a->func_count + 1);
    t.parent = parent;
    t.tied = tied;
    size_t bare = 0, described = 0;
    for (uint32_t i = 0; i < a->func_count; i++) {
        parent[i] = i;
        tied[i] = a->funcs[i].branched_to;
        bare += is_bare(a, i);
        described += !is_bare(a, i) && !a->funcs[i].plt;
    }
    t.mostly_bare = bare > described;
    for (uint32_t i = 0; i < a->func_count && t.mostly_bare; i++) {
        if (is_bare(a, i))
            read_function(&t, i);
    }
    read_data(&t);
    for (uint32_t i = 0; i < a->func_count; i++)
        a->funcs[i].loose = is_bare(a, i) && !tied[root_of(&t, i)];
}
