/*
 * Pads: the nops that -fpatchable-function-entry=N,M leaves at a function's entry (N − M bytes,
 * behind a landing instruction if there is one) and before it (M bytes), as listed in
 * __patchable_function_entries: the address of the first of them.
 *
 *     M ≥ 5, N − M ≥ 2     a short jump at the entry, back to the jump before it
 *     N − M ≥ 5            the jump at the entry
 *     N − M ≥ 2            a short jump at the entry to any hole
 *
 * The list is a hint only: every byte is looked at. What is not as it says is no pad, and the
 * function gets another tier. Nops at an entry that hold a jump need no list (-mnop-mcount).
 */
#include "plan/analysis.h"

enum { MOST_NOPS = 4096 };

static bool is_nop(const struct text *text, vaddr_t at) {
    return text_holds(text, at) && text->code[at - text->start] && text_kind(text, at) == INSN_NOP;
}

/* Where the nops from AT on end, LIMIT at the latest. */
static vaddr_t nops_end(const struct text *text, vaddr_t at, vaddr_t limit) {
    while (at < limit && is_nop(text, at))
        at += text_size(text, at);
    return at;
}

/* The function that the nops at ADDR stand before or in. */
static struct func *function_of(const struct analysis *a, vaddr_t addr) {
    uint32_t i = func_at(a, addr);
    if (i != NO_FUNC)
        return &a->funcs[i];
    size_t low = 0, high = a->func_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (a->funcs[mid].start <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low < a->func_count ? &a->funcs[low] : NULL;
}

bool pad_note(struct analysis *a, vaddr_t addr) {
    struct func *f = function_of(a, addr);
    if (!f || !text_holds(f->text, addr))
        return false;
    bool inside = addr == f->start || addr == f->body;
    if (!inside && (addr > f->start || f->start - addr > MOST_NOPS ||
                    nops_end(f->text, addr, f->start) != f->start))
        return false;
    f->pad = inside ? f->start : addr;
    for (vaddr_t at = addr; at < f->start; at++)
        *text_fact(f->text, at) |= FACT_OWNED;
    return true;
}

/* May anything but falling through arrive in [start, end)? */
static bool is_entered(const struct text *text, vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start; at < end; at++) {
        if (*text_fact(text, at) & (FACT_TARGET | FACT_RETURN_POINT))
            return true;
    }
    return false;
}

/* The nops at F's entry that a patch may take: where they end, once they are NEED bytes; else 0. */
static vaddr_t nops_at_entry(const struct func *f, uint8_t need) {
    vaddr_t end = f->body;
    while (end < f->body + need) {
        if (end >= f->end || !is_nop(f->text, end) ||
            window_blocker(f, end, end == f->body) != REFUSED_NOT)
            return 0;
        end += text_size(f->text, end);
    }
    return end;
}

bool pad_window(const struct analysis *a, struct window *w) {
    const struct func *f = &a->funcs[w->func];
    const struct arch *arch = text_arch(a, f->text, f->body);
    const uint8_t jump = arch->jump_bytes;
    vaddr_t whole = nops_at_entry(f, jump);
    const bool hops = hole_may_serve(a, arch);
    vaddr_t some = hops ? nops_at_entry(f, arch->hop_bytes) : whole;
    bool listed = f->pad, open = group_root(a, w->func)->open_flow;
    if (!some || (!listed && (!whole || open)))
        return false;
    w->end = whole ? whole : some;
    w->room = (uint8_t)(w->end - w->start);
    w->hole = 0;
    vaddr_t before = f->start - hole_bytes(a, arch);
    if (listed && hops && f->pad <= before && !is_entered(f->text, before, f->start)) {
        w->end = some;
        w->hole = before;
    } else if (!whole) {
        w->hole = hole_near(a, f->text, w);
    }
    w->tier = TIER_PAD;
    return whole || w->hole;
}
