/*
 * Returns that have no room for a patch, and no hole near: most are one byte, are branched to, and
 * have other code right behind. They stay as they are; each way that leads to one returns itself,
 * where it has room:
 *
 *     a branch to it        | cmp  je x |        j!e over; stub(RETURN); ret; over: …
 *     what runs into it     | mov  pop  | x:     mov; pop; stub(RETURN); ret
 *
 * So nothing depends on knowing all ways: who arrives by another one finds the return in its place.
 * Only whether the exit is exact does. All ways are known when no more than direct branches of
 * described code lead there; text.c keeps these apart from whatever else makes a target.
 */
#include "elf/sort.h"
#include "plan/analysis.h"

/* The first branch to ADDR, or what would stand behind it. */
static size_t first_branch(const struct analysis *a, vaddr_t addr) {
    size_t low = 0;
    for (size_t high = a->to_returns.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->to_returns.at[middle].to < addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void returns_note(struct analysis *a) {
    sort_by_address(a->to_returns.at, a->to_returns.count, sizeof *a->to_returns.at);
    for (size_t i = 0; i < a->to_returns.count;) {
        vaddr_t to = a->to_returns.at[i].to;
        uint8_t *fact = text_fact(text_at(a, to), to);
        bool all = !(*fact & (FACT_TARGET | FACT_RETURN_POINT));
        for (; i < a->to_returns.count && a->to_returns.at[i].to == to; i++)
            a->to_returns.at[i].all = all;
        *fact |= FACT_TARGET;
    }
}

static bool ends_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_TRAP;
}

/* The instruction that runs into ADDR of F; 0 if none does. */
static vaddr_t before(const struct func *f, vaddr_t addr) {
    const struct text *text = f->text;
    vaddr_t last = addr > f->start ? text_previous(text, addr) : 0, at = last;
    while (at > f->start && text_kind(text, at) == INSN_NOP &&
           !(*text_fact(text, at) & (FACT_TARGET | FACT_RETURN_POINT)))
        at = text_previous(text, at);
    return at && ends_flow(text_kind(text, at)) ? 0 : last;
}

/* Can X be left to the ways that lead to it? */
static bool is_left(const struct analysis *a, const struct exit_site *x) {
    const struct func *f = &a->funcs[x->func];
    size_t i = first_branch(a, x->addr);
    bool all =
        i < a->to_returns.count && a->to_returns.at[i].to == x->addr && a->to_returns.at[i].all;
    return all && x->kind == INSN_RETURN && x->tier == TIER_NONE && func_is_described(a, f) &&
           x->pops >= 0 && !func_is_start(f, x->addr) &&
           !(*text_fact(f->text, x->addr) & FACT_OWNED);
}

static void make_way(struct analysis *a, vaddr_t addr) {
    uint32_t func = func_at(a, addr);
    const struct func *root = group_root(a, func);
    if (!a->funcs[func].range && (root->unproven || root->loose || root->bad))
        return;
    if (!(*text_fact(a->funcs[func].text, addr) & FACT_OWNED))
        window_around(a, func, addr);
}

static void make_ways(struct analysis *a, struct exit_site *x) {
    vaddr_t last = before(&a->funcs[x->func], x->addr);
    x->delegated = true;
    for (size_t i = first_branch(a, x->addr);
         i < a->to_returns.count && a->to_returns.at[i].to == x->addr; i++)
        make_way(a, a->to_returns.at[i].from);
    if (last)
        make_way(a, last);
}

static const struct window *window_over(const struct analysis *a, vaddr_t addr) {
    size_t low = 0;
    for (size_t high = a->windows.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (a->windows.at[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    const struct window *w = low ? &a->windows.at[low - 1] : NULL;
    return w && addr < w->end ? w : NULL;
}

/* X has the tier of that way to it that comes last in preference; a pun is none to be sure of. */
static void judge(const struct analysis *a, struct exit_site *x) {
    uint32_t group = group_of(a, x->func);
    vaddr_t last = before(&a->funcs[x->func], x->addr);
    const struct window *w = last ? window_over(a, last) : NULL;
    uint8_t tier = w ? w->tier : TIER_NONE;
    if (last && (!w || !window_runs_into(a, w, x->addr)))
        return;
    for (size_t i = first_branch(a, x->addr);
         i < a->to_returns.count && a->to_returns.at[i].to == x->addr; i++) {
        vaddr_t from = a->to_returns.at[i].from;
        w = window_over(a, from);
        if (!w || group_of(a, func_at(a, from)) != group)
            return;
        tier = w->tier > tier ? w->tier : tier;
    }
    if (tier == TIER_PUN)
        return;
    x->tier = tier;
    x->refused = REFUSED_NOT;
}

void returns_delegate(struct analysis *a, const bool *wanted_group) {
    for (size_t i = a->exits.count; i-- > 0;) {
        struct exit_site *x = &a->exits.at[i];
        if (wanted_group[group_of(a, x->func)] && is_left(a, x))
            make_ways(a, x);
    }
    windows_sort(a);
    for (size_t i = 0; i < a->exits.count; i++) {
        if (a->exits.at[i].delegated)
            judge(a, &a->exits.at[i]);
    }
}

bool window_runs_into(const struct analysis *a, const struct window *w, vaddr_t addr) {
    const struct text *text = a->funcs[w->func].text;
    if (w->end != addr || w->tier == TIER_PAD || w->tier == TIER_TRAP)
        return false;
    vaddr_t last = text_previous(text, addr);
    return !last || !ends_flow(text_kind(text, last));
}
