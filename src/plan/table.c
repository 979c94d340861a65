/*
 * Jump tables.
 *
 * Tables of offsets: any data whose address a function computes might be one,
 * so its words are followed until one does not lead to an instruction.
 * Offsets count from the table, or from a label in the function (glibc's
 * printf). Where data looks like a table by accident the harm is a target too
 * many, which costs a window at most.
 *
 * Tables of addresses (non-PIE) are found from the jump; their words are
 * targets anyway. What counts is whether they lead into the jump's own function
 * (a switch) or to others (a tail call through a table of functions).
 */
#include <string.h>

#include "plan/analysis.h"

enum { MAX_ENTRIES = 8192, MAX_BASES = 16, MAX_ADDRESSES = 64, MIN_OWN = 3 };

struct table {
    const struct analysis *a;
    uint32_t func;
    const uint8_t *bytes;
    size_t room; /* entries that the segment has */
    vaddr_t base;
};

static bool open_table(struct table *t, vaddr_t at, size_t entry) {
    const struct segment *s = module_segment_at(t->a->module, at);
    if (!s || at - s->start >= s->file_size || at % entry)
        return false;
    t->bytes = s->bytes + (at - s->start);
    t->room = (s->file_size - (at - s->start)) / entry;
    if (t->room > MAX_ENTRIES)
        t->room = MAX_ENTRIES;
    return true;
}

static vaddr_t offset_entry(const struct table *t, size_t i) {
    int32_t offset;
    memcpy(&offset, t->bytes + i * sizeof offset, sizeof offset);
    return t->base + (vaddr_t)(int64_t)offset;
}

static bool own(const struct analysis *a, uint32_t func, uint32_t other) {
    return other != NO_FUNC && group_of(a, other) == group_of(a, func);
}

/* Follows the table: marks what it leads to, and returns how many entries lead into the group. */
static uint32_t follow(const struct table *t, size_t *ret_count) {
    const struct analysis *a = t->a;
    const struct func *f = &a->funcs[t->func];
    uint32_t owned = 0;
    size_t i = 0;
    for (; i < t->room; i++) {
        vaddr_t to = offset_entry(t, i);
        if (!text_is_insn(a, to))
            break;
        bool inside = to >= f->start && to < f->end;
        uint32_t g = inside ? t->func : func_at(a, to);
        if (!i && g == NO_FUNC)
            break;
        text_note(a, to, FACT_TARGET);
        owned += inside || own(a, t->func, g);
    }
    *ret_count = i;
    return owned;
}

/* Parts of the function that only its switch reaches belong to it. */
static void adopt(struct analysis *a, const struct table *t, size_t count) {
    for (size_t i = 0; i < count; i++) {
        vaddr_t to = offset_entry(t, i);
        uint32_t g = func_at(a, to);
        if (g == NO_FUNC || a->funcs[g].start != to || own(a, t->func, g))
            continue;
        if (*text_fact(a->funcs[g].text, to) & (FACT_CALLED | FACT_TAKEN))
            continue;
        a->funcs[g].in_table = true;
        groups_unite(a, t->func, g);
    }
}

static void from_itself(struct analysis *a, const struct address_load *load) {
    struct table t = {.a = a, .func = load->func, .base = load->address};
    size_t count;
    if (func_at(a, load->address) != NO_FUNC || !open_table(&t, load->address, 4))
        return;
    if (follow(&t, &count)) {
        a->funcs[load->func].tables++;
        adopt(a, &t, count);
    }
}

/* Offsets from a label: only entries inside the function count. */
static void from_base(struct analysis *a, const struct address_load *load, vaddr_t base) {
    struct table t = {.a = a, .func = load->func, .base = base};
    const struct func *f = &a->funcs[load->func];
    if (!open_table(&t, load->address, 4))
        return;
    size_t i = 0;
    for (; i < t.room; i++) {
        vaddr_t to = offset_entry(&t, i);
        if (to < f->start || to >= f->end || !text_is_insn(a, to))
            break;
        text_note(a, to, FACT_TARGET);
    }
    if (i >= MIN_OWN)
        a->funcs[load->func].tables++;
}

static void offset_tables(struct analysis *a) {
    size_t first = 0;
    for (size_t i = 0; i < a->loads.count; i++) {
        const struct address_load *load = &a->loads.at[i];
        from_itself(a, load);
        while (first < a->bases.count && a->bases.at[first].func < load->func)
            first++;
        for (size_t j = first; j < a->bases.count && j < first + MAX_BASES; j++) {
            if (a->bases.at[j].func != load->func)
                break;
            from_base(a, load, a->bases.at[j].address);
        }
    }
}

/* Entry I of a table of addresses if it leads to code, else 0. */
static vaddr_t address_entry(const struct table *t, size_t i) {
    uint64_t to;
    memcpy(&to, t->bytes + i * sizeof to, sizeof to);
    return text_is_insn(t->a, to) ? to : 0;
}

/* Within the function, and not its start: functions call themselves through tables, too. */
static bool inner(const struct analysis *a, uint32_t func, vaddr_t to) {
    uint32_t g = func_at(a, to);
    return own(a, func, g) && (g != func || to != a->funcs[func].start);
}

enum table_use table_use(const struct analysis *a, uint32_t func, vaddr_t table) {
    struct table t = {.a = a, .func = func};
    if (!table || a->module->position_independent || !open_table(&t, table, sizeof(uint64_t)))
        return TABLE_UNKNOWN;
    for (size_t i = 0; i < t.room && i < MAX_ADDRESSES; i++) {
        vaddr_t to = address_entry(&t, i);
        if (!to)
            break;
        if (inner(a, func, to))
            return TABLE_SWITCH;
    }
    return TABLE_FUNCTIONS;
}

/* Parts that only the switch reaches belong to it: the words that lead to them take no address. */
static void claim_parts(struct analysis *a, const struct transfer *jump) {
    struct table t = {.a = a, .func = jump->func};
    if (!open_table(&t, jump->to, sizeof(uint64_t)))
        return;
    a->funcs[jump->func].tables++;
    for (size_t i = 0; i < t.room; i++) {
        vaddr_t to = address_entry(&t, i);
        uint32_t g = to ? func_at(a, to) : NO_FUNC;
        if (g == NO_FUNC)
            return;
        bool start = a->funcs[g].start == to;
        bool plain = !(*text_fact(a->funcs[g].text, to) & (FACT_CALLED | FACT_TAKEN));
        if (start && plain) {
            ARRAY_PUSH(&a->switch_words, jump->to + i * sizeof(uint64_t));
            a->funcs[g].in_table = true;
            groups_unite(a, jump->func, g);
        } else if (!own(a, jump->func, g)) {
            return;
        }
    }
}

static int compare_address(const void *x, const void *y) {
    vaddr_t a = *(const vaddr_t *)x, b = *(const vaddr_t *)y;
    return (a > b) - (a < b);
}

void tables_decode(struct analysis *a) {
    offset_tables(a);
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        bool table = t->kind == INSN_JUMP_INDIRECT && t->dispatch == DISPATCH_ADDRESSES;
        if (table && table_use(a, t->func, t->to) == TABLE_SWITCH)
            claim_parts(a, t);
    }
    if (a->switch_words.count)
        qsort(a->switch_words.at, a->switch_words.count, sizeof(vaddr_t), compare_address);
}
