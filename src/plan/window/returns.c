/*
 * Returns without room for a patch and without a hole near. Most are one byte, are branched to,
 * and have other code right behind. They stay unpatched. Each path to such a return makes the
 * return itself, where it has room for a window:
 *
 *     a branch to it        | cmp  je x |        j!e over; stub(RETURN); ret; over: …
 *     what runs into it     | mov  pop  | x:     mov; pop; stub(RETURN); ret
 *
 * A thread on another path finds the return in its place, so nothing depends on knowing all paths.
 * Only the exit's exactness does. All paths are known if only direct branches of described code
 * lead to the return; code/decode.c records these separately from other targets.
 */
#include "plan/window/placing.h"

/* The index of the first branch to ADDR, or of the first one behind it. */
static size_t first_branch(const struct code *code, vaddr_t addr) {
    return SEARCH(i, code->to_returns.count, code->to_returns.at[i].to < addr);
}

/* The instruction that runs into ADDR of F; 0: none. */
static vaddr_t before(const struct placing *p, const struct func *f, vaddr_t addr) {
    const struct text *text = f->text;
    vaddr_t last = addr > f->start ? insn_before(p->code, text, addr) : 0, at = last;
    while (at > f->start && insn_kind(p->code, text, at) == INSN_NOP && !is_arrived_at(p, text, at))
        at = insn_before(p->code, text, at);
    return at && insn_ends_flow(insn_kind(p->code, text, at)) ? 0 : last;
}

static struct exit_window *window_of(const struct placing *p, const struct exit_site *x) {
    return &p->ws->by_exit[x - p->exits->at];
}

/* True if windows on the paths to X can make the return X. */
static bool can_delegate(const struct placing *p, const struct exit_site *x) {
    const struct func *f = &p->code->funcs[x->func];
    size_t i = first_branch(p->code, x->addr);
    const bool all = i < p->code->to_returns.count && p->code->to_returns.at[i].to == x->addr &&
                     p->arrivals->only_branch[i];
    return all && x->kind == INSN_RETURN && window_of(p, x)->tier == TIER_NONE &&
           func_is_described(p->code, f) && x->pops >= 0 && !func_is_start(f, x->addr) &&
           !is_taken(p, f->text, x->addr);
}

static void serve_path(struct placing *p, vaddr_t addr) {
    uint32_t func = code_func_at(p->code, addr);
    const struct group *group = group_at(p->groups, func);
    if (!p->code->funcs[func].range && (group->unproven || group->movable || group->undecodable))
        return;
    if (!is_taken(p, p->code->funcs[func].text, addr))
        window_around(p, func, addr);
}

static void serve_paths(struct placing *p, const struct exit_site *x) {
    vaddr_t last = before(p, &p->code->funcs[x->func], x->addr);
    window_of(p, x)->delegated = true;
    for (size_t i = first_branch(p->code, x->addr);
         i < p->code->to_returns.count && p->code->to_returns.at[i].to == x->addr; i++)
        serve_path(p, p->code->to_returns.at[i].from);
    if (last)
        serve_path(p, last);
}

static const struct window *window_over(const struct windows *ws, vaddr_t addr) {
    size_t i = SEARCH(k, ws->count, ws->at[k].start <= addr);
    const struct window *w = i ? &ws->at[i - 1] : NULL;
    return w && addr < w->end ? w : NULL;
}

/* X gets the least preferred tier of its paths. A path with a pun may not be patched in the end, so
 * X stays without a tier. */
static void set_tier(const struct placing *p, const struct exit_site *x) {
    uint32_t group = group_of(p->groups, x->func);
    vaddr_t last = before(p, &p->code->funcs[x->func], x->addr);
    const struct window *w = last ? window_over(p->ws, last) : NULL;
    uint8_t tier = w ? w->tier : TIER_NONE;
    if (last && (!w || !window_runs_into(p->ws, w, x->addr)))
        return;
    for (size_t i = first_branch(p->code, x->addr);
         i < p->code->to_returns.count && p->code->to_returns.at[i].to == x->addr; i++) {
        vaddr_t from = p->code->to_returns.at[i].from;
        w = window_over(p->ws, from);
        if (!w || group_of(p->groups, code_func_at(p->code, from)) != group)
            return;
        tier = w->tier > tier ? w->tier : tier;
    }
    if (tier == TIER_PUN)
        return;
    window_of(p, x)->tier = tier;
    window_of(p, x)->refused = REFUSED_NOT;
}

void returns_delegate(struct placing *p) {
    for (size_t i = p->exits->count; i-- > 0;) {
        const struct exit_site *x = &p->exits->at[i];
        if (p->wanted_group[group_of(p->groups, x->func)] && can_delegate(p, x))
            serve_paths(p, x);
    }
    windows_sort(p->ws);
    for (size_t i = 0; i < p->exits->count; i++) {
        if (p->ws->by_exit[i].delegated)
            set_tier(p, &p->exits->at[i]);
    }
}

bool window_runs_into(const struct windows *windows, const struct window *w, vaddr_t addr) {
    const struct text *text = windows->code->funcs[w->func].text;
    if (w->end != addr || w->tier == TIER_PAD || w->tier == TIER_TRAP)
        return false;
    vaddr_t last = insn_before(windows->code, text, addr);
    return !last || !insn_ends_flow(insn_kind(windows->code, text, last));
}
