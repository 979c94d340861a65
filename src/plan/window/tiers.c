/*
 * Tests which tiers a window has room for.
 *
 *     jump   the window and padding behind it hold a jump
 *     hop    they hold a short jump; a hole within its reach holds the jump
 *     pun    they hold the first bytes of a jump; the bytes behind them are the rest of the jump
 *
 * A pun's target is known only at a load address. A position-independent module can be loaded
 * anywhere, so targets are checked here only for modules at a fixed address.
 */
#include "plan/window/placing.h"

static const vaddr_t LOWEST_TARGET = 1 << 20;        /* the kernel's lowest addresses are taken */
static const vaddr_t BREAK_ROOM = UINT64_C(1) << 30; /* behind a program, for its heap */

static bool may_lead_somewhere(const struct placing *p, const struct pun *pun) {
    const struct module *m = p->code->module;
    vaddr_t end = pun->low + pun->span, heap_end = m->high + BREAK_ROOM;
    if (end > (vaddr_t)INT64_MAX || end < LOWEST_TARGET)
        return false;
    bool below = pun->low<m->low, above = end> heap_end;
    return below || above;
}

/* True if no window takes bytes of [AT, END): they stay as they are now. */
static bool is_final(const struct placing *p, const struct text *text, vaddr_t at, vaddr_t end) {
    for (; at < end; at++) {
        if (is_taken(p, text, at))
            return false;
    }
    return true;
}

static bool fits_pun(const struct placing *p, const struct window *w) {
    const struct text *text = window_text(p, w);
    if (!code_arch(p->code, text, w->start)->pun || !w->room ||
        !text_holds(text, w->start + PUN_MAX_BYTES - 1) ||
        sled_touches(p->code->sleds, w->start + w->room, w->start + PUN_MAX_BYTES))
        return false;
    for (int form = 0; form < PUN_FORMS; form++) {
        struct pun pun;
        if (!code_arch(p->code, text, w->start)
                 ->pun(text_bytes(text, w->start), w->start, w->room, (uint8_t)form, &pun))
            continue;
        if (p->code->module->position_independent || may_lead_somewhere(p, &pun) ||
            !is_final(p, text, w->start + w->room, w->start + pun.size))
            return true;
    }
    return false;
}

bool window_fits(const struct placing *p, struct window *w, enum tier tier) {
    const struct arch *arch = window_arch(p, w);
    bool any = w->end > w->start, fits = false;
    switch (tier) {
    case TIER_JUMP:
        fits = w->room >= window_jump_bytes(p, w);
        break;
    case TIER_HOP:
        w->hole =
            hole_may_serve(p, arch) && any && w->room >= arch->hop_bytes ? hole_near(p, w) : 0;
        fits = w->hole != 0;
        break;
    case TIER_PUN:
        if (w->room >= arch->jump_bytes)
            w->room = arch->jump_bytes - 1; /* a pun always borrows a byte */
        fits = any && fits_pun(p, w);
        break;
    default:
        break;
    }
    w->tier = fits ? (uint8_t)tier : TIER_NONE;
    return fits;
}
