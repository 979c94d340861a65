/* Transfers get what the instructions around them and the unwind information tell. */
#include "plan/depth/depth.h"

/* The instructions that run before the one at ADDR in a straight line. A call ends the line:
 * registers do not survive it. */
static struct code_line line_to(const struct func *f, vaddr_t addr) {
    struct code_line line = {.jump = {text_bytes(f->text, addr), text_size(f->text, addr), addr}};
    vaddr_t p = text_previous(f->text, addr);
    for (; p >= f->start && p && line.count < DISPATCH_PAST; p = text_previous(f->text, p)) {
        uint8_t kind = text_kind(f->text, p);
        if (kind == INSN_CALL || kind == INSN_CALL_INDIRECT)
            break;
        line.past[line.count++] =
            (struct code_bytes){text_bytes(f->text, p), text_size(f->text, p), p};
    }
    return line;
}

static bool leads_to_thunk(const struct analysis *a, vaddr_t to) {
    uint32_t f = func_at(a, to);
    return f != NO_FUNC && a->funcs[f].thunk && a->funcs[f].start == to;
}

/* Does HOW read a table all of whose entries lead to instructions of F? Notes it then. */
static void try_table(struct analysis *a, uint32_t func, struct dispatch how) {
    const struct func *f = &a->funcs[func];
    const uint8_t *at = module_bytes(a->module, how.table, (uint64_t)how.count * how.entry_bytes);
    if (!at || how.table % how.entry_bytes || func_at(a, how.table) != NO_FUNC)
        return;
    for (uint32_t i = 0; i < how.count; i++) {
        vaddr_t to = table_target(&how, at + (size_t)i * how.entry_bytes);
        if (to < f->start || to >= f->end || !text_is_insn(a, to))
            return;
    }
    ARRAY_PUSH(&a->switches, ((struct switch_table){.func = func, .how = how}));
}

/* The instructions before the jump tell how the table is read, and how many entries it has, but its
 * address, and perhaps that which offsets count from, were loaded earlier (before a loop): they are
 * among those that the function computes. */
static void find_table(struct analysis *a, uint32_t func, struct dispatch how) {
    size_t first = loads_first(a->bases.at, a->bases.count, func);
    vaddr_t base = how.base;
    for (size_t i = loads_first(a->loads.at, a->loads.count, func);
         i < a->loads.count && a->loads.at[i].func == func; i++) {
        how.table = a->loads.at[i].address;
        how.base = base ? base : how.table;
        try_table(a, func, how);
        for (size_t j = first; !base && j < a->bases.count && a->bases.at[j].func == func; j++) {
            how.base = a->bases.at[j].address;
            try_table(a, func, how);
        }
    }
}

/* Is the stack pointer computed right before T, a return, although all of the frame is gone by
 * then? Then that goes on elsewhere than behind a call: so unwinders leave for the place that they
 * have found (__builtin_eh_return). */
static bool returns_elsewhere(const struct analysis *a, const struct transfer *t) {
    const struct func *f = &a->funcs[t->func];
    vaddr_t at = text_previous(f->text, t->from);
    struct stack_effect effects[STACK_MAX_EFFECTS];
    if (t->kind != INSN_RETURN || at < f->start || text_kind(f->text, at) != INSN_OTHER ||
        !func_entry_depth(a, f, at))
        return false;
    size_t count =
        text_arch(a, f->text, at)->stack(text_bytes(f->text, at), text_size(f->text, at), effects);
    for (size_t i = 0; i < count; i++)
        if (effects[i].changed >> a->arch->sp_register & 1)
            return true;
    return false;
}

void transfers_resolve(struct analysis *a) {
    for (size_t i = 0; i < a->transfers.count; i++) {
        struct transfer *t = &a->transfers.at[i];
        const struct func *f = &a->funcs[t->func];
        t->entry_depth = func_entry_depth(a, f, t->from);
        if (t->kind == INSN_JUMP && leads_to_thunk(a, t->to))
            t->kind = INSN_JUMP_INDIRECT;
        if (returns_elsewhere(a, t)) {
            t->kind = INSN_JUMP_INDIRECT;
            t->dispatch = DISPATCH_STACK;
            continue;
        }
        if (t->kind != INSN_JUMP_INDIRECT)
            continue;
        struct insn in;
        const struct code_line line = line_to(f, t->from);
        const struct arch *arch = text_arch(a, f->text, t->from);
        arch->decode(line.jump.at, line.jump.size, t->from, &in, NULL);
        struct dispatch d = dispatch_of(a, arch, &in, &line);
        t->dispatch = d.kind;
        t->to = d.table;
        if (d.kind == DISPATCH_OFFSETS && d.table)
            ARRAY_PUSH(&a->switches, ((struct switch_table){.func = t->func, .how = d}));
        else if (d.kind == DISPATCH_OFFSETS && d.count)
            find_table(a, t->func, d);
        if (d.kind == DISPATCH_COMPUTED && a->arch->other)
            ARRAY_PUSH(&a->switches, ((struct switch_table){.func = t->func, .how = d}));
        if (d.kind == DISPATCH_CALL)
            text_note(a, t->from + in.size, FACT_RETURN_POINT);
    }
}
