/*
 * Follows jump tables.
 *
 * Any data whose address a function computes may be a table of offsets. Its words are followed
 * until one does not lead to an instruction. Offsets count from the table, or from a label in the
 * function (glibc's printf). Data that looks like a table by accident only adds targets, which
 * cost windows at most.
 *
 * If the instructions before a jump show how it reads its table, it is read so (AArch64: entries
 * of one, two or four bytes, shifted, from a label or the table). The comparison before the jump
 * gives its length. Without one, the table ends at other data or at an entry that leads elsewhere.
 *
 * Tables of addresses (non-PIE) are found from the jump. Their words are targets anyway. The
 * question is whether they lead into the jump's own function (a switch) or to others (a tail call
 * through a table of functions).
 */
#include "plan/window/grouping.h"

enum { MAX_ENTRIES = 8192, MAX_BASES = 16, MAX_ADDRESSES = 64, MIN_OWN = 3 };

struct table {
    const struct groups *g;
    const struct code *code;
    uint32_t func;
    const uint8_t *bytes;
    size_t room;         /* entries up to the segment's end */
    struct dispatch how; /* at least entry_bytes is set */
    bool own_only;       /* the table ends where an entry leads elsewhere */
};

static bool open_table(struct table *t, vaddr_t at) {
    size_t entry = t->how.entry_bytes;
    const struct segment *s = module_segment_at(t->code->module, at);
    if (!s || at - s->start >= s->file_size || at % entry)
        return false;
    t->bytes = s->bytes + (at - s->start);
    t->room = (s->file_size - (at - s->start)) / entry;
    if (t->room > MAX_ENTRIES)
        t->room = MAX_ENTRIES;
    return true;
}

static vaddr_t entry_of(const struct table *t, size_t i) {
    return table_target(&t->how, t->bytes + i * t->how.entry_bytes);
}

static bool in_same_group(const struct groups *g, uint32_t func, uint32_t other) {
    return other != NO_FUNC && group_of(g, other) == group_of(g, func);
}

/* Follows the table: marks its targets. Returns how many entries lead into the group. *RET_COUNT:
 * entries that lead to code. */
static uint32_t follow(const struct table *t, size_t *ret_count) {
    const struct code *code = t->code;
    const struct func *f = &code->funcs[t->func];
    uint32_t owned = 0;
    size_t i = 0;
    for (; i < t->room; i++) {
        vaddr_t to = entry_of(t, i);
        if (!insn_at(code, to))
            break;
        bool inside = to >= f->start && to < f->end;
        uint32_t g = inside ? t->func : code_func_at(code, to);
        bool into_group = inside || in_same_group(t->g, t->func, g);
        if ((!i && g == NO_FUNC) || (t->own_only && !into_group))
            break;
        code_note(code, t->g->targets, to);
        owned += into_group;
    }
    *ret_count = i;
    return owned;
}

/* Parts that only the switch reaches belong to its function. */
static void adopt_parts(struct groups *groups, const struct table *t, size_t count) {
    const struct code *code = t->code;
    for (size_t i = 0; i < count; i++) {
        vaddr_t to = entry_of(t, i);
        uint32_t g = code_func_at(code, to);
        if (g == NO_FUNC || code->funcs[g].start != to || in_same_group(t->g, t->func, g))
            continue;
        if (code->by_func[g].called)
            continue;
        groups->by_func[g].in_table = true;
        groups_unite(groups, t->func, g);
    }
}

/* Entries of four bytes that count from BASE. */
static struct dispatch offsets_from(vaddr_t base) {
    return (struct dispatch){.base = base, .entry_bytes = sizeof(int32_t), .is_signed = true};
}

static void follow_and_adopt(struct groups *g, const struct table *t) {
    size_t count;
    if (follow(t, &count)) {
        g->by_func[t->func].tables++;
        adopt_parts(g, t, count);
    }
}

static struct table new_table(const struct groups *g, uint32_t func, struct dispatch how) {
    return (struct table){.g = g, .code = g->code, .func = func, .how = how};
}

static void from_itself(struct groups *g, const struct address_load *load) {
    struct table t = new_table(g, load->func, offsets_from(load->address));
    if (code_func_at(g->code, load->address) == NO_FUNC && open_table(&t, load->address))
        follow_and_adopt(g, &t);
}

/* Targets at equal distances. */
static void from_places(struct groups *g, const struct switch_table *s) {
    for (uint32_t i = 0; i < s->how.count; i++) {
        vaddr_t to = s->how.table + (vaddr_t)i * s->how.entry_bytes;
        if (insn_at(g->code, to))
            code_note(g->code, g->targets, to);
    }
    g->by_func[s->func].tables++;
}

