/*
 * Functions without call-frame information are proven when the walk through their code tells what
 * each return and each jump out of them is. Of those that have it jumps are looked at that it says
 * to leave a frame behind.
 */
#include "plan/depth/depth.h"

bool depths_agree(const struct analysis *a, const struct transfer *t) {
    const struct func *f = &a->funcs[t->func], *g = &a->funcs[func_at(a, t->to)];
    int32_t from = func_depth(a, f, t->from), to = func_depth(a, g, t->to);
    return from != DEPTH_UNKNOWN && to != DEPTH_UNKNOWN && from + f->inner == to + g->inner;
}

static bool direct_proven(const struct analysis *a, const struct transfer *t) {
    uint32_t i = func_at(a, t->to);
    const struct func *f = &a->funcs[t->func], *g = i == NO_FUNC ? NULL : &a->funcs[i];
    if (!g || g->plt)
        return t->entry_depth;
    if (g == f || func_is_part(g)) /* followed */
        return true;
    if (!func_is_start(g, t->to) || g->inner)
        return f->cold || depths_agree(a, t);
    return t->entry_depth || (transfer_is_idle(a, t) && depth_at(a, f, t->from) != DEPTH_UNKNOWN);
}

static bool proven(const struct analysis *a, const struct transfer *t) {
    const struct func *f = &a->funcs[t->func];
    if (transfer_returns(t))
        return t->entry_depth || (f->inner && func_depth(a, f, t->from) == -(int32_t)f->inner);
    switch (t->kind) {
    case INSN_JUMP_INDIRECT:
        return t->inside || t->dispatch == DISPATCH_STACK || t->dispatch == DISPATCH_CALL ||
               (t->entry_depth && t->dispatch != DISPATCH_OFFSETS && !transfer_is_computed(a, t));
    default:
        return direct_proven(a, t);
    }
}

/* A jump into the middle of another function that its code does not tell of. */
static bool is_stray(const struct analysis *a, const struct transfer *t) {
    bool direct = !transfer_returns(t) && t->kind != INSN_JUMP_INDIRECT;
    uint32_t g = direct ? func_at(a, t->to) : NO_FUNC;
    return g != NO_FUNC && g != t->func && !a->funcs[t->func].cold && !depths_agree(a, t);
}

/* Calls that are followed lead to starts, of inner functions only those that agree. */
static void note_stray(struct analysis *a, vaddr_t addr) {
    struct func *g = &a->funcs[func_at(a, addr)];
    func_note_stray(a, addr);
    g->unproven |= g->inner != 0;
}

/* What runs into the next function does so where that is entered by calls. */
static void part_from_inner(struct analysis *a, uint32_t i) {
    struct func *f = &a->funcs[i], *g = i + 1 < a->func_count ? &a->funcs[i + 1] : NULL;
    if (f->falls_through && g && (f->inner || g->inner))
        f->unproven = g->unproven = true;
}

/* Those that may be parts of others come last: by then it is known whether they are. */
static void follow_bare(struct analysis *a, bool weak) {
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i];
        if (!f->range && !f->cold && f->weak == weak)
            f->unproven |= !f->bad && !depth_follow(a, i);
    }
}

/* Is T a jump out of a function with a frame, as its call-frame information says, to where only a
 * tail call leads? */
static bool seems_to_leave_frame(const struct analysis *a, const struct transfer *t) {
    if (t->entry_depth || func_is_part(&a->funcs[t->func]) || transfer_returns(t))
        return false;
    if (t->kind == INSN_JUMP_INDIRECT)
        return t->dispatch == DISPATCH_ANY || t->dispatch == DISPATCH_VARIABLE ||
               t->dispatch == DISPATCH_ADDRESSES;
    uint32_t i = func_at(a, t->to);
    const struct func *g = i == NO_FUNC ? NULL : &a->funcs[i];
    return !g || (i != t->func && func_is_start(g, t->to) && !func_is_part(g));
}

/* Is T a return that loads the stack pointer? Call-frame information tells frames that are left so
 * by their frame pointer, and so not how deep the stack is. */
static bool loads_sp(const struct analysis *a, const struct transfer *t) {
    const struct text *text = a->funcs[t->func].text;
    const struct arch *arch = text_arch(a, text, t->from);
    uint8_t base;
    int32_t link;
    return arch->return_loads_sp && !func_is_part(&a->funcs[t->func]) && transfer_returns(t) &&
           arch->return_loads_sp(text_bytes(text, t->from), text_size(text, t->from), &base, &link);
}

/* Call-frame information may be that of calls only: LLVM's of AArch64 says nothing of epilogues,
 * and of code without a frame that stands behind one. Then the code tells. */
static void correct_depths(struct analysis *a) {
    uint32_t followed = NO_FUNC;
    bool known = false;
    for (size_t i = 0; i < a->transfers.count; i++) {
        struct transfer *t = &a->transfers.at[i];
        struct func *f = &a->funcs[t->func];
        if (!f->range || f->bad || !(seems_to_leave_frame(a, t) || loads_sp(a, t)))
            continue;
        if (followed != t->func) {
            bool falls = f->falls_through;
            known = depth_follow(a, t->func);
            f->falls_through = falls;
            followed = t->func;
        }
        t->entry_depth = known && depth_at(a, f, t->from) == a->arch->entry_cfa;
    }
}

static bool pops_word(const char *name) { return name && special_pops_word(name); }

void depths_find(struct analysis *a) {
    functions_by_name(a, pops_word, &a->poppers);
    if (a->bare_high)
        anchors_find(a);
    follow_bare(a, false);
    follow_bare(a, true);
    inner_find(a);
    for (uint32_t i = 0; i < a->func_count; i++)
        part_from_inner(a, i);
    for (size_t i = 0; i < a->transfers.count; i++) {
        struct transfer *t = &a->transfers.at[i];
        struct func *f = &a->funcs[t->func];
        if (is_stray(a, t))
            note_stray(a, t->to);
        if (f->range)
            continue;
        t->entry_depth = func_entry_depth(a, f, t->from);
        f->unproven |= !proven(a, t);
    }
    correct_depths(a);
}
