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
 * Parts that only a table leads to look like functions that nothing calls. A function may have a
 * jump through a table of offsets. Such a range is a part of it, if the stack there is as deep as
 * at the jump. This may show more tables, so these are read again.
 *
 * Tables of addresses (non-PIE) are found from the jump. Their words are targets anyway. The
 * question is whether they lead into the jump's own function (a switch) or to others (a tail call
 * through a table of functions).
 */
#include <string.h>

#include "plan/window/grouping.h"

enum { MAX_ENTRIES = 8192, MAX_BASES = 16, MAX_ADDRESSES = 64, MIN_OWN = 3 };

/* Jumps through tables of offsets in one group, and the stack's depth there. */
struct jumps {
    bool any, several; /* several: the depths differ */
    int32_t depth;
};

struct reader {
    struct groups *g;
    struct jumps *jumps; /* by root */
    bool *fresh;         /* by function: a part has joined its group in this round */
    bool again;          /* some are fresh */
    address_list starts; /* the result of data_starts_find(), as soon as it is needed */
};

struct table {
    const struct groups *g;
    const struct code *code;
    uint32_t func;
    const uint8_t *bytes;
    size_t room;         /* entries up to the segment's end */
    struct dispatch how; /* at least entry_bytes is set */
    bool own_only;       /* the table ends where an entry leads elsewhere */
    bool unaligned;      /* it may be: hand-written code has such tables */
};

static bool open_table(struct table *t, vaddr_t at) {
    size_t entry = t->how.entry_bytes;
    const struct segment *s = module_segment_at(t->code->module, at);
    if (!s || at - s->start >= s->file_size || (at % entry && !t->unaligned))
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

/* What following a table shows. */
struct followed {
    size_t count;   /* entries that lead to code */
    size_t foreign; /* the first of them that leads out of the group */
    uint32_t owned; /* entries that lead into the group */
};

/* Follows the table: marks its targets. */
static struct followed follow(const struct table *t) {
    const struct code *code = t->code;
    const struct func *f = &code->funcs[t->func];
    struct followed ret = {.foreign = SIZE_MAX};
    size_t i = 0;
    for (; i < t->room; i++) {
        vaddr_t to = entry_of(t, i);
        if (!insn_at(code, to))
            break;
        bool inside = to >= f->start && to < f->end;
        uint32_t g = inside ? t->func : code_func_at(code, to);
        bool into_group = inside || in_same_group(t->g, t->func, g);
        if (!into_group && ret.foreign == SIZE_MAX)
            ret.foreign = i;
        if ((!i && g == NO_FUNC) || (t->own_only && !into_group))
            break;
        code_note(code, t->g->targets, to);
        ret.owned += into_group;
    }
    ret.count = i;
    return ret;
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
        groups->by_func[g].inside = true;
        groups_unite(groups, t->func, g);
    }
}

static void note_jumps(struct reader *r) {
    const struct code *code = r->g->code;
    memset(r->jumps, 0, code->func_count * sizeof *r->jumps);
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (t->kind != INSN_JUMP_INDIRECT || t->dispatch != DISPATCH_OFFSETS)
            continue;
        struct jumps *j = &r->jumps[group_of(r->g, t->func)];
        int32_t depth = func_depth(r->g->depths, &code->funcs[t->func], t->from);
        j->several |= j->any && j->depth != depth;
        j->any = true;
        j->depth = depth;
    }
}

static bool data_leads_to(const struct module *m, vaddr_t addr) {
    size_t i = SEARCH(k, m->ref_count, m->refs[k].target < addr);
    return i < m->ref_count && m->refs[i].target == addr;
}

/* True if PART, a range in another group than FUNC, may be a part to which only tables of FUNC's
 * group lead. One of them leads to the address TO in it. */
