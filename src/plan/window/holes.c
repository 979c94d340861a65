/*
 * Holes, where a hop finds room for its jump:
 *
 *  - padding that nothing runs into. Only what stands behind a return or jump is unreachable; what
 *    stands behind a call is not. It ends where anything may point to: there something else begins.
 *  - bytes that a long window has moved away and that its own jump does not need. Where there is no
 *    such window one is made, of instructions that are of no interest in themselves.
 *
 * In large modules holes have room for a far jump, and so have the windows that are made.
 */
#include "plan/analysis.h"

uint8_t hole_bytes(const struct analysis *a, const struct arch *arch) {
    return a->large ? arch->far_bytes : arch->jump_bytes;
}

bool hole_may_serve(const struct analysis *a, const struct arch *arch) {
    return arch->hop && (a->large || arch->hop_bytes < arch->jump_bytes);
}

struct search {
    const struct analysis *a;
    const struct text *text;
    const struct window *w;
    vaddr_t low, high; /* of a hole's first byte */
    uint8_t step;      /* what instructions are aligned to */
};

static struct search search_new(const struct analysis *a, const struct text *text,
                                const struct window *w) {
    const struct arch *arch = text_arch(a, text, w->start);
    struct search s = {a,
                       text,
                       w,
                       w->start + (vaddr_t)(int64_t)arch->hop_back,
                       w->start + (vaddr_t)arch->hop_on,
                       arch->insn_bytes};
    vaddr_t last = text->start + text->size - hole_bytes(a, arch);
    if ((int64_t)(s.low - text->start) < 0)
        s.low = text->start;
    if (s.high > last)
        s.high = last;
    return s;
}

/* The first place from AT on where an instruction may begin. */
static vaddr_t first_insn(const struct search *s, vaddr_t at) {
    return at + (s->step - at % s->step) % s->step;
}

static bool is_padding(const struct text *text, vaddr_t at) {
    uint8_t kind = text_kind(text, at);
    return kind == INSN_NOP || kind == INSN_BREAK;
}

static bool ends_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT;
}

static bool overlaps(const struct window *w, vaddr_t at) {
    return at >= w->start && (at < w->end || at < w->start + w->room);
}

/* The first free bytes for a jump in the padding at AT; 0 if there are none. */
static vaddr_t free_bytes(const struct search *s, vaddr_t at) {
    const struct text *text = s->text;
    uint8_t run = 0, size = hole_bytes(s->a, text_arch(s->a, s->text, s->w->start));
    while (text_holds(text, at) && text->code[at - text->start] && is_padding(text, at)) {
        for (vaddr_t end = at + text_size(text, at); at < end; at++) {
            uint8_t fact = *text_fact(text, at);
            if (fact & (FACT_TARGET | FACT_RETURN_POINT))
                return 0;
            bool usable = at >= s->low && !(fact & FACT_OWNED) && !overlaps(s->w, at);
            run = usable ? run + 1 : 0;
            if (run == size)
                return at + 1 - size <= s->high ? at + 1 - size : 0;
        }
    }
    return 0;
}

/* What belongs to no function may be data that only looks like a return. */
static bool is_code(const struct search *s, vaddr_t at) {
    uint32_t i = func_at(s->a, at);
    return i != NO_FUNC && !group_root(s->a, i)->bad;
}

static vaddr_t padding_near(const struct search *s) {
    const struct text *text = s->text;
    vaddr_t at = s->low - text->start > 2 * INSN_MAX_BYTES ? s->low - 2 * INSN_MAX_BYTES
                                                           : text->start; /* it may begin before */
    for (at = first_insn(s, at); at <= s->high; at += s->step) {
        if (!text->code[at - text->start] || !ends_flow(text_kind(text, at)) || !is_code(s, at))
            continue;
        vaddr_t found = free_bytes(s, at + text_size(text, at));
        if (found)
            return found;
    }
    return 0;
}

static vaddr_t spare_near(const struct search *s) {
    for (vaddr_t at = first_insn(s, s->low); at <= s->high; at += s->step) {
        if (*text_fact(s->text, at) & FACT_SPARE && !overlaps(s->w, at))
            return at;
    }
    return 0;
}

vaddr_t hole_near(const struct analysis *a, const struct text *text, const struct window *w) {
    struct search s = search_new(a, text, w);
    vaddr_t found = padding_near(&s);
    return found ? found : spare_near(&s);
}

/* ---- made ---- */

/* Instructions of F from START on that can be moved: where they end, once they are NEED bytes; else
 * START. Sites that still wait for a window of their own are left to themselves. */
static vaddr_t movable(const struct search *s, const struct func *f, vaddr_t start, vaddr_t need) {
    vaddr_t at = start;
    while (at < start + need) {
        if (window_blocker(f, at, at == start) || overlaps(s->w, at) ||
            *text_fact(s->text, at) & FACT_EXIT || ends_flow(text_kind(s->text, at)))
            return start;
        at += text_size(s->text, at);
    }
    return at;
}

bool hole_make(const struct analysis *a, const struct text *text, const struct window *w,
               struct window *ret) {
    const struct arch *arch = text_arch(a, text, w->start);
    if (!hole_may_serve(a, arch) || w->end == w->start || w->room < arch->hop_bytes ||
        hole_near(a, text, w))
        return false;
    struct search s = search_new(a, text, w);
    const uint8_t size = hole_bytes(a, arch);
    vaddr_t first = s.low - text->start > size ? s.low - size : text->start;
    for (vaddr_t at = first; at + size <= s.high; at++) {
        uint32_t i = text->code[at - text->start] ? func_at(a, at) : NO_FUNC;
        const struct func *f = i == NO_FUNC ? NULL : &a->funcs[i];
        const struct func *root = f ? group_root(a, i) : NULL;
        if (!f || f->plt || f->thunk || root->bad || root->open_flow || root->unproven ||
            root->loose)
            continue;
        vaddr_t end = movable(&s, f, at, 2u * size);
        if (end == at)
            continue;
        *ret =
            (struct window){.start = at, .end = end, .func = i, .tier = TIER_JUMP, .far = a->large};
        ret->room = window_jump_bytes(a, ret);
        return true;
    }
    return false;
}
