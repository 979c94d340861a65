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

/* True if call-frame information may not tell the depth at T. */
static bool is_doubtful(const struct follower *f, const struct transfer *t) {
    const struct code *code = f->code;
    return code->funcs[t->func].range && !code->by_func[t->func].undecodable &&
           (seems_to_leave_frame(f->d, t) || loads_sp(f->d, t));
}

/* FUNC was followed; KNOWN: on all its paths. */
static void correct(struct follower *f, uint32_t func, bool known) {
    const struct code *code = f->code;
    const struct func *whole = &code->funcs[func];
    for (size_t i = transfer_at(code, whole->start); i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (t->func != func)
            return;
        if (is_doubtful(f, t))
            f->d->entry_depth[i] =
                known && func_code_depth(f->d, whole, t->from) == code->arch->entry_cfa;
    }
}

/* LLVM's tables for AArch64 leave out epilogues, and code without a frame behind one. Where
 * functions are weak, each walk may change what is doubtful. */
void correct_depths(struct follower *f) {
    const struct code *code = f->code;
    const bool one_by_one = code->states->starts.count;
    struct follow_list due = {.followed = correct};
    uint32_t last = NO_FUNC;
    for (size_t i = 0; i < code->transfers.count; i++) {
        const struct transfer *t = &code->transfers.at[i];
        if (t->func == last || !is_doubtful(f, t))
            continue;
        last = t->func;
        ARRAY_PUSH(&due.funcs, last);
        if (!one_by_one)
            continue;
        depths_follow(f, &due);
        due.funcs.count = 0;
    }
    depths_follow(f, &due);
    ARRAY_FREE(&due.funcs);
}
