/*
 * Finds movable code: code without call-frame information that nothing ties to its place. A
 * program may copy code that has no references to or from its surroundings. V8 does so with its
 * builtins, whose addresses it computes. A patch would jump to a wrong place in the copy, so such
 * code is left alone.
 *
 * Three references tie a function: a word of data with its address, a global symbol, and a direct
 * branch from described or tied code, which runs in its own place. An address computed by described
 * code ties nothing: copies begin so. In modules with mostly undescribed functions, functions that
 * refer to each other are tied together. There, pc-relative references to described code and to
 * data tie, too.
 */
#include <string.h>

#include "plan/depth/follow.h"

typedef ARRAY(uint32_t) index_list;
struct ties {
    const struct code *code;
    uint32_t *parent;        /* union-find over functions */
    bool *tied;              /* by root */
    bool mostly_without_cfi; /* most functions of the module lack call-frame information */
};

static uint32_t root_of(const struct ties *t, uint32_t i) {
    while (t->parent[i] != i)
        i = t->parent[i] = t->parent[t->parent[i]];
    return i;
}

static bool lacks_cfi(const struct code *code, uint32_t i) {
    return i != NO_FUNC && !code->funcs[i].range;
}

static void unite(struct ties *t, uint32_t x, uint32_t y) {
    x = root_of(t, x);
    y = root_of(t, y);
    t->tied[x] |= t->tied[y];
    t->parent[y] = x;
}

/* Function I has a pc-relative reference to ADDR. */
static void refer(struct ties *t, uint32_t i, vaddr_t addr) {
    uint32_t j = code_func_at(t->code, addr);
    const struct section *section = j == NO_FUNC ? text_section_at(t->code->texts, addr) : NULL;
    if (lacks_cfi(t->code, j))
        unite(t, i, j);
    else if (j != NO_FUNC || !section || section->plt)
        t->tied[root_of(t, i)] = true;
}

static vaddr_t next_insn(const struct code *code, const struct func *f, vaddr_t at) {
    return state_is_data(code->states, f->text, at) ? state_end(code->states, f->text, at, f->end)
                                                    : at + insn_size(code, f->text, at);
}

static void read_function(struct ties *t, uint32_t i) {
    const struct func *f = &t->code->funcs[i];
    for (vaddr_t at = f->start; at < f->end; at = next_insn(t->code, f, at)) {
        struct insn in;
        struct insn_constants constants;
        if (state_is_data(t->code->states, f->text, at))
            continue;
        if (!insn_begins(t->code, f->text, at))
            break;
        if (t->code->module->position_independent &&
            !bitmap_test(t->code->refers, text_place(f->text, at)))
            continue;
        code_arch(t->code, f->text, at)
            ->decode(text_bytes(f->text, at), insn_size(t->code, f->text, at), at, &in, &constants);
        if (in.target)
            refer(t, i, in.target);
        for (int k = 0; !t->code->module->position_independent && k < constants.immediate_count;
             k++) {
            uint32_t j = code_func_at(t->code, constants.immediate[k]);
            if (lacks_cfi(t->code, j) && t->code->funcs[j].start == constants.immediate[k])
                unite(t, i, j);
        }
    }
}

/* Addresses that several instructions compute. */
static void read_loads(struct ties *t) {
    const struct code *code = t->code;
    for (size_t i = 0; code->arch->other && i < code->loads.count; i++) {
        if (lacks_cfi(code, code->loads.at[i].func))
            refer(t, code->loads.at[i].func, code->loads.at[i].address);
    }
}

/* Code with entries for unwinding counts as described. */
static void read_exceptions(struct ties *t) {
    const struct module *m = t->code->module;
    size_t next = 0;
    for (uint32_t i = 0; i < t->code->func_count; i++) {
        vaddr_t start = t->code->funcs[i].start;
        while (next < m->exception_count && m->exceptions[next].end <= start)
            next++;
        const struct exception_range *r = next < m->exception_count ? &m->exceptions[next] : NULL;
        if (r && r->start <= start && !r->ends_unwound && lacks_cfi(t->code, i))
            t->tied[root_of(t, i)] = true;
    }
}