/* STARTS: the result of data_starts_find(). */
static void from_switch(struct groups *g, const struct switch_table *s,
                        const address_list *starts) {
    if (s->how.kind == DISPATCH_COMPUTED) {
        from_places(g, s);
        return;
    }
    struct table t = new_table(g, s->func, s->how);
    t.own_only = !s->how.count;
    if (!open_table(&t, s->how.table))
        return;
    size_t most = s->how.count;
    if (!most)
        most = data_room(g->code, starts, s->how.table, s->how.entry_bytes);
    if (t.room > most)
        t.room = most;
    follow_and_adopt(g, &t);
}

/* Offsets from a label: only entries inside the function count. */
static void from_base(struct groups *g, const struct address_load *load, vaddr_t base) {
    struct table t = new_table(g, load->func, offsets_from(base));
    const struct func *f = &g->code->funcs[load->func];
    if (!open_table(&t, load->address))
        return;
    size_t i = 0;
    for (; i < t.room; i++) {
        vaddr_t to = entry_of(&t, i);
        if (to < f->start || to >= f->end || !insn_at(g->code, to))
            break;
        code_note(g->code, g->targets, to);
    }
    if (i >= MIN_OWN)
        g->by_func[load->func].tables++;
}

static void offset_tables(struct groups *g) {
    const struct code *code = g->code;
    size_t first = 0;
    for (size_t i = 0; i < code->loads.count; i++) {
        const struct address_load *load = &code->loads.at[i];
        if (table_switch(code, load->func, load->address))
            continue;
        from_itself(g, load);
        while (first < code->bases.count && code->bases.at[first].func < load->func)
            first++;
        for (size_t j = first; j < code->bases.count && j < first + MAX_BASES; j++) {
            if (code->bases.at[j].func != load->func)
                break;
            from_base(g, load, code->bases.at[j].address);
        }
    }
}

/* Entry I of a table of addresses; 0: it leads to no code. */
static vaddr_t address_entry(const struct table *t, size_t i) {
    vaddr_t to = code_address(t->code->texts, entry_of(t, i));
    return insn_at(t->code, to) ? to : 0;
}

/* True if TO is in FUNC's group and not its start: functions also call themselves through tables.
 */
static bool is_inside(const struct groups *g, uint32_t func, vaddr_t to) {
    uint32_t there = code_func_at(g->code, to);
    return in_same_group(g, func, there) && (there != func || to != g->code->funcs[func].start);
}

enum table_use table_use(const struct groups *g, uint32_t func, vaddr_t table) {
    struct table t =
        new_table(g, func, (struct dispatch){.entry_bytes = g->code->arch->word_bytes});
    if (!table || g->code->module->position_independent || !open_table(&t, table))
        return TABLE_UNKNOWN;
    for (size_t i = 0; i < t.room && i < MAX_ADDRESSES; i++) {
        vaddr_t to = address_entry(&t, i);
        if (!to)
            break;
        if (is_inside(g, func, to))
            return TABLE_SWITCH;
    }
    return TABLE_FUNCTIONS;
}

/* Parts that only the switch reaches belong to its function. The words there take no address. */
static void claim_parts(struct groups *g, const struct transfer *jump, address_list *ret_words) {
    const struct code *code = g->code;
    const uint8_t word = code->arch->word_bytes;
    struct table t = new_table(g, jump->func, (struct dispatch){.entry_bytes = word});
    if (!open_table(&t, jump->to))
        return;
    g->by_func[jump->func].tables++;
    for (size_t i = 0; i < t.room; i++) {
        vaddr_t to = address_entry(&t, i);
        uint32_t part = to ? code_func_at(code, to) : NO_FUNC;
        if (part == NO_FUNC)
            return;
        if (code->funcs[part].start == to && !code->by_func[part].called) {
            ARRAY_PUSH(ret_words, jump->to + i * word);
            g->by_func[part].in_table = true;
            groups_unite(g, jump->func, part);
        } else if (!in_same_group(g, jump->func, part)) {
            return;
        }
    }
}

void tables_decode(struct groups *g, address_list *ret_words) {
    const struct code *code = g->code;
    offset_tables(g);
    address_list starts = {0};
    if (code->switches.count)
        starts = data_starts_find(code);
    for (size_t i = 0; i < code->switches.count; i++)
        from_switch(g, &code->switches.at[i], &starts);
    ARRAY_FREE(&starts);
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        bool table = t->kind == INSN_JUMP_INDIRECT && t->dispatch == DISPATCH_ADDRESSES;
        if (table && table_use(g, t->func, t->to) == TABLE_SWITCH)
            claim_parts(g, t, ret_words);
    }
    list_sort(ret_words);
}
