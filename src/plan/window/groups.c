/* Unites ranges into functions, and finds the entries that users see. */
#include "plan/window/groups.h"

#include "plan/window/grouping.h"

static uint32_t root_of(struct groups *g, uint32_t func) {
    struct func_group *all = g->by_func;
    while (all[func].root != func)
        func = all[func].root = all[all[func].root].root;
    return func;
}

void groups_unite(struct groups *g, uint32_t x, uint32_t y) {
    x = root_of(g, x);
    y = root_of(g, y);
    if (x < y)
        g->by_func[y].root = x;
    else
        g->by_func[x].root = y;
}

bool transfer_is_computed(const struct groups *g, const struct transfer *t) {
    bool computed = t->dispatch == DISPATCH_COMPUTED && insn_at(g->code, t->to);
    uint32_t to = computed ? code_func_at(g->code, t->to) : NO_FUNC;
    return to != NO_FUNC && group_of(g, to) == group_of(g, t->func);
}

static bool is_direct(const struct transfer *t) {
    if (transfer_returns(t))
        return false;
    return t->kind == INSN_JUMP || t->kind == INSN_BRANCH || t->kind == INSN_LOOP;
}

/* The function that T branches into, other than T's own and the linker's stubs. NO_FUNC: none. */
static uint32_t other_function(const struct groups *g, const struct transfer *t) {
    bool leads = is_direct(t) && !transfer_is_idle(g->depths, t);
    uint32_t to = leads ? code_func_at(g->code, t->to) : NO_FUNC;
    return to == NO_FUNC || to == t->func || g->code->funcs[to].plt ? NO_FUNC : to;
}

/* True if T's function and TO, which T branches into, are one function. */
static bool are_one(const struct groups *g, const struct transfer *t, uint32_t to) {
    const struct code *code = g->code;
    const struct depths *d = g->depths;
    const struct func *there = &code->funcs[to];
    const bool cold = d->by_func[to].cold, at_entry = transfer_at_entry(d, t);
    const bool start = func_is_start(there, t->to) && there->entry_depth;
    if (func_is_start(there, t->to) && func_is_outermost(there))
        return true;
    const bool tail_call = start && at_entry && !cold;
    /* Call-frame information lacks the epilogue of a tail call to a real function. */
    const bool called = code->by_func[to].called || code->by_func[to].body_called;
    const bool inexact = start && !at_entry && called && !cold;
    const bool known = (code->funcs[t->func].range && there->range) || d->by_func[t->func].cold ||
                       cold || depths_agree(d, t);
    return !tail_call && !inexact && (start || known);
}

/* Unites ranges that jump into each other, except by tail calls. */
static void join(struct groups *g) {
    for (size_t i = 0; i < g->code->transfers.count; i++) {
        const struct transfer *t = &g->code->transfers.at[i];
        uint32_t to = other_function(g, t);
        if (to == NO_FUNC || !are_one(g, t, to))
            continue;
        groups_unite(g, t->func, to);
        g->by_func[to].inside |= func_is_outermost(&g->code->funcs[to]);
    }
    for (size_t i = 0; i < g->depths->inner_calls.count; i++) {
        const struct inner_call *w = &g->depths->inner_calls.at[i];
        if (w->from != NO_FUNC)
            groups_unite(g, w->from, w->to);
    }
}

/* The index of the range that the end of function I runs into; NO_FUNC: none. */
static uint32_t runs_into(const struct code *code, uint32_t i) {
    const struct func *f = &code->funcs[i];
    const vaddr_t last = code->by_func[i].last;
    if (!last)
        return NO_FUNC;
    uint8_t kind = insn_kind(code, f->text, last);
    if (kind != INSN_OTHER && kind != INSN_BRANCH && kind != INSN_LOOP && kind != INSN_LANDING)
        return NO_FUNC;
    vaddr_t at = f->end;
    while (text_holds(f->text, at) && insn_kind(code, f->text, at) == INSN_NOP &&
           code_func_at(code, at) == NO_FUNC)
        at += insn_size(code, f->text, at);
    uint32_t next = code_func_at(code, at);
    bool starts = next != NO_FUNC && code->funcs[next].start == at && !code->funcs[next].plt;
    return starts ? next : NO_FUNC;
}

/* The entry of the next function records a function that runs into it. A range that runs into a
 * piece of a function is a part of that. */
