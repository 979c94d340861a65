/*
 * Functions without call-frame information are proven when the walk through their code tells what
 * each return and each jump out of them is.
 */
#include "plan/depth.h"

bool depths_agree(const struct analysis *a, const struct transfer *t) {
    const struct func *f = &a->funcs[t->func], *g = &a->funcs[func_at(a, t->to)];
    int32_t depth = func_depth(a, f, t->from);
    return depth != DEPTH_UNKNOWN && depth == func_depth(a, g, t->to);
}

static bool direct_proven(const struct analysis *a, const struct transfer *t) {
    uint32_t i = func_at(a, t->to);
    const struct func *f = &a->funcs[t->func], *g = i == NO_FUNC ? NULL : &a->funcs[i];
    if (!g || g->plt)
        return t->entry_depth;
    if (g == f || func_is_part(g)) /* followed */
        return true;
    if (!func_is_start(g, t->to))
        return f->cold || depths_agree(a, t);
    return t->entry_depth || (transfer_is_idle(a, t) && depth_at(a, f, t->from) != DEPTH_UNKNOWN);
}

static bool proven(const struct analysis *a, const struct transfer *t) {
    if (transfer_returns(t))
        return t->entry_depth;
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

/* Those that may be parts of others come last: by then it is known whether they are. */
static void follow_bare(struct analysis *a, bool weak) {
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i];
        if (!f->range && !f->cold && f->weak == weak)
            f->unproven |= !f->bad && !depth_follow(a, i);
    }
}

void depths_find(struct analysis *a) {
    if (a->bare_high)
        anchors_find(a);
    follow_bare(a, false);
    follow_bare(a, true);
    for (size_t i = 0; i < a->transfers.count; i++) {
        struct transfer *t = &a->transfers.at[i];
        struct func *f = &a->funcs[t->func];
        if (is_stray(a, t))
            func_note_stray(a, t->to);
        if (f->range)
            continue;
        t->entry_depth = func_entry_depth(a, f, t->from);
        f->unproven |= !proven(a, t);
    }
}
