/*
 * Where the indirect jumps of a function may lead within it: entries of the jump tables whose
 * addresses it computes, and places that data refers to.
 *
 * Nothing tells where a table ends. It ends at the latest where other data begins, as far as some
 * code computes its address, and in the midst of code where that goes on.
 */
#include "plan/depth/depth.h"

enum { MAX_ENTRIES = 8192, MAX_BASES = 16 };

struct search {
    struct analysis *a;
    const struct func *f;
    label_list *found;
};

static bool within(const struct analysis *a, const struct func *f, vaddr_t to) {
    if (to >= f->start && to < f->end)
        return text_is_insn(a, to);
    uint32_t g = func_at(a, to);
    return g != NO_FUNC && func_is_part(&a->funcs[g]) && text_is_insn(a, to);
}

static int compare_address(const void *x, const void *y) {
    vaddr_t a = *(const vaddr_t *)x, b = *(const vaddr_t *)y;
    return (a > b) - (a < b);
}

/* Where data begins whose address some code computes: tables end there. */
static void find_data_starts(struct analysis *a) {
    if (a->data_starts.count)
        return;
    for (size_t i = 0; i < a->loads.count; i++)
        ARRAY_PUSH(&a->data_starts, a->loads.at[i].address);
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        if (t->kind == INSN_JUMP_INDIRECT && t->to)
            ARRAY_PUSH(&a->data_starts, t->to);
    }
    if (a->data_starts.count)
        qsort(a->data_starts.at, a->data_starts.count, sizeof(vaddr_t), compare_address);
}