static void join_neighbours(struct groups *g) {
    const struct code *code = g->code;
    for (uint32_t i = 0; i < code->func_count; i++) {
        uint32_t next = code->funcs[i].plt ? NO_FUNC : runs_into(code, i);
        if (next == NO_FUNC)
            continue;
        if (!code->funcs[next].entry_depth) {
            groups_unite(g, i, next);
        } else if (func_entry_depth(g->depths, &code->funcs[i], code->by_func[i].last)) {
            g->by_func[i].falls = true;
            g->by_func[next].called = true;
        }
    }
}

/* Marks functions that are called, or whose address code or data takes. Words of a switch
 * (SWITCH_WORDS) take no address: they lead to parts of their own function. */
static void mark_called(struct groups *g, const address_list *switch_words) {
    const struct code *code = g->code;
    for (uint32_t i = 0; i < code->func_count; i++)
        g->by_func[i].called = code->by_func[i].called || code->by_func[i].body_called;
    for (size_t i = 0; i < code->module->ref_count; i++) {
        const struct code_ref *r = &code->module->refs[i];
        uint32_t f = r->kind == CODE_REF_LANDING_PAD ? NO_FUNC : code_func_at(code, r->target);
        if (f != NO_FUNC && func_is_start(&code->funcs[f], r->target) &&
            code_is_aligned(code, code->funcs[f].text, r->target) &&
            !list_holds(switch_words, r->from) && !ref_is_hint(code, r))
            g->by_func[f].called = true;
    }
}

static void mark_tail_called(struct groups *g) {
    for (size_t i = 0; i < g->code->transfers.count; i++) {
        const struct transfer *t = &g->code->transfers.at[i];
        uint32_t to = other_function(g, t);
        if (to == NO_FUNC || !transfer_at_entry(g->depths, t) ||
            !func_is_start(&g->code->funcs[to], t->to))
            continue;
        if (root_of(g, to) != root_of(g, t->func))
            g->by_func[to].called = true;
    }
}

static void gather(struct groups *g) {
    for (uint32_t i = 0; i < g->code->func_count; i++) {
        const struct func_code *code = &g->code->by_func[i];
        const struct func_depth *depth = &g->depths->by_func[i];
        g->by_func[i].root = root_of(g, i);
        struct group *group = &g->by_root[g->by_func[i].root];
        group->tables += g->by_func[i].tables;
        group->code_refs += code->code_refs;
        group->undecodable |= code->undecodable;
        group->unproven |= depth->unproven;
        group->movable |= depth->movable;
    }
}

static void find_entries(struct groups *g) {
    const struct code *code = g->code;
    AUTO_FREE bool *outside = mem_alloc(code->func_count + 1);
    AUTO_FREE bool *has_entry = mem_alloc(code->func_count + 1);
    for (uint32_t i = 0; i < code->func_count; i++) {
        outside[i] = code->funcs[i].entry_depth && !g->depths->by_func[i].cold;
        has_entry[group_of(g, i)] |= g->by_func[i].called && outside[i];
    }
    for (uint32_t i = 0; i < code->func_count; i++) {
        struct func_group *f = &g->by_func[i];
        bool part = !f->called && (has_entry[group_of(g, i)] || f->inside);
        f->entry = outside[i] && !code->funcs[i].plt && !part;
        code_note(code, g->targets, code->funcs[i].start);
    }
}

struct groups groups_find(const struct depths *depths) {
    const struct code *code = depths->code;
    struct groups ret = {.code = code, .depths = depths};
    address_list switch_words = {0};
    ret.by_func = mem_alloc((code->func_count + 1) * sizeof *ret.by_func);
    ret.by_root = mem_alloc((code->func_count + 1) * sizeof *ret.by_root);
    ret.targets = place_bits_new(code->texts, code->targets);
    for (size_t i = 0; i < depths->labels.count; i++)
        code_note(code, ret.targets, depths->labels.at[i]);
    for (uint32_t i = 0; i < code->func_count; i++) {
        ret.by_func[i].root = i;
        ret.by_func[i].falls = depths->by_func[i].falls;
    }
    parts_join(&ret);
    join(&ret);
    tables_decode(&ret, &switch_words);
    parts_join_named(&ret);
    mark_called(&ret, &switch_words);
    join_neighbours(&ret);
    mark_tail_called(&ret);
    gather(&ret);
    find_entries(&ret);
    ARRAY_FREE(&switch_words);
    return ret;
}

void groups_done(struct groups *groups) {
    free(groups->by_func);
    free(groups->by_root);
    place_bits_free(groups->code->texts, groups->targets);
}
