/*
 * Jump tables.
 *
 * Tables of offsets: any data whose address a function computes might be one,
 * so its words are followed until one does not lead to an instruction.
 * Offsets count from the table, or from a label in the function (glibc's
 * printf). Where data looks like a table by accident the harm is a target too
 * many, which costs a window at most.
 *
 * Where the instructions before a jump tell how it reads its table (AArch64: entries of one, two or
 * four bytes, shifted, from a label or the table), that is read so, as far as the comparison before
 * the jump says; if none is in sight up to other data, or to an entry that leads elsewhere.
 *
 * Tables of addresses (non-PIE) are found from the jump; their words are
 * targets anyway. What counts is whether they lead into the jump's own function
 * (a switch) or to others (a tail call through a table of functions).
 */
#include <string.h>

#include "plan/depth/depth.h"

enum { MAX_ENTRIES = 8192, MAX_BASES = 16, MAX_ADDRESSES = 64, MIN_OWN = 3 };

struct table {
    const struct analysis *a;
    uint32_t func;
    const uint8_t *bytes;
    size_t room;         /* entries that the segment has */
    struct dispatch how; /* entry_bytes of it at least */
    bool own_only;       /* the table ends where an entry leads elsewhere */
};

static bool open_table(struct table *t, vaddr_t at) {
    size_t entry = t->how.entry_bytes;
    const struct segment *s = module_segment_at(t->a->module, at);
    if (!s || at - s->start >= s->file_size || at % entry)
        return false;
    t->bytes = s->bytes + (at - s->start);
    t->room = (s->file_size - (at - s->start)) / entry;
    if (t->room > MAX_ENTRIES)
        t->room = MAX_ENTRIES;
    return true;
}

vaddr_t table_target(const struct dispatch *how, const uint8_t *entry) {
    uint64_t offset = 0, sign = how->is_signed ? UINT64_C(1) << (8 * how->entry_bytes - 1) : 0;
    memcpy(&offset, entry, how->entry_bytes);
    return how->base + (((offset ^ sign) - sign) << how->shift);
}

static vaddr_t entry_of(const struct table *t, size_t i) {
    return table_target(&t->how, t->bytes + i * t->how.entry_bytes);
}

size_t table_first(const struct analysis *a, uint32_t func) {
    size_t low = 0;
    for (size_t high = a->switches.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->switches.at[middle].func < func)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct dispatch *table_switch(const struct analysis *a, uint32_t func, vaddr_t table) {
    for (size_t i = table_first(a, func); i < a->switches.count; i++) {
        if (a->switches.at[i].func != func)
            return NULL;
        if (a->switches.at[i].how.table == table)
            return &a->switches.at[i].how;
    }
    return NULL;
}

bool table_is_switch(const struct analysis *a, uint32_t func, vaddr_t table) {
    return table_switch(a, func, table);
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
        vaddr_t to = entry_of(t, i);
        if (!text_is_insn(a, to))
            break;
        bool inside = to >= f->start && to < f->end;
        uint32_t g = inside ? t->func : func_at(a, to);
        bool ours = inside || own(a, t->func, g);
        if ((!i && g == NO_FUNC) || (t->own_only && !ours))
            break;
        text_note(a, to, FACT_TARGET);
        owned += ours;
    }
    *ret_count = i;
    return owned;
}

/* Parts of the function that only its switch reaches belong to it. */
static void adopt(struct analysis *a, const struct table *t, size_t count) {
    for (size_t i = 0; i < count; i++) {
        vaddr_t to = entry_of(t, i);
        uint32_t g = func_at(a, to);
        if (g == NO_FUNC || a->funcs[g].start != to || own(a, t->func, g))
            continue;
        if (*text_fact(a->funcs[g].text, to) & (FACT_CALLED | FACT_TAKEN))
            continue;
        a->funcs[g].in_table = true;
        groups_unite(a, t->func, g);
    }
}

/* Entries of four bytes, from BASE. */
static struct dispatch offsets_from(vaddr_t base) {
    return (struct dispatch){.base = base, .entry_bytes = sizeof(int32_t), .is_signed = true};
}

static void follow_and_adopt(struct analysis *a, const struct table *t) {
    size_t count;
    if (follow(t, &count)) {
        a->funcs[t->func].tables++;
        adopt(a, t, count);
    }
}

static void from_itself(struct analysis *a, const struct address_load *load) {
    struct table t = {.a = a, .func = load->func, .how = offsets_from(load->address)};
    if (func_at(a, load->address) == NO_FUNC && open_table(&t, load->address))
        follow_and_adopt(a, &t);
}

/* Places at equal distances. */
static void from_places(struct analysis *a, const struct switch_table *s) {
    for (uint32_t i = 0; i < s->how.count; i++) {
        vaddr_t to = s->how.table + (vaddr_t)i * s->how.entry_bytes;
        if (text_is_insn(a, to))
            text_note(a, to, FACT_TARGET);
    }
    a->funcs[s->func].tables++;
}

static void from_switch(struct analysis *a, const struct switch_table *s) {
    if (s->how.kind == DISPATCH_COMPUTED) {
        from_places(a, s);
        return;
    }
    struct table t = {.a = a, .func = s->func, .how = s->how, .own_only = !s->how.count};
    if (!open_table(&t, s->how.table))
        return;
    size_t most = s->how.count ? s->how.count : data_room(a, s->how.table, s->how.entry_bytes);
    if (t.room > most)
        t.room = most;
    follow_and_adopt(a, &t);
}

/* Offsets from a label: only entries inside the function count. */
static void from_base(struct analysis *a, const struct address_load *load, vaddr_t base) {
    struct table t = {.a = a, .func = load->func, .how = offsets_from(base)};
    const struct func *f = &a->funcs[load->func];
    if (!open_table(&t, load->address))
        return;
    size_t i = 0;
    for (; i < t.room; i++) {
        vaddr_t to = entry_of(&t, i);
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
        if (table_is_switch(a, load->func, load->address))
            continue;
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
    vaddr_t to = code_address(t->a, entry_of(t, i));
    return text_is_insn(t->a, to) ? to : 0;
}

/* Within the function, and not its start: functions call themselves through tables, too. */
static bool inner(const struct analysis *a, uint32_t func, vaddr_t to) {
    uint32_t g = func_at(a, to);
    return own(a, func, g) && (g != func || to != a->funcs[func].start);
}

enum table_use table_use(const struct analysis *a, uint32_t func, vaddr_t table) {
    struct table t = {.a = a, .func = func, .how = {.entry_bytes = a->arch->word_bytes}};
    if (!table || a->module->position_independent || !open_table(&t, table))
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
    struct table t = {.a = a, .func = jump->func, .how = {.entry_bytes = a->arch->word_bytes}};
    if (!open_table(&t, jump->to))
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
            ARRAY_PUSH(&a->switch_words, jump->to + i * a->arch->word_bytes);
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
    for (size_t i = 0; i < a->switches.count; i++)
        from_switch(a, &a->switches.at[i]);
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        bool table = t->kind == INSN_JUMP_INDIRECT && t->dispatch == DISPATCH_ADDRESSES;
        if (table && table_use(a, t->func, t->to) == TABLE_SWITCH)
            claim_parts(a, t);
    }
    if (a->switch_words.count)
        qsort(a->switch_words.at, a->switch_words.count, sizeof(vaddr_t), compare_address);
}
