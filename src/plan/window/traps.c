/*
 * Traps: the last tier. A breakpoint takes one byte and needs neither a hole nor an address, so
 * that it fits wherever an instruction can run elsewhere:
 *
 *     entry    | push |  …        the first instruction, and nothing else, is moved
 *     exit     … | ret |          likewise
 *
 * Its first byte is all that changes. Whatever branches into its middle (behind a prefix) still
 * finds what it found, and what follows is not touched at all; so most of what forbids a window
 * does not forbid a trap. But each hit stops its thread, for thousands of times the price of a
 * jump. So traps are planned where no other tier serves, and only offered: those functions get them
 * that the user has named (plan_permit_traps()), others stay refused.
 */
#include "plan/internal.h"

static bool can_move(const struct analysis *a, const struct text *text, vaddr_t addr) {
    switch (text_kind(text, addr)) {
    case INSN_BAD:
    case INSN_CALL_INDIRECT:
    case INSN_SYSCALL:
    case INSN_FIXED:
    case INSN_BREAK:
    case INSN_LANDING:
    case INSN_EXCLUSIVE:
        return false;
    default:
        return text_arch(a, text, addr)->trap_bytes <= text_size(text, addr);
    }
}

/* Makes W, by its start, the window of a trap; false if there can be none. */
static bool trap_window(const struct analysis *a, struct window *w) {
    const struct func *f = &a->funcs[w->func];
    if (w->start < f->start || w->start >= f->end || !text_size(f->text, w->start) ||
        !can_move(a, f->text, w->start))
        return false;
    w->end = w->start + text_size(f->text, w->start);
    for (vaddr_t at = w->start; at < w->end; at++) {
        if (*text_fact(f->text, at) & FACT_OWNED)
            return false;
    }
    w->room = text_arch(a, f->text, w->start)->trap_bytes;
    w->tier = TIER_TRAP;
    return true;
}

static void offer_entry(struct analysis *a, uint32_t i) {
    struct func *f = &a->funcs[i];
    struct window w = {.start = f->body, .func = i, .entry = true};
    w.variant = window_entry_variant(a, f);
    f->trap = trap_window(a, &w);
    if (f->trap)
        window_take(a, &w);
}

static void offer_exit(struct analysis *a, const struct exit_site *x) {
    struct window w = {.start = x->addr, .func = x->func};
    if (text_can_part(a, a->funcs[x->func].text, x->addr) && trap_window(a, &w))
        window_take(a, &w);
}

/* COUNT of the windows are sorted. */
static void offer_control(struct analysis *a, const struct control_site *site, size_t count) {
    struct window w = {
        .start = site->addr, .func = site->func, .control = true, .variant = CONTROL_VARIANT};
    struct window *there = window_at(a, count, site->addr);
    if (!there && trap_window(a, &w)) {
        window_take(a, &w);
    } else if (there && there->tier == TIER_TRAP && !there->entry) {
        there->control = true;
        there->variant = w.variant;
    }
}

void traps_offer(struct analysis *a, const bool *wanted, const bool *wanted_group) {
    for (uint32_t i = 0; i < a->func_count; i++) {
        if (wanted[i] && !a->funcs[i].tier)
            offer_entry(a, i);
    }
    for (size_t i = 0; i < a->exits.count; i++) {
        const struct exit_site *x = &a->exits.at[i];
        if (wanted_group[group_of(a, x->func)] && x->tier == TIER_NONE && !x->trap)
            offer_exit(a, x);
    }
    windows_sort(a);
    size_t count = a->windows.count;
    for (size_t i = 0; i < a->controls.count; i++) {
        if (wanted_group[group_of(a, a->controls.at[i].func)])
            offer_control(a, &a->controls.at[i], count);
    }
    windows_sort(a);
}

/* ---- permission ---- */

static bool is_set(const uint8_t *bitmap, size_t i) { return bitmap[i / 8] >> (i % 8) & 1; }

void plan_permit_traps(struct plan *plan, const uint8_t *named) {
    size_t n = plan->functions.count;
    plan->named = mem_resize(plan->named, n + 1, sizeof *plan->named);
    plan->named_group = mem_resize(plan->named_group, plan->group_count + 1, sizeof(bool));
    for (size_t i = 0; i < plan->group_count; i++)
        plan->named_group[i] = false;
    for (size_t i = 0; i < n; i++) {
        struct plan_function *f = &plan->functions.at[i];
        plan->named[i] = is_set(named, i);
        plan->named_group[plan->groups.at[i]] |= plan->named[i];
        if (plan->named[i] && f->trap && f->entry == TIER_NONE) {
            f->entry = TIER_TRAP;
            f->refused = REFUSED_NOT;
        }
    }
    for (size_t i = 0; i < plan->exits.count; i++) {
        struct function_exit *x = &plan->exits.at[i];
        if (x->trap && plan->named_group[plan->groups.at[x->function]])
            x->tier = TIER_TRAP;
    }
    catalog_count_exits(plan);
}

bool trap_permits_entry(const struct plan *plan, uint32_t function) {
    return plan->named && function < plan->functions.count && plan->named[function];
}

bool trap_permits(const struct plan *plan, uint32_t function) {
    return plan->named && function < plan->functions.count &&
           plan->named_group[plan->groups.at[function]];
}

bool trap_permits_site(const struct plan *plan, const struct site *site) {
    return site->tier != TIER_TRAP || trap_permits(plan, site->function);
}