/* True if R is certainly an address, not a number. */
static bool is_sure(const struct ties *t, const struct code_ref *r) {
    if (t->mostly_without_cfi || r->kind == CODE_REF_RELOCATION)
        return true;
    const struct section *s = module_section_at(t->code->module, r->from);
    return s && (!strcmp(s->name, ".init_array") || !strcmp(s->name, ".fini_array"));
}

static void read_data(struct ties *t) {
    const struct module *m = t->code->module;
    for (size_t i = 0; i < m->ref_count; i++) {
        bool sure = is_sure(t, &m->refs[i]);
        uint32_t j = sure ? code_func_at(t->code, m->refs[i].target) : NO_FUNC;
        if (lacks_cfi(t->code, j) && t->code->funcs[j].start == m->refs[i].target)
            t->tied[root_of(t, j)] = true;
    }
    for (size_t i = 0; i < m->symbol_count; i++) {
        uint32_t j = m->symbols[i].global ? code_func_at(t->code, m->symbols[i].addr) : NO_FUNC;
        if (lacks_cfi(t->code, j) && t->code->funcs[j].start == m->symbols[i].addr)
            t->tied[root_of(t, j)] = true;
    }
}

static bool branches(uint8_t kind) {
    return kind == INSN_JUMP || kind == INSN_BRANCH || kind == INSN_CALL;
}

/* The same for kinds in code.insns, where an instruction that must stay is INSN_FIXED. */
static bool may_branch(uint8_t kind) { return branches(kind) || kind == INSN_FIXED; }

/* Ties the functions that the tied function I branches to, and adds them to FRESH. */
static void tie_callees(struct ties *t, uint32_t i, index_list *pending) {
    const struct func *f = &t->code->funcs[i];
    for (vaddr_t at = f->start; at < f->end; at = next_insn(t->code, f, at)) {
        struct insn in;
        if (state_is_data(t->code->states, f->text, at))
            continue;
        if (!insn_begins(t->code, f->text, at))
            break;
        if (!may_branch(insn_kind(t->code, f->text, at)))
            continue;
        code_arch(t->code, f->text, at)
            ->decode(text_bytes(f->text, at), insn_size(t->code, f->text, at), at, &in, NULL);
        uint32_t j = branches(in.kind) ? code_func_at(t->code, in.target) : NO_FUNC;
        if (!lacks_cfi(t->code, j) || !func_is_start(&t->code->funcs[j], in.target) ||
            t->tied[root_of(t, j)])
            continue;
        t->tied[root_of(t, j)] = true;
        ARRAY_PUSH(pending, j);
    }
}

static void tie_reachable(struct ties *t) {
    index_list pending = {0};
    for (uint32_t i = 0; i < t->code->func_count; i++) {
        if (lacks_cfi(t->code, i) && t->tied[root_of(t, i)])
            ARRAY_PUSH(&pending, i);
    }
    while (pending.count) {
        uint32_t i = pending.at[--pending.count];
        if (!t->code->by_func[i].undecodable)
            tie_callees(t, i, &pending);
    }
    ARRAY_FREE(&pending);
}

void anchors_find(struct depths *d) {
    const struct code *code = d->code;
    struct ties t = {.code = code};
    AUTO_FREE uint32_t *parent = mem_alloc((code->func_count + 1) * sizeof *parent);
    AUTO_FREE bool *tied = mem_alloc(code->func_count + 1);
    t.parent = parent;
    t.tied = tied;
    size_t without = 0, described = 0;
    for (uint32_t i = 0; i < code->func_count; i++) {
        parent[i] = i;
        tied[i] = code->by_func[i].branched_to;
        without += lacks_cfi(code, i);
        described += !lacks_cfi(code, i) && !code->funcs[i].plt;
    }
    t.mostly_without_cfi = without > described;
    for (uint32_t i = 0; i < code->func_count && t.mostly_without_cfi; i++) {
        if (lacks_cfi(code, i))
            read_function(&t, i);
    }
    if (t.mostly_without_cfi)
        read_loads(&t);
    read_exceptions(&t);
    read_data(&t);
    tie_reachable(&t);
    for (uint32_t i = 0; i < code->func_count; i++)
        d->by_func[i].movable = lacks_cfi(code, i) && !tied[root_of(&t, i)];
}
