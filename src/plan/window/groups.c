/*
 * Which unwind ranges are one function, and which of them are entered from
 * outside. A range that is left for the middle of another, or at another depth
 * than a function's entry, is part of that function: .cold parts, and the
 * pieces of hand-written code.
 */
#include "plan/depth/depth.h"

uint32_t group_of(const struct analysis *a, uint32_t func) {
    while (a->funcs[func].parent != func) {
        a->funcs[func].parent = a->funcs[a->funcs[func].parent].parent;
        func = a->funcs[func].parent;
    }
    return func;
}

void groups_unite(struct analysis *a, uint32_t x, uint32_t y) {
    x = group_of(a, x);
    y = group_of(a, y);
    if (x < y)
        a->funcs[y].parent = x;
    else
        a->funcs[x].parent = y;
}

static bool is_direct(const struct transfer *t) {
    if (transfer_returns(t))
        return false;
    return t->kind == INSN_JUMP || t->kind == INSN_BRANCH || t->kind == INSN_LOOP;
}

static bool start_noted(const struct func *f) {
    return (*text_fact(f->text, f->start) | *text_fact(f->text, f->body)) &
           (FACT_CALLED | FACT_TAKEN);
}

bool transfer_is_idle(const struct analysis *a, const struct transfer *t) {
    if (t->to != a->funcs[t->func].end || t->entry_depth)
        return false;
    uint32_t g = func_at(a, t->to);
    return g == NO_FUNC || (a->funcs[g].entry_depth && !a->funcs[g].cold);
}

bool transfer_is_computed(const struct analysis *a, const struct transfer *t) {
    uint32_t g =
        t->dispatch == DISPATCH_COMPUTED && text_is_insn(a, t->to) ? func_at(a, t->to) : NO_FUNC;
    return g != NO_FUNC && group_of(a, g) == group_of(a, t->func);
}

/* The function that T leads into: not its own, not the linker's. NO_FUNC if none. */
static uint32_t other_function(const struct analysis *a, const struct transfer *t) {
    uint32_t g = is_direct(t) && !transfer_is_idle(a, t) ? func_at(a, t->to) : NO_FUNC;
    return g == NO_FUNC || g == t->func || a->funcs[g].plt ? NO_FUNC : g;
}

void groups_join(struct analysis *a) {
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        uint32_t index = other_function(a, t);
        if (index == NO_FUNC)
            continue;
        const struct func *f = &a->funcs[t->func], *g = &a->funcs[index];
        bool start = func_is_start(g, t->to) && g->entry_depth;
        bool tail_call = start && t->entry_depth && !g->cold;
        /* Unwind information that does not describe the epilogue, before a real function. */
        bool inexact = start && !t->entry_depth && start_noted(g) && !g->cold;
        bool told = (f->range && g->range) || f->cold || g->cold || depths_agree(a, t);
        if (!tail_call && !inexact && (start || told))
            groups_unite(a, t->func, index);
    }
    for (size_t i = 0; i < a->inner_ways.count; i++) {
        const struct inner_way *c = &a->inner_ways.at[i];
        if (c->from != NO_FUNC)
            groups_unite(a, c->from, c->to);
    }
}

/* Where F's end runs into another range: its index, else NO_FUNC. */
static uint32_t runs_into(const struct analysis *a, const struct func *f) {
    if (!f->last)
        return NO_FUNC;
    uint8_t kind = text_kind(f->text, f->last);
    if (kind != INSN_OTHER && kind != INSN_BRANCH && kind != INSN_LOOP && kind != INSN_LANDING)
        return NO_FUNC;
    vaddr_t at = f->end;
    while (text_holds(f->text, at) && text_kind(f->text, at) == INSN_NOP &&
           func_at(a, at) == NO_FUNC)
        at += text_size(f->text, at);
    uint32_t next = func_at(a, at);
    return next != NO_FUNC && a->funcs[next].start == at && !a->funcs[next].plt ? next : NO_FUNC;
}

/* A function that runs into the next one is seen by that one's entry; a range that runs into a
 * piece of a function is part of it. */
static void join_neighbours(struct analysis *a) {
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i];
        uint32_t next = f->plt ? NO_FUNC : runs_into(a, f);
        if (next == NO_FUNC)
            continue;
        if (!a->funcs[next].entry_depth) {
            groups_unite(a, i, next);
        } else if (func_entry_depth(a, f, f->last)) {
            f->falls_through = true;
            a->funcs[next].called = true;
        }
    }
}

static void mark_tail_called(struct analysis *a) {
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        uint32_t g = other_function(a, t);
        if (g == NO_FUNC || !t->entry_depth || !func_is_start(&a->funcs[g], t->to))
            continue;
        if (group_of(a, g) != group_of(a, t->func))
            a->funcs[g].called = true;
    }
}

static void gather_in_roots(struct analysis *a) {
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i], *root = group_root(a, i);
        if (f == root)
            continue;
        root->tables += f->tables;
        root->code_refs += f->code_refs;
        root->bad |= f->bad;
        root->unproven |= f->unproven;
        root->loose |= f->loose;
    }
}

static bool outside_entry(const struct func *f) { return f->called && f->entry_depth && !f->cold; }

void groups_find_entries(struct analysis *a) {
    for (uint32_t i = 0; i < a->func_count; i++)
        a->funcs[i].called = start_noted(&a->funcs[i]);
    join_neighbours(a);
    mark_tail_called(a);
    gather_in_roots(a);
    bool *has_entry = mem_alloc(a->func_count * sizeof *has_entry + 1);
    for (uint32_t i = 0; i < a->func_count; i++) {
        if (outside_entry(&a->funcs[i]))
            has_entry[group_of(a, i)] = true;
    }
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i];
        bool part = !f->called && (has_entry[group_of(a, i)] || f->in_table);
        f->entry = f->entry_depth && !f->cold && !f->plt && !part;
    }
    for (uint32_t i = 0; i < a->func_count; i++)
        text_note(a, a->funcs[i].start, FACT_TARGET);
    free(has_entry);
}
