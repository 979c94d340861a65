/*
 * Pads: the nops that -fpatchable-function-entry=N,M leaves: N − M bytes at a function's entry,
 * behind a landing instruction, and M bytes before it. __patchable_function_entries lists the
 * address of the first nop.
 *
 *     M ≥ 5, N − M ≥ 2     a short jump at the entry, back to the jump before it
 *     N − M ≥ 5            the jump at the entry
 *     N − M ≥ 2            a short jump at the entry to any hole
 *
 * The list is only a hint: every byte is checked. If the bytes are not as listed, the function
 * gets another tier. Nops at an entry with room for a jump need no list (-mnop-mcount).
 */
#include "plan/window/placing.h"

static bool is_nop(const struct code *code, const struct text *text, vaddr_t at) {
    return text_holds(text, at) && insn_kind(code, text, at) == INSN_NOP;
}

/* True if control may arrive in [START, END) other than by running into it. */
static bool any_entered(const struct placing *p, const struct text *text, vaddr_t start,
                        vaddr_t end) {
    for (vaddr_t at = start; at < end; at++) {
        if (is_arrived_at(p, text, at))
            return true;
    }
    return false;
}

/* The end of the nops at F's entry that a patch may take, NEED bytes at least; 0: fewer. */
static vaddr_t nops_at_entry(const struct placing *p, const struct func *f, uint8_t need) {
    vaddr_t end = f->body;
    while (end < f->body + need) {
        if (end >= f->end || !is_nop(p->code, f->text, end) ||
            window_blocker(p, f, end, end == f->body) != REFUSED_NOT)
            return 0;
        end += insn_size(p->code, f->text, end);
    }
    return end;
}

bool pad_window(const struct placing *p, struct window *w) {
    const struct func *f = &p->code->funcs[w->func];
    const struct arch *arch = code_arch(p->code, f->text, f->body);
    const uint8_t jump = arch->jump_bytes;
    vaddr_t whole = nops_at_entry(p, f, jump);
    const bool hops = hole_may_serve(p, arch);
    vaddr_t some = hops ? nops_at_entry(p, f, arch->hop_bytes) : whole;
    const vaddr_t pad = p->code->by_func[w->func].pad;
    bool listed = pad, open = has_open_flow(p, w->func);
    if (!some || (!listed && (!whole || open)))
        return false;
    w->end = whole ? whole : some;
    w->room = (uint8_t)(w->end - w->start);
    w->hole = 0;
    vaddr_t before = f->start - hole_bytes(p, arch);
    if (listed && hops && pad <= before && !any_entered(p, f->text, before, f->start)) {
        w->end = some;
        w->hole = before;
    } else if (!whole) {
        w->hole = hole_near(p, w);
    }
    w->tier = TIER_PAD;
    return whole || w->hole;
}
