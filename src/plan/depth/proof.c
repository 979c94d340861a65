/*
 * Proves functions without call-frame information: the walk must show what each return and each
 * jump out of them is. In described functions, corrects jumps that seem to leave a frame behind.
 */
#include "plan/depth/follow.h"

static bool direct_proven(const struct depths *d, const struct transfer *t) {
    uint32_t i = code_func_at(d->code, t->to);
    const struct func *f = &d->code->funcs[t->func], *g = i == NO_FUNC ? NULL : &d->code->funcs[i];
    if (!g || g->plt)
        return transfer_at_entry(d, t);
    if (g == f || func_is_part(d, g)) /* followed */
        return true;
    if (!func_is_start(g, t->to) || d->by_func[i].inner)
        return d->by_func[t->func].cold || depths_agree(d, t);
    return transfer_at_entry(d, t) ||
           (transfer_is_idle(d, t) && func_code_depth(d, f, t->from) != DEPTH_UNKNOWN);
}

/* A computed distance from a place in its own function. */
static bool is_computed(const struct code *code, const struct transfer *t) {
    return t->dispatch == DISPATCH_COMPUTED && insn_at(code, t->to) &&
           code_func_at(code, t->to) == t->func;
}

bool transfer_is_proven(const struct follower *f, const struct transfer *t) {
    const struct depths *d = f->d;
    const int32_t inner = d->by_func[t->func].inner;
    const bool at_entry = transfer_at_entry(d, t);
    if (transfer_returns(t))
        return at_entry || (inner && func_depth(d, &d->code->funcs[t->func], t->from) == -inner);
    if (t->kind == INSN_JUMP_INDIRECT)
        return f->inside[t - d->code->transfers.at] || t->dispatch == DISPATCH_STACK ||
               t->dispatch == DISPATCH_CALL ||
               (at_entry && t->dispatch != DISPATCH_OFFSETS && !is_computed(d->code, t));
    return direct_proven(d, t);
}

bool transfer_is_stray(const struct depths *d, const struct transfer *t) {
    bool direct = !transfer_returns(t) && t->kind != INSN_JUMP_INDIRECT;
    uint32_t g = direct ? code_func_at(d->code, t->to) : NO_FUNC;
    return g != NO_FUNC && g != t->func && !d->by_func[t->func].cold && !depths_agree(d, t);
}

/* True if T seems to jump away with a frame up, by its call-frame information, to a place where
 * only tail calls lead. */
static bool seems_to_leave_frame(const struct depths *d, const struct transfer *t) {
    if (transfer_at_entry(d, t) || func_is_part(d, &d->code->funcs[t->func]) || transfer_returns(t))
        return false;
    if (t->kind == INSN_JUMP_INDIRECT)
        return t->dispatch == DISPATCH_ANY || t->dispatch == DISPATCH_VARIABLE ||
               t->dispatch == DISPATCH_ADDRESSES;
    uint32_t i = code_func_at(d->code, t->to);
    const struct func *g = i == NO_FUNC ? NULL : &d->code->funcs[i];
    return !g || (i != t->func && func_is_start(g, t->to) && !func_is_part(d, g));
}

/* True if T is a return that loads the stack pointer. Call-frame information describes such frames
 * by the frame pointer, and so does not give the stack's depth. */
static bool loads_sp(const struct depths *d, const struct transfer *t) {
    const struct text *text = d->code->funcs[t->func].text;
    const struct arch *arch = code_arch(d->code, text, t->from);
    uint8_t base;
    int32_t link;
    return arch->return_loads_sp && !func_is_part(d, &d->code->funcs[t->func]) &&
           transfer_returns(t) &&
           arch->return_loads_sp(text_bytes(text, t->from), insn_size(d->code, text, t->from),
                                 &base, &link);
}

/* LLVM's tables for AArch64 leave out epilogues, and code without a frame behind one. */
void correct_depths(struct follower *f) {
    const struct code *code = f->code;
    struct depths *d = f->d;
    uint32_t followed = NO_FUNC;
    bool known = false;
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        const struct func *func = &code->funcs[t->func];
        if (!func->range || code->by_func[t->func].undecodable ||
            !(seems_to_leave_frame(d, t) || loads_sp(d, t)))
            continue;
        if (followed != t->func) {
            bool falls = d->by_func[t->func].falls;
            known = depth_follow(f, t->func);
            d->by_func[t->func].falls = falls;
            followed = t->func;
        }
        d->entry_depth[i] = known && func_code_depth(d, func, t->from) == code->arch->entry_cfa;
    }
}
