/*
 * Functions from unwind ranges. A range that overlaps the one before it, or
 * does not lie in one executable section, is not used.
 */
#include "plan/analysis.h"

bool func_is_start(const struct func *f, vaddr_t addr) {
    return addr == f->start || addr == f->body;
}

uint32_t func_at(const struct analysis *a, vaddr_t addr) {
    size_t low = 0, high = a->func_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (a->funcs[mid].start <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low && addr < a->funcs[low - 1].end ? (uint32_t)(low - 1) : NO_FUNC;
}

bool func_entry_depth(const struct analysis *a, const struct func *f, vaddr_t addr) {
    const struct cfa_row *row = module_row_at(a->module, f->range, addr);
    return row && row->reg == a->arch->sp_register && row->offset == a->arch->entry_cfa;
}

static bool usable(const struct analysis *a, const struct unwind_range *r, vaddr_t done,
                   struct func *ret) {
    const struct section *section = text_section_at(a, r->start);
    struct text *text = text_at(a, r->start);
    if (r->end <= r->start || r->start < done || !text || !section)
        return false;
    uint64_t size = r->end - r->start;
    if (size > text->size - (r->start - text->start) ||
        size > section->size - (r->start - section->start))
        return false;
    *ret = (struct func){.start = r->start, .end = r->end, .range = r, .text = text};
    ret->body = r->start + a->arch->landing(text_bytes(text, r->start), size);
    ret->plt = section->plt;
    ret->entry_depth = func_entry_depth(a, ret, r->start);
    return true;
}

/* Names a function after the symbol that says most: any but one of a cold part. */
static void name_all(struct analysis *a) {
    for (size_t i = 0; i < a->module->symbol_count; i++) {
        const struct symbol *s = &a->module->symbols[i];
        uint32_t index = func_at(a, s->addr);
        if ((s->type != SYMBOL_FUNCTION && s->type != SYMBOL_IFUNC) || index == NO_FUNC)
            continue;
        struct func *f = &a->funcs[index];
        if (f->start != s->addr)
            continue;
        bool cold = special_is_part(s->name);
        if (!f->name || (f->cold && !cold)) {
            f->name = s->name;
            f->cold = cold;
        }
        f->thunk |= special_is_thunk(s->name);
    }
}

void functions_find(struct analysis *a) {
    const struct module *m = a->module;
    a->funcs = mem_alloc((m->range_count + 1) * sizeof *a->funcs);
    vaddr_t done = 0;
    for (size_t i = 0; i < m->range_count; i++) {
        struct func *f = &a->funcs[a->func_count];
        if (!usable(a, &m->ranges[i], done, f))
            continue;
        f->parent = (uint32_t)a->func_count++;
        done = f->end;
    }
    name_all(a);
}
