/*
 * Unites functions with parts of them to which perhaps no jump leads. Symbols' sizes, landing pads
 * and names tell of them. (Jumps: groups.c. Jump tables: tables.c.)
 */
#include <stdlib.h>
#include <string.h>

#include "plan/code/roles.h"
#include "plan/window/grouping.h"

static bool is_called(const struct code *code, uint32_t func) {
    return code->by_func[func].called || code->by_func[func].body_called;
}

/* Nameless ranges within the size of a function's symbol belong to the function. */
static void join_by_size(struct groups *g) {
    const struct module *m = g->code->module;
    uint32_t owner = NO_FUNC;
    vaddr_t end = 0;
    size_t next = 0;
    for (uint32_t i = 0; i < g->code->func_count; i++) {
        const struct func *f = &g->code->funcs[i];
        if (f->range && !f->name && f->start < end)
            groups_unite(g, owner, i);
        if (!f->name)
            continue;
        owner = i;
        end = 0;
        for (; next < m->symbol_count && m->symbols[next].addr <= f->start; next++) {
            const struct symbol *s = &m->symbols[next];
            bool here = s->type == SYMBOL_FUNCTION && s->addr == f->start;
            if (here && s->addr + s->size > end)
                end = s->addr + s->size;
        }
    }
}

struct table_of_pads {
    vaddr_t lsda;
    uint32_t func; /* of a landing pad, or of the table */
};
typedef ARRAY(struct table_of_pads) pad_list;

/* Landing pads in other ranges than the one that their table is for. */
static void find_pads_elsewhere(const struct code *code, pad_list *ret) {
    for (size_t i = 0; i < code->module->ref_count; i++) {
        const struct code_ref *r = &code->module->refs[i];
        uint32_t f = r->kind == CODE_REF_LANDING_PAD ? code_func_at(code, r->target) : NO_FUNC;
        if (f != NO_FUNC && code->funcs[f].range && code->funcs[f].range->lsda != r->from &&
            !is_called(code, f))
            ARRAY_PUSH(ret, ((struct table_of_pads){r->from, f}));
    }
}

static void join_landing_pads(struct groups *g) {
    const struct code *code = g->code;
    pad_list pads = {0}, owners = {0};
    find_pads_elsewhere(code, &pads);
    for (uint32_t i = 0; i < code->func_count && pads.count; i++) {
        const struct unwind_range *range = code->funcs[i].range;
        if (range && range->lsda)
            ARRAY_PUSH(&owners, ((struct table_of_pads){range->lsda, i}));
    }
    sort_by_address(owners.at, owners.count, sizeof *owners.at);
    for (size_t i = 0; i < pads.count; i++) {
        size_t o = SEARCH(k, owners.count, owners.at[k].lsda < pads.at[i].lsda);
        if (o < owners.count && owners.at[o].lsda == pads.at[i].lsda)
            groups_unite(g, owners.at[o].func, pads.at[i].func);
    }
    ARRAY_FREE(&pads);
    ARRAY_FREE(&owners);
}

void parts_join(struct groups *g) {
    join_by_size(g);
    join_landing_pads(g);
}

/* ---- by name ---- */

struct named { /* a function, or a part and the length of its function's name in its own */
    const char *name;
    size_t length;
    uint32_t func;
};
typedef ARRAY(struct named) named_list;

static int compare(const void *x, const void *y) {
    const struct named *a = x, *b = y;
    size_t least = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->name, b->name, least);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Lists named parts of groups without a whole function. */
static void find_orphans(struct groups *g, named_list *ret) {
    const struct code *code = g->code;
    const struct module *m = code->module;
    AUTO_FREE bool *whole = mem_alloc(code->func_count + 1);
    bool any = false;
    for (uint32_t i = 0; i < code->func_count; i++) {
        whole[group_of(g, i)] |= code->funcs[i].entry_depth && !g->depths->by_func[i].cold;
        any |= code->funcs[i].cold;
    }
    for (size_t i = 0; i < m->symbol_count && any; i++) {
        const char *name = m->symbols[i].name;
        uint32_t f = code_func_at(code, m->symbols[i].addr);
        if (f == NO_FUNC || !code->funcs[f].cold || code->funcs[f].start != m->symbols[i].addr ||
            whole[group_of(g, f)] || !role_is_part(name))
            continue;
        ARRAY_PUSH(ret, ((struct named){name, role_whole_length(name), f}));
    }
}

static void find_wholes(const struct code *code, named_list *ret) {
    const struct module *m = code->module;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct symbol *s = &m->symbols[i];
        uint32_t f = s->type == SYMBOL_FUNCTION ? code_func_at(code, s->addr) : NO_FUNC;
        if (f != NO_FUNC && !code->funcs[f].cold && code->funcs[f].start == s->addr)
            ARRAY_PUSH(ret, ((struct named){s->name, strlen(s->name), f}));
    }
    if (ret->count)
        qsort(ret->at, ret->count, sizeof *ret->at, compare);
}

/* WHOLES, COUNT of them, have the name that PART tells. */
static void join_named(struct groups *g, const struct named *part, const struct named *wholes,
                       size_t count) {
    bool same = true;
    for (size_t i = 1; i < count; i++)
        same &= wholes[i].func == wholes[0].func;
    if (same && count)
        groups_unite(g, wholes[0].func, part->func);
    for (size_t i = 0; i < count && !same; i++)
        g->by_func[wholes[i].func].strays = true;
}

void parts_join_named(struct groups *g) {
    named_list orphans = {0}, wholes = {0};
    find_orphans(g, &orphans);
    if (orphans.count)
        find_wholes(g->code, &wholes);
    for (size_t i = 0; i < orphans.count; i++) {
        const struct named *part = &orphans.at[i];
        size_t first = SEARCH(k, wholes.count, compare(&wholes.at[k], part) < 0), end = first;
        while (end < wholes.count && compare(&wholes.at[end], part) == 0)
            end++;
        if (first < end)
            join_named(g, part, wholes.at + first, end - first);
    }
    ARRAY_FREE(&orphans);
    ARRAY_FREE(&wholes);
}