static bool is_lost_part(const struct reader *r, uint32_t func, uint32_t part, vaddr_t to) {
    const struct code *code = r->g->code;
    const struct jumps *j = &r->jumps[group_of(r->g, func)];
    const struct func *f = &code->funcs[part];
    bool called = code->by_func[part].called || code->by_func[part].body_called;
    return f->range && !f->plt && !called && !data_leads_to(code->module, f->start) &&
           (j->several || j->depth == func_depth(r->g->depths, f, to));
}

static bool is_nowhere(const struct reader *r, vaddr_t to) {
    const struct section *s = text_section_at(r->g->code->texts, to);
    return s && !s->plt && insn_at(r->g->code, to) && code_func_at(r->g->code, to) == NO_FUNC;
}

/* The entries of the table at AT, which ends at other data or with its section. */
static size_t bounded_room(struct reader *r, const struct table *t, vaddr_t at) {
    const struct section *s = module_section_at(t->code->module, at);
    const size_t entry = t->how.entry_bytes;
    if (!r->starts.count)
        r->starts = data_starts_find(t->code);
    size_t room = data_room(t->code, &r->starts, at, entry);
    size_t most = s ? (s->start + s->size - at) / entry : room;
    room = room < most ? room : most;
    return room < t->room ? room : t->room;
}

static void join_lost_part(struct reader *r, uint32_t func, uint32_t part, vaddr_t entry) {
    r->again = r->fresh[func] = r->fresh[part] = true;
    r->g->by_func[func].tables++;
    r->g->by_func[part].inside |= r->g->code->funcs[part].start == entry;
    groups_unite(r->g, func, part);
}

/* Finds lost parts in the table at AT, from entry FIRST on, which leads out of the group. The table
 * ends where an entry leads to another function. */
static void find_lost_parts(struct reader *r, const struct table *t, vaddr_t at, size_t first) {
    size_t room = t->room, strays = 0;
    bool bounded = false;
    if (first == SIZE_MAX || !r->jumps[group_of(r->g, t->func)].any)
        return;
    while (!first && strays < room && is_nowhere(r, entry_of(t, strays)))
        strays++;
    r->g->by_func[t->func].strays |= strays > 1;
    for (size_t i = first; i < room; i++) {
        vaddr_t to = entry_of(t, i);
        uint32_t part = insn_at(t->code, to) ? code_func_at(t->code, to) : NO_FUNC;
        if (in_same_group(r->g, t->func, part))
            continue;
        if (part == NO_FUNC || !is_lost_part(r, t->func, part, to))
            return;
        if (!bounded)
            room = bounded_room(r, t, at);
        bounded = true;
        if (i < room)
            join_lost_part(r, t->func, part, to);
    }
}

/* Entries of four bytes that count from BASE. */
static struct dispatch offsets_from(vaddr_t base) {
    return (struct dispatch){.base = base, .entry_bytes = sizeof(int32_t), .is_signed = true};
}

/* Returns the first entry that leads to code of another group; SIZE_MAX: none does. */
static size_t follow_and_adopt(struct groups *g, const struct table *t) {
    struct followed f = follow(t);
    if (f.owned) {
        g->by_func[t->func].tables++;
        adopt_parts(g, t, f.count);
    }
    return f.foreign;
}

static struct table new_table(const struct groups *g, uint32_t func, struct dispatch how) {
    return (struct table){.g = g, .code = g->code, .func = func, .how = how};
}