static vaddr_t next_data(const struct analysis *a, vaddr_t addr) {
    size_t low = 0;
    for (size_t high = a->data_starts.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->data_starts.at[middle] <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->data_starts.count ? a->data_starts.at[low] : UINT64_MAX;
}

size_t data_room(struct analysis *a, vaddr_t table, size_t size) {
    const struct segment *segment = module_segment_at(a->module, table);
    if (!segment || table % size || table - segment->start >= segment->file_size)
        return 0;
    find_data_starts(a);
    vaddr_t end = segment->start + segment->file_size, next = next_data(a, table);
    if (next < end)
        end = next;
    if (end - table > MAX_ENTRIES * size)
        end = table + MAX_ENTRIES * size;
    const struct text *text = text_at(a, table);
    if (text && text_is_data(text, table))
        end = text_state_end(text, table, end);
    return (end - table) / size;
}

/* Places at equal distances; where nothing tells how many, or how far apart, all instructions up to
 * one that may go elsewhere. */
static void read_places(const struct search *s, const struct dispatch *how) {
    const struct text *text = text_at(s->a, how->table);
    for (vaddr_t to = how->table; !how->count && text && within(s->a, s->f, to);
         to += text_size(text, to)) {
        ARRAY_PUSH(s->found, to);
        if (text_kind(text, to) != INSN_OTHER && text_kind(text, to) != INSN_NOP)
            return;
    }
    for (uint32_t i = 0; i < how->count; i++) {
        vaddr_t to = how->table + (vaddr_t)i * how->entry_bytes;
        if (within(s->a, s->f, to))
            ARRAY_PUSH(s->found, to);
    }
}

/* The words at HOW's table, as many as are known to be, or as long as they lead to code (addresses,
 * and offsets of a form of its own: into the function); those that lead into the function are
 * labels. */
static void read_table(const struct search *s, const struct dispatch *how) {
    if (how->kind == DISPATCH_COMPUTED) {
        read_places(s, how);
        return;
    }
    size_t size = how->entry_bytes, room = data_room(s->a, how->table, size);
    const uint8_t *at = module_bytes(s->a->module, how->table, room * size);
    bool offsets = size == sizeof(int32_t) && !how->shift;
    if (how->count && how->count < room)
        room = how->count;
    for (size_t i = 0; at && i < room; i++, at += size) {
        vaddr_t to = code_address(s->a, table_target(how, at));
        if (within(s->a, s->f, to))
            ARRAY_PUSH(s->found, to);
        else if (!how->count && !(offsets && text_is_insn(s->a, to)))
            return;
    }
}

static struct dispatch offsets_at(vaddr_t table, vaddr_t base) {
    return (struct dispatch){
        .table = table, .base = base, .entry_bytes = sizeof(int32_t), .is_signed = true};
}

size_t loads_first(const struct address_load *loads, size_t count, uint32_t func) {
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (loads[middle].func < func)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whatever may be a table of offsets, as any data of which the function computes the address. */
static void read_offsets(const struct search *s, uint32_t func) {
    const struct analysis *a = s->a;
    size_t base = loads_first(a->bases.at, a->bases.count, func);
    for (size_t i = loads_first(a->loads.at, a->loads.count, func);
         i < a->loads.count && a->loads.at[i].func == func; i++) {
        vaddr_t table = a->loads.at[i].address;
        struct dispatch from_itself = offsets_at(table, table);
        if (table_is_switch(a, func, table))
            continue;
        if (func_at(a, table) == NO_FUNC)
            read_table(s, &from_itself);
        for (size_t j = base; j < a->bases.count && j < base + MAX_BASES; j++) {
            if (a->bases.at[j].func != func)
                break;
            struct dispatch from_base = offsets_at(table, a->bases.at[j].address);
            read_table(s, &from_base);
        }
    }
}

static void read_switches(const struct search *s, uint32_t func) {
    const struct analysis *a = s->a;
    for (size_t i = table_first(a, func); i < a->switches.count; i++) {
        if (a->switches.at[i].func != func)
            break;
        read_table(s, &a->switches.at[i].how);
    }
}

size_t transfer_at(const struct analysis *a, vaddr_t from) {
    size_t low = 0;
    for (size_t high = a->transfers.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->transfers.at[middle].from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void read_addresses(const struct search *s) {
    const struct analysis *a = s->a;
    for (size_t i = transfer_at(a, s->f->start); i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        if (t->from >= s->f->end)
            return;
        struct dispatch addresses = {.table = t->to, .entry_bytes = a->arch->word_bytes};
        if (t->kind == INSN_JUMP_INDIRECT && t->dispatch == DISPATCH_ADDRESSES && t->to)
            read_table(s, &addresses);
    }
}

/* Is it known where T, an indirect jump, may lead to? */
static bool is_told(const struct search *s, const struct transfer *t) {
    const struct dispatch *how = t->to ? table_switch(s->a, t->func, t->to) : NULL;
    switch ((enum dispatch_kind)t->dispatch) {
    case DISPATCH_OFFSETS:
    case DISPATCH_COMPUTED:
        return how && how->count;
    case DISPATCH_ADDRESSES:
        return t->to;
    case DISPATCH_ANY:
        return false;
    default: /* no switches */
        return true;
    }
}

static bool all_are_told(const struct search *s) {
    const struct analysis *a = s->a;
    for (size_t i = transfer_at(a, s->f->start); i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        if (t->from >= s->f->end)
            break;
        if (t->kind == INSN_JUMP_INDIRECT && !is_told(s, t))
            return false;
    }
    return true;
}

/* Places in the function's middle that data refers to: labels of computed jumps, and tables. Where
 * the program does not move, words may look like addresses by accident. */
static void read_refs(const struct search *s) {
    const struct module *m = s->a->module;
    size_t low = 0;
    for (size_t high = m->ref_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (m->refs[middle].target <= s->f->start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < m->ref_count && m->refs[low].target < s->f->end; low++) {
        const struct code_ref *r = &m->refs[low];
        if (r->kind != CODE_REF_LANDING_PAD && text_is_insn(s->a, r->target))
            ARRAY_PUSH(s->found, r->target);
    }
}

void labels_find(struct analysis *a, uint32_t func, label_list *ret) {
    struct search s = {a, &a->funcs[func], ret};
    read_switches(&s, func);
    read_addresses(&s);
    if (!all_are_told(&s)) {
        read_offsets(&s, func);
        read_refs(&s);
    }
    if (!ret->count)
        return;
    qsort(ret->at, ret->count, sizeof(vaddr_t), compare_address);
    size_t kept = 0;
    for (size_t i = 0; i < ret->count; i++) {
        if (!kept || ret->at[i] != ret->at[kept - 1])
            ret->at[kept++] = ret->at[i];
        text_note(a, ret->at[i], FACT_TARGET);
    }
    ret->count = kept;
}
