/* Completes indirect jumps by the code before them and unwind information; reads jump tables. */
#include <string.h>

#include "plan/code/inline_tables.h"
#include "plan/code/reading.h"

/* The straight line of instructions before the one at ADDR. It ends at a call, since registers do
 * not survive calls. */
static struct code_line line_to(const struct code *c, const struct func *f, vaddr_t addr) {
    struct code_line line = {
        .jump = {text_bytes(f->text, addr), insn_size(c, f->text, addr), addr}};
    vaddr_t p = insn_before(c, f->text, addr);
    for (; p >= f->start && p && line.count < DISPATCH_PAST; p = insn_before(c, f->text, p)) {
        uint8_t kind = insn_kind(c, f->text, p);
        if (kind == INSN_CALL || kind == INSN_CALL_INDIRECT)
            break;
        line.past[line.count++] =
            (struct code_bytes){text_bytes(f->text, p), insn_size(c, f->text, p), p};
    }
    return line;
}

static bool leads_to_thunk(const struct code *c, vaddr_t to) {
    uint32_t f = code_func_at(c, to);
    return f != NO_FUNC && c->funcs[f].thunk && c->funcs[f].start == to;
}

/* Records HOW as a table of FUNC if all its entries lead to instructions of that function. */
static void try_table(struct code *c, uint32_t func, struct dispatch how) {
    const struct func *f = &c->funcs[func];
    const uint8_t *at = module_bytes(c->module, how.table, (uint64_t)how.count * how.entry_bytes);
    if (!at || how.table % how.entry_bytes || code_func_at(c, how.table) != NO_FUNC)
        return;
    for (uint32_t i = 0; i < how.count; i++) {
        vaddr_t to = table_target(&how, at + (size_t)i * how.entry_bytes);
        if (to < f->start || to >= f->end || !insn_at(c, to))
            return;
    }
    ARRAY_PUSH(&c->switches, ((struct switch_table){.func = func, .how = how}));
}

/* The instructions before the jump show how it reads its table, and the number of entries. The
 * table's address was loaded earlier, before a loop, and perhaps the base of its offsets, too. Both
 * are among the addresses that FUNC computes. */
static void find_table(struct code *c, uint32_t func, struct dispatch how) {
    size_t first = loads_first(c->bases.at, c->bases.count, func);
    vaddr_t base = how.base;
    for (size_t i = loads_first(c->loads.at, c->loads.count, func);
         i < c->loads.count && c->loads.at[i].func == func; i++) {
        how.table = c->loads.at[i].address;
        how.base = base ? base : how.table;
        try_table(c, func, how);
        for (size_t j = first; !base && j < c->bases.count && c->bases.at[j].func == func; j++) {
            how.base = c->bases.at[j].address;
            try_table(c, func, how);
        }
    }
}

/* True if T is a return that jumps elsewhere than behind a call. Right before it the stack pointer
 * is computed, although the frame is already gone. Unwinders leave so for a landing pad
 * (__builtin_eh_return). */
static bool returns_elsewhere(const struct code *c, const struct transfer *t) {
    const struct func *f = &c->funcs[t->func];
    vaddr_t at = insn_before(c, f->text, t->from);
    struct stack_effect effects[STACK_MAX_EFFECTS];
    if (t->kind != INSN_RETURN || at < f->start || insn_kind(c, f->text, at) != INSN_OTHER ||
        func_cfi_depth(c->texts, f, at) != c->arch->entry_cfa)
        return false;
    size_t count = code_arch(c, f->text, at)
                       ->stack(text_bytes(f->text, at), insn_size(c, f->text, at), effects);
    for (size_t i = 0; i < count; i++)
        if (effects[i].changed >> c->arch->sp_register & 1)
            return true;
    return false;
}

void transfers_resolve(struct code *c) {
    for (size_t i = 0; i < c->transfers.count; i++) {
        struct transfer *t = &c->transfers.at[i];
        const struct func *f = &c->funcs[t->func];
        if (t->kind == INSN_JUMP && leads_to_thunk(c, t->to))
            t->kind = INSN_JUMP_INDIRECT;
        if (returns_elsewhere(c, t)) {
            t->kind = INSN_JUMP_INDIRECT;
            t->dispatch = DISPATCH_STACK;
            continue;
        }
        if (t->kind != INSN_JUMP_INDIRECT)
            continue;
        struct insn in;
        const struct code_line line = line_to(c, f, t->from);
        const struct arch *arch = code_arch(c, f->text, t->from);
        arch->decode(line.jump.at, line.jump.size, t->from, &in, NULL);
        struct dispatch d = dispatch_of(c->states, arch, &in, &line);
        t->dispatch = d.kind;
        t->to = d.table;
        t->near = d.kind == DISPATCH_OFFSETS && d.entry_bytes && d.entry_bytes < sizeof(int32_t) &&
                  d.base >= f->start && d.base < f->end;
        if (d.kind == DISPATCH_OFFSETS && d.table)
            ARRAY_PUSH(&c->switches, ((struct switch_table){.func = t->func, .how = d}));
        else if (d.kind == DISPATCH_OFFSETS && d.count)
            find_table(c, t->func, d);
        if (d.kind == DISPATCH_COMPUTED && c->arch->other)
            ARRAY_PUSH(&c->switches, ((struct switch_table){.func = t->func, .how = d}));
        if (d.kind == DISPATCH_CALL)
            code_note(c, c->return_points, t->from + in.size);
    }
}

/* ---- tables ---- */

vaddr_t table_target(const struct dispatch *how, const uint8_t *entry) {
    uint64_t offset = 0, sign = how->is_signed ? UINT64_C(1) << (8 * how->entry_bytes - 1) : 0;
    memcpy(&offset, entry, how->entry_bytes);
    return how->base + (((offset ^ sign) - sign) << how->shift);
}

size_t table_first(const struct code *code, uint32_t func) {
    return SEARCH(i, code->switches.count, code->switches.at[i].func < func);
}

const struct dispatch *table_switch(const struct code *code, uint32_t func, vaddr_t table) {
    for (size_t i = table_first(code, func); i < code->switches.count; i++) {
        if (code->switches.at[i].func != func)
            return NULL;
        if (code->switches.at[i].how.table == table)
            return &code->switches.at[i].how;
    }
    return NULL;
}

size_t loads_first(const struct address_load *loads, size_t count, uint32_t func) {
    return SEARCH(i, count, loads[i].func < func);
}

size_t data_room(const struct code *code, const address_list *starts, vaddr_t table, size_t size) {
    enum { MAX_ENTRIES = 8192 };
    const struct segment *segment = module_segment_at(code->module, table);
    if (!segment || table % size || table - segment->start >= segment->file_size)
        return 0;
    size_t next = list_place(starts, table + 1);
    vaddr_t end = segment->start + segment->file_size;
    if (next < starts->count && starts->at[next] < end)
        end = starts->at[next];
    if (end - table > MAX_ENTRIES * size)
        end = table + MAX_ENTRIES * size;
    const struct text *text = text_at(code->texts, table);
    if (text && state_is_data(code->states, text, table))
        end = state_end(code->states, text, table, end);
    return (end - table) / size;
}