static void from_itself(struct reader *r, const struct address_load *load) {
    struct table t = new_table(r->g, load->func, offsets_from(load->address));
    t.unaligned = r->jumps[group_of(r->g, load->func)].any;
    if (code_func_at(t.code, load->address) != NO_FUNC || !open_table(&t, load->address))
        return;
    find_lost_parts(r, &t, load->address, follow_and_adopt(r->g, &t));
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

static void from_switch(struct reader *r, const struct switch_table *s) {
    if (s->how.kind == DISPATCH_COMPUTED) {
        from_places(r->g, s);
        return;
    }
    struct table t = new_table(r->g, s->func, s->how);
    t.own_only = !s->how.count;
    if (!open_table(&t, s->how.table))
        return;
    if (s->how.count && t.room > s->how.count)
        t.room = s->how.count;
    if (!s->how.count)
        t.room = bounded_room(r, &t, s->how.table);
    find_lost_parts(r, &t, s->how.table, follow_and_adopt(r->g, &t));
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

/* WANTED: by root, the groups whose tables are read; NULL: all. */
static void offset_tables(struct reader *r, const bool *wanted) {
    struct groups *g = r->g;
    const struct code *code = g->code;
    size_t first = 0;
    for (size_t i = 0; i < code->loads.count; i++) {
        const struct address_load *load = &code->loads.at[i];
        if (table_switch(code, load->func, load->address) ||
            (wanted && !wanted[group_of(g, load->func)]))
            continue;
        from_itself(r, load);
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

/* True if a part begins at TO. */
static bool is_part(const struct groups *g, vaddr_t to) {
    uint32_t i = code_func_at(g->code, to);
    const struct func *f = i == NO_FUNC ? NULL : &g->code->funcs[i];
    return f && f->start == to && func_is_part(g->depths, f) && !g->code->by_func[i].called;
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
        if (is_inside(g, func, to) || (!i && is_part(g, to)))
            return TABLE_SWITCH;
    }
    return TABLE_FUNCTIONS;
}

/* Parts that only the switch reaches belong to its function. The words there take no address. */
static void claim_parts(struct reader *r, const struct transfer *jump, address_list *ret_words) {
    struct groups *g = r->g;
    const struct code *code = g->code;
    const uint8_t word = code->arch->word_bytes;
    struct table t = new_table(g, jump->func, (struct dispatch){.entry_bytes = word});
    if (!open_table(&t, jump->to))
        return;
    g->by_func[jump->func].tables++;
    size_t room = bounded_room(r, &t, jump->to);
    for (size_t i = 0; i < room; i++) {
        vaddr_t to = address_entry(&t, i);
        uint32_t part = to ? code_func_at(code, to) : NO_FUNC;
        if (part == NO_FUNC)
            return;
        if (code->funcs[part].start == to && !code->by_func[part].called) {
            ARRAY_PUSH(ret_words, jump->to + i * word);
            g->by_func[part].inside = true;
            groups_unite(g, jump->func, part);
        } else if (!in_same_group(g, jump->func, part)) {
            return;
        }
    }
}

/* Reads tables of offsets, and again those of groups that get parts by them. */
static void read_offsets(struct reader *r) {
    enum { MAX_ROUNDS = 8 };
    const struct code *code = r->g->code;
    AUTO_FREE bool *wanted = mem_alloc(code->func_count + 1);
    note_jumps(r);
    offset_tables(r, NULL);
    for (size_t i = 0; i < code->switches.count; i++)
        from_switch(r, &code->switches.at[i]);
    for (int round = 0; r->again && round < MAX_ROUNDS; round++) {
        memset(wanted, 0, code->func_count);
        for (uint32_t i = 0; i < code->func_count; i++)
            wanted[group_of(r->g, i)] |= r->fresh[i];
        memset(r->fresh, 0, code->func_count);
        r->again = false;
        note_jumps(r);
        offset_tables(r, wanted);
    }
}

void tables_decode(struct groups *g, address_list *ret_words) {
    const struct code *code = g->code;
    AUTO_FREE struct jumps *jumps = mem_alloc((code->func_count + 1) * sizeof *jumps);
    AUTO_FREE bool *fresh = mem_alloc(code->func_count + 1);
    struct reader r = {.g = g, .jumps = jumps, .fresh = fresh};
    read_offsets(&r);
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        bool table = t->kind == INSN_JUMP_INDIRECT && t->dispatch == DISPATCH_ADDRESSES;
        if (table && table_use(g, t->func, t->to) == TABLE_SWITCH)
            claim_parts(&r, t, ret_words);
    }
    ARRAY_FREE(&r.starts);
    list_sort(ret_words);
}
