/*
 * Traps, the last tier. A breakpoint takes one byte and needs neither a hole nor an address. So it
 * fits wherever an instruction can be moved:
 *
 *     entry    | push |  …        only the first instruction is moved
 *     exit     … | ret |          likewise
 *
 * Only the first byte changes. A branch into its middle (behind a prefix) still finds the same
 * bytes, and the code behind is not touched. So most reasons against a window do not forbid a
 * trap. But each hit stops its thread, at thousands of times the price of a jump. So traps are
 * planned where no other tier fits, and are only offered: functions that the user has named get
 * them (plan_permit_traps()).
 */
#include "plan/window/placing.h"

static bool can_move(const struct placing *p, const struct text *text, vaddr_t addr) {
    switch (insn_kind(p->code, text, addr)) {
    case INSN_BAD:
    case INSN_CALL_INDIRECT:
    case INSN_SYSCALL:
    case INSN_FIXED:
    case INSN_BREAK:
    case INSN_LANDING:
    case INSN_EXCLUSIVE:
        return false;
    default:
        return code_arch(p->code, text, addr)->trap_bytes <= insn_size(p->code, text, addr);
    }
}

/* Makes W, whose start is set, the window of a trap. False: impossible. */
static bool trap_window(const struct placing *p, struct window *w) {
    const struct func *f = &p->code->funcs[w->func];
    if (w->start < f->start || w->start >= f->end || !insn_size(p->code, f->text, w->start) ||
        !can_move(p, f->text, w->start))
        return false;
    w->end = w->start + insn_size(p->code, f->text, w->start);
    for (vaddr_t at = w->start; at < w->end; at++) {
        if (is_taken(p, f->text, at))
            return false;
    }
    w->room = code_arch(p->code, f->text, w->start)->trap_bytes;
    w->tier = TIER_TRAP;
    return true;
}

static void offer_entry(struct placing *p, uint32_t i) {
    struct window w = {.start = p->code->funcs[i].body, .func = i, .entry = true};
    w.variant = window_entry_variant(p, i);
    p->ws->by_func[i].trap = trap_window(p, &w);
    if (p->ws->by_func[i].trap)
        window_take(p, &w);
}

static void offer_exit(struct placing *p, const struct exit_site *x) {
    struct window w = {.start = x->addr, .func = x->func};
    if (insn_can_split(p->code, p->code->funcs[x->func].text, x->addr) && trap_window(p, &w))
        window_take(p, &w);
}

/* The first COUNT windows are sorted. */
static void offer_control(struct placing *p, const struct control_site *site, size_t count) {
    struct window w = {
        .start = site->addr, .func = site->func, .control = true, .variant = CONTROL_VARIANT};
    struct window *existing = window_at(p, count, site->addr);
    if (!existing && trap_window(p, &w)) {
        window_take(p, &w);
    } else if (existing && existing->tier == TIER_TRAP && !existing->entry) {
        existing->control = true;
        existing->variant = w.variant;
    }
}

/* The nops of probes that no window has. Windows that were taken before are of other places. */
static void offer_probes(struct placing *p) {
    for (size_t i = 0; i < p->controls->probes.count; i++) {
        const struct control_site *site = &p->controls->probes.at[i];
        struct window w = {.start = site->addr, .func = site->func};
        if (trap_window(p, &w))
            window_take(p, &w);
    }
}

void traps_offer(struct placing *p) {
    for (uint32_t i = 0; i < p->code->func_count; i++) {
        if (p->wanted[i] && !p->ws->by_func[i].tier)
            offer_entry(p, i);
    }
    for (size_t i = 0; i < p->exits->count; i++) {
        const struct exit_site *x = &p->exits->at[i];
        if (p->wanted_group[group_of(p->groups, x->func)] && p->ws->by_exit[i].tier == TIER_NONE &&
            !p->ws->by_exit[i].trap)
            offer_exit(p, x);
    }
    windows_sort(p->ws);
    size_t count = p->ws->count;
    for (size_t i = 0; i < p->controls->count; i++) {
        if (p->wanted_group[group_of(p->groups, p->controls->at[i].func)])
            offer_control(p, &p->controls->at[i], count);
    }
    offer_probes(p);
    windows_sort(p->ws);
}
