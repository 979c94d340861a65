/*
 * Returns that have no room for a patch, and no hole near: most are one byte, are branched to, and
 * have other code right behind. They stay as they are; each way that leads to one returns itself,
 * where it has room:
 *
 *     a branch to it        | cmp  je x |        j!e over; stub(RETURN); ret; over: …
 *     what runs into it     | mov  pop  | x:     mov; pop; stub(RETURN); ret
 *
 * So nothing depends on knowing all ways: a thread on another way finds the return in its place.
 * Only whether the exit is exact does. All ways are known when no more than direct branches of
 * described code lead there; code/decode.c keeps these apart from whatever else makes a target.
 */
#include "plan/window/placing.h"

/* The first branch to ADDR, or what would stand behind it. */
static size_t first_branch(const struct code *code, vaddr_t addr) {
    return SEARCH(i, code->to_returns.count, code->to_returns.at[i].to < addr);
}

/* The instruction that runs into ADDR of F; 0 if none does. */
static vaddr_t before(const struct placing *p, const struct func *f, vaddr_t addr) {
    const struct text *text = f->text;
    vaddr_t last = addr > f->start ? insn_before(p->code, text, addr) : 0, at = last;
    while (at > f->start && insn_kind(p->code, text, at) == INSN_NOP && !is_arrived_at(p, text, at))
        at = insn_before(p->code, text, at);
    return at && insn_ends_flow(insn_kind(p->code, text, at)) ? 0 : last;
}

static struct exit_window *served(const struct placing *p, const struct exit_site *x) {
    return &p->ws->by_exit[x - p->exits->at];
}

/* Can X be left to the ways that lead to it? */
static bool is_left(const struct placing *p, const struct exit_site *x) {
    const struct func *f = &p->code->funcs[x->func];
    size_t i = first_branch(p->code, x->addr);
    const bool all = i < p->code->to_returns.count && p->code->to_returns.at[i].to == x->addr &&
                     p->arrivals->only_branch[i];
    return all && x->kind == INSN_RETURN && served(p, x)->tier == TIER_NONE &&
           func_is_described(p->code, f) && x->pops >= 0 && !func_is_start(f, x->addr) &&
           !is_taken(p, f->text, x->addr);
}

static void make_way(struct placing *p, vaddr_t addr) {
    uint32_t func = code_func_at(p->code, addr);
    const struct group *group = group_at(p->groups, func);
    if (!p->code->funcs[func].range && (group->unproven || group->loose || group->bad))
        return;
    if (!is_taken(p, p->code->funcs[func].text, addr))
        window_around(p, func, addr);
}

static void make_ways(struct placing *p, const struct exit_site *x) {
    vaddr_t last = before(p, &p->code->funcs[x->func], x->addr);
    served(p, x)->delegated = true;
    for (size_t i = first_branch(p->code, x->addr);
         i < p->code->to_returns.count && p->code->to_returns.at[i].to == x->addr; i++)
        make_way(p, p->code->to_returns.at[i].from);
    if (last)
        make_way(p, last);
}

static const struct window *window_over(const struct windows *ws, vaddr_t addr) {
    size_t i = SEARCH(k, ws->count, ws->at[k].start <= addr);
    const struct window *w = i ? &ws->at[i - 1] : NULL;
    return w && addr < w->end ? w : NULL;
}

/* X has the tier of that way to it that comes last in preference; a pun is none to be sure of. */
static void judge(const struct placing *p, const struct exit_site *x) {
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
    served(p, x)->tier = tier;
    served(p, x)->refused = REFUSED_NOT;
}

void returns_delegate(struct placing *p) {
    for (size_t i = p->exits->count; i-- > 0;) {
        const struct exit_site *x = &p->exits->at[i];
        if (p->wanted_group[group_of(p->groups, x->func)] && is_left(p, x))
            make_ways(p, x);
    }
    windows_sort(p->ws);
    for (size_t i = 0; i < p->exits->count; i++) {
        if (p->ws->by_exit[i].delegated)
            judge(p, &p->exits->at[i]);
    }
}

bool window_runs_into(const struct windows *windows, const struct window *w, vaddr_t addr) {
    const struct text *text = windows->code->funcs[w->func].text;
    if (w->end != addr || w->tier == TIER_PAD || w->tier == TIER_TRAP)
        return false;
    vaddr_t last = insn_before(windows->code, text, addr);
    return !last || !insn_ends_flow(insn_kind(windows->code, text, last));
}
