/*
 * Finds where indirect jumps of a function may lead within it: entries of jump tables whose
 * addresses it computes, and places that data refers to.
 *
 * Nothing gives the end of a table. It ends at the latest where other data begins whose address
 * some code computes. A table between code ends where code goes on.
 */
#include "plan/depth/follow.h"

enum { MAX_BASES = 16 };

struct search {
    const struct follower *follower;
    const struct code *code;
    const struct depths *d;
    const struct func *f;
    address_list *found;
};

static bool within(const struct search *s, vaddr_t to) {
    if (to >= s->f->start && to < s->f->end)
        return insn_at(s->code, to);
    uint32_t g = code_func_at(s->code, to);
    return g != NO_FUNC && func_is_part(s->d, &s->code->funcs[g]) && insn_at(s->code, to);
}

/* Reads a switch whose targets are at equal distances. If their number or distance is unknown, all
 * instructions up to one that may branch are targets. */
static void read_places(const struct search *s, const struct dispatch *how) {
    const struct text *text = text_at(s->code->texts, how->table);
    for (vaddr_t to = how->table; !how->count && text && within(s, to);
         to += insn_size(s->code, text, to)) {
        ARRAY_PUSH(s->found, to);
        if (insn_kind(s->code, text, to) != INSN_OTHER && insn_kind(s->code, text, to) != INSN_NOP)
            return;
    }
    for (uint32_t i = 0; i < how->count; i++) {
        vaddr_t to = how->table + (vaddr_t)i * how->entry_bytes;
        if (within(s, to))
            ARRAY_PUSH(s->found, to);
    }
}

static size_t room_at(const struct search *s, vaddr_t table, size_t size) {
    return data_room(s->code, &s->follower->data_starts, table, size);
}

/* Reads the table of HOW. It has as many words as known, or ends before one that leads to no code.
 * Offsets of a special form must lead into the function. Such words are labels. */
static void read_table(const struct search *s, const struct dispatch *how) {
    if (how->kind == DISPATCH_COMPUTED) {
        read_places(s, how);
        return;
    }
    size_t size = how->entry_bytes, room = room_at(s, how->table, size);
    const uint8_t *at = module_bytes(s->code->module, how->table, room * size);
    bool offsets = size == sizeof(int32_t) && !how->shift;
    if (how->count && how->count < room)
        room = how->count;
    for (size_t i = 0; at && i < room; i++, at += size) {
        vaddr_t to = code_address(s->code->texts, table_target(how, at));
        if (within(s, to))
            ARRAY_PUSH(s->found, to);
        else if (!how->count && !(offsets && insn_at(s->code, to)))
            return;
    }
}

static struct dispatch offsets_at(vaddr_t table, vaddr_t base) {
    return (struct dispatch){
        .table = table, .base = base, .entry_bytes = sizeof(int32_t), .is_signed = true};
}

/* Any data whose address FUNC computes may be a table of offsets. */
static void read_offsets(const struct search *s, uint32_t func) {
    const struct code *code = s->code;
    size_t base = loads_first(code->bases.at, code->bases.count, func);
    for (size_t i = loads_first(code->loads.at, code->loads.count, func);
         i < code->loads.count && code->loads.at[i].func == func; i++) {
        vaddr_t table = code->loads.at[i].address;
        struct dispatch from_itself = offsets_at(table, table);
        if (table_switch(code, func, table))
            continue;
        if (code_func_at(code, table) == NO_FUNC)
            read_table(s, &from_itself);
        for (size_t j = base; j < code->bases.count && j < base + MAX_BASES; j++) {
            if (code->bases.at[j].func != func)
                break;
            struct dispatch from_base = offsets_at(table, code->bases.at[j].address);
            read_table(s, &from_base);
        }
    }
}

static void read_switches(const struct search *s, uint32_t func) {
    const struct code *code = s->code;
    for (size_t i = table_first(code, func); i < code->switches.count; i++) {
        if (code->switches.at[i].func != func)
            break;
        read_table(s, &code->switches.at[i].how);
    }
}

static void read_addresses(const struct search *s) {
    const struct code *code = s->code;
    for (size_t i = transfer_at(code, s->f->start); i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (t->from >= s->f->end)
            return;
        struct dispatch addresses = {.table = t->to, .entry_bytes = code->arch->word_bytes};
        if (t->kind == INSN_JUMP_INDIRECT && t->dispatch == DISPATCH_ADDRESSES && t->to)
            read_table(s, &addresses);
    }
}

/* True if all targets of T, an indirect jump, are known. */
static bool is_known(const struct search *s, const struct transfer *t) {
    const struct dispatch *how = t->to ? table_switch(s->code, t->func, t->to) : NULL;
    switch ((enum dispatch_kind)t->dispatch) {
    case DISPATCH_OFFSETS:
    case DISPATCH_COMPUTED:
        return how && how->count;
    case DISPATCH_ADDRESSES:
        return t->to;
    case DISPATCH_ANY:
        return false;
    default: /* not switches */
        return true;
    }
}

static bool all_are_known(const struct search *s) {
    const struct code *code = s->code;
    for (size_t i = transfer_at(code, s->f->start); i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (t->from >= s->f->end)
            break;
        if (t->kind == INSN_JUMP_INDIRECT && !is_known(s, t))
            return false;
    }
    return true;
}

/* Places in the function's middle that data refers to: labels of computed jumps, and tables. In
 * programs at a fixed address, words may look like addresses by chance. */
static void read_refs(const struct search *s) {
    const struct module *m = s->code->module;
    size_t low = SEARCH(i, m->ref_count, m->refs[i].target <= s->f->start);
    for (; low < m->ref_count && m->refs[low].target < s->f->end; low++) {
        const struct code_ref *r = &m->refs[low];
        if (r->kind != CODE_REF_LANDING_PAD && insn_at(s->code, r->target))
            ARRAY_PUSH(s->found, r->target);
    }
}

void labels_find(const struct follower *f, uint32_t func, address_list *ret) {
    struct search s = {f, f->code, f->d, &f->code->funcs[func], ret};
    read_switches(&s, func);
    read_addresses(&s);
    if (!all_are_known(&s)) {
        read_offsets(&s, func);
        read_refs(&s);
    }
    list_sort(ret);
    size_t kept = 0;
    for (size_t i = 0; i < ret->count; i++) {
        if (!kept || ret->at[i] != ret->at[kept - 1])
            ret->at[kept++] = ret->at[i];
    }
    ret->count = kept;
}

void pads_find(const struct code *code, const struct func *f, address_list *ret) {
    const struct module *m = code->module;
    const bool walked = !f->range || code->arch->other;
    size_t i = SEARCH(k, walked ? m->ref_count : 0, m->refs[k].target < f->start);
    for (; walked && i < m->ref_count && m->refs[i].target < f->end; i++) {
        if (m->refs[i].kind == CODE_REF_LANDING_PAD)
            ARRAY_PUSH(ret, m->refs[i].target);
    }
}
