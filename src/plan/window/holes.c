/*
 * Finds holes, which give a hop room for its jump:
 *
 *  - Padding that nothing runs into. Only padding behind a return or jump is unreachable, not that
 *    behind a call. It ends where control may arrive: other code begins there.
 *  - Bytes that a long window has moved away and its own jump does not need. Where there is no such
 *    window, one is made of instructions that are no site.
 *
 * In large modules, holes and the windows that are made have room for a far jump.
 */
#include "plan/window/placing.h"

uint8_t hole_bytes(const struct placing *p, const struct arch *arch) {
    return p->ws->large ? arch->far_bytes : arch->jump_bytes;
}

bool hole_may_serve(const struct placing *p, const struct arch *arch) {
    return arch->hop && (p->ws->large || arch->hop_bytes < arch->jump_bytes);
}

struct search {
    const struct placing *p;
    const struct text *text;
    const struct window *w;
    vaddr_t low, high; /* bounds of a hole's first byte */
    uint8_t step;      /* what instructions are aligned to */
};

static struct search search_new(const struct placing *p, const struct window *w) {
    const struct text *text = window_text(p, w);
    const struct arch *arch = code_arch(p->code, text, w->start);
    struct search s = {p,
                       text,
                       w,
                       w->start + (vaddr_t)(int64_t)arch->hop_back,
                       w->start + (vaddr_t)arch->hop_on,
                       arch->insn_bytes};
    vaddr_t last = text->start + text->size - hole_bytes(p, arch);
    if ((int64_t)(s.low - text->start) < 0)
        s.low = text->start;
    if (s.high > last)
        s.high = last;
    return s;
}

/* The first place from AT on where an instruction may begin by its alignment. */
static vaddr_t first_insn(const struct search *s, vaddr_t at) {
    return at + (s->step - at % s->step) % s->step;
}

static bool is_padding(const struct search *s, vaddr_t at) {
    uint8_t kind = insn_kind(s->p->code, s->text, at);
    return kind == INSN_NOP || kind == INSN_BREAK;
}

/* The bytes behind a trap are no padding: a handler may continue there. */
static bool leaves(const struct search *s, vaddr_t at) {
    uint8_t kind = insn_kind(s->p->code, s->text, at);
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT;
}

static bool overlaps(const struct window *w, vaddr_t at) {
    return at >= w->start && (at < w->end || at < w->start + w->room);
}

/* The first free bytes for a jump in the padding at AT; 0: none. */
static vaddr_t free_bytes(const struct search *s, vaddr_t at) {
    const struct placing *p = s->p;
    const struct text *text = s->text;
    uint8_t run = 0, size = hole_bytes(p, window_arch(p, s->w));
    while (text_holds(text, at) && is_padding(s, at)) {
        for (vaddr_t end = at + insn_size(p->code, text, at); at < end; at++) {
            if (is_arrived_at(p, text, at))
                return 0;
            bool usable = at >= s->low && !is_taken(p, text, at) && !overlaps(s->w, at);
            run = usable ? run + 1 : 0;
            if (run == size)
                return at + 1 - size <= s->high ? at + 1 - size : 0;
        }
    }
    return 0;
}

/* Bytes outside of functions may be data that looks like a return. */
static bool is_code(const struct search *s, vaddr_t at) {
    uint32_t i = code_func_at(s->p->code, at);
    return i != NO_FUNC && !group_at(s->p->groups, i)->undecodable;
}

static vaddr_t padding_near(const struct search *s) {
    const struct code *code = s->p->code;
    const struct text *text = s->text;
    vaddr_t at = s->low - text->start > 2 * INSN_MAX_BYTES
                     ? s->low - 2 * INSN_MAX_BYTES
                     : text->start; /* padding may begin before `low` */
    for (at = first_insn(s, at); at <= s->high; at += s->step) {
        if (!leaves(s, at) || !is_code(s, at))
            continue;
        vaddr_t found = free_bytes(s, at + insn_size(code, text, at));
        if (found)
            return found;
    }
    return 0;
}

static vaddr_t spare_near(const struct search *s) {
    for (vaddr_t at = first_insn(s, s->low); at <= s->high; at += s->step) {
        if (bitmap_test(s->p->spare, text_place(s->text, at)) && !overlaps(s->w, at))
            return at;
    }
    return 0;
}

vaddr_t hole_near(const struct placing *p, const struct window *w) {
    struct search s = search_new(p, w);
    vaddr_t found = padding_near(&s);
    return found ? found : spare_near(&s);
}

/* ---- holes that are made ---- */

/* The end of movable instructions of F from START on, which have at least NEED bytes; START: there
 * are fewer. Sites that still wait for a window are not moved. */
static vaddr_t movable_end(const struct search *s, const struct func *f, vaddr_t start,
                           vaddr_t need) {
    vaddr_t at = start;
    while (at < start + need) {
        if (window_blocker(s->p, f, at, at == start) || overlaps(s->w, at) ||
            exit_is_at(s->p->exits, s->text, at) || leaves(s, at))
            return start;
        at += insn_size(s->p->code, s->text, at);
    }
    return at;
}

/* True if instructions of function I may be moved to make a hole. */
static bool may_give(const struct placing *p, uint32_t i) {
    const struct func *f = i == NO_FUNC ? NULL : &p->code->funcs[i];
    const struct group *group = f ? group_at(p->groups, i) : NULL;
    return f && !f->plt && !f->thunk && !group->undecodable && !has_open_flow(p, i) &&
           !group->unproven && !group->movable;
}

bool hole_make(const struct placing *p, const struct window *w, struct window *ret) {
    const struct text *text = window_text(p, w);
    const struct arch *arch = window_arch(p, w);
    if (!hole_may_serve(p, arch) || w->end == w->start || w->room < arch->hop_bytes ||
        hole_near(p, w))
        return false;
    struct search s = search_new(p, w);
    const uint8_t size = hole_bytes(p, arch);
    vaddr_t first = s.low - text->start > size ? s.low - size : text->start;
    for (vaddr_t at = first; at + size <= s.high; at++) {
        uint32_t i = insn_begins(p->code, text, at) ? code_func_at(p->code, at) : NO_FUNC;
        if (!may_give(p, i))
            continue;
        vaddr_t end = movable_end(&s, &p->code->funcs[i], at, 2u * size);
        if (end == at)
            continue;
        *ret = (struct window){
            .start = at, .end = end, .func = i, .tier = TIER_JUMP, .far = p->ws->large};
        ret->room = window_jump_bytes(p, ret);
        return true;
    }
    return false;
}
