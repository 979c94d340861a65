/* Transfers get what the instructions around them and the unwind information tell. */
#include "plan/analysis.h"

/* The instructions that run before the one at ADDR in a straight line, nearest first. A call ends
 * the line: registers do not survive it. */
static size_t past_of(const struct func *f, vaddr_t addr, struct code_bytes past[DISPATCH_PAST]) {
    size_t count = 0;
    vaddr_t p = text_previous(f->text, addr);
    for (; p >= f->start && p && count < DISPATCH_PAST; p = text_previous(f->text, p)) {
        uint8_t kind = text_kind(f->text, p);
        if (kind == INSN_CALL || kind == INSN_CALL_INDIRECT)
            break;
        past[count++] = (struct code_bytes){text_bytes(f->text, p), text_size(f->text, p), p};
    }
    return count;
}

static bool leads_to_thunk(const struct analysis *a, vaddr_t to) {
    uint32_t f = func_at(a, to);
    return f != NO_FUNC && a->funcs[f].thunk && a->funcs[f].start == to;
}

void transfers_resolve(struct analysis *a) {
    for (size_t i = 0; i < a->transfers.count; i++) {
        struct transfer *t = &a->transfers.at[i];
        const struct func *f = &a->funcs[t->func];
        t->entry_depth = func_entry_depth(a, f, t->from);
        if (t->kind == INSN_JUMP && leads_to_thunk(a, t->to))
            t->kind = INSN_JUMP_INDIRECT;
        if (t->kind != INSN_JUMP_INDIRECT)
            continue;
        struct code_bytes past[DISPATCH_PAST];
        struct code_bytes jump = {text_bytes(f->text, t->from), text_size(f->text, t->from),
                                  t->from};
        struct dispatch d = a->arch->dispatch(jump, past, past_of(f, t->from, past));
        t->dispatch = d.kind;
        t->to = d.table;
    }
}
