/*
 * Windows: the bytes that patches take.
 *
 * A window is a run of whole instructions that are entered only at the first:
 * no branch target lies inside it, no call, no return address points into it.
 * The patch is a jump over its first bytes; the instructions run elsewhere.
 *
 *     entry    | push  mov  sub |  …          forward from the entry
 *     exit     … | add  pop  ret | nop nop    backward from the exit, then over
 *                                             the padding behind it
 *     branch   … | cmp  je out | mov …        backward, then forward
 *     control  | mov  mov |  …                forward
 *
 * Padding behind a return or jump is unreachable, so it may be overwritten; the
 * padding behind a call is not (rule 14 of FACTS 2b). Every byte belongs to one window at
 * most: FACT_OWNED.
 */
#include "plan/analysis.h"

enum { NEAR_EXIT_BYTES = 8, NEAR_EXIT_STEPS = 4 };

static bool ends_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT;
}

/* Can the instruction at ADDR of F be moved away? FIRST: as the first of its window. */
static enum refusal blocker(const struct func *f, vaddr_t addr, bool first) {
    if (addr < f->start || addr >= f->end || !f->text->code[addr - f->text->start])
        return REFUSED_SHORT;
    switch (text_kind(f->text, addr)) {
    case INSN_BAD:
        return REFUSED_UNDECODABLE;
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        return REFUSED_CALL;
    case INSN_SYSCALL:
        return REFUSED_SYSCALL;
    case INSN_FIXED:
    case INSN_TRAP:
    case INSN_BREAK:
    case INSN_LANDING:
        return REFUSED_UNRELOCATABLE;
    default:
        break;
    }
    const uint8_t *fact = text_fact(f->text, addr);
    uint8_t inside = 0, owned = 0;
    for (uint8_t i = 0; i < text_size(f->text, addr); i++) {
        owned |= fact[i];
        inside |= i || !first ? fact[i] : 0;
    }
    if (inside & (FACT_TARGET | FACT_RETURN_POINT))
        return REFUSED_TARGET;
    return owned & FACT_OWNED ? REFUSED_OVERLAP : REFUSED_NOT;
}

/* How far padding goes from AT, up to LIMIT. */
static vaddr_t padding_end(const struct text *text, vaddr_t at, vaddr_t limit) {
    while (at < limit && text_holds(text, at)) {
        uint8_t kind = text_kind(text, at), size = text_size(text, at);
        if (kind != INSN_NOP && kind != INSN_BREAK)
            break;
        for (uint8_t i = 0; i < size; i++) {
            if (*text_fact(text, at + i) & (FACT_TARGET | FACT_RETURN_POINT | FACT_OWNED))
                return at + i < limit ? at + i : limit;
        }
        at += size;
    }
    return at < limit ? at : limit;
}

static int compare_exit(const void *key, const void *item) {
    vaddr_t addr = *(const vaddr_t *)key, at = ((const struct exit_site *)item)->addr;
    return (addr > at) - (addr < at);
}

static struct exit_site *exit_at(struct analysis *a, vaddr_t addr) {
    return bsearch(&addr, a->exits.at, a->exits.count, sizeof *a->exits.at, compare_exit);
}

static void take(struct analysis *a, const struct window *w) {
    const struct func *f = &a->funcs[w->func];
    vaddr_t end = w->start + a->arch->jump_bytes;
    if (end < w->end)
        end = w->end;
    for (vaddr_t at = w->start; at < end; at++)
        *text_fact(f->text, at) |= FACT_OWNED;
    for (vaddr_t at = w->start; at < w->end; at += text_size(f->text, at)) {
        bool patched = *text_fact(f->text, at) & FACT_EXIT && text_kind(f->text, at) != INSN_LOOP;
        if (!patched)
            continue;
        struct exit_site *x = exit_at(a, at);
        x->tier = TIER_JUMP;
        x->refused = REFUSED_NOT;
    }
    ARRAY_PUSH(&a->windows, *w);
}

/* ---- entries ---- */

/* An exit that stands too close behind the window for one of its own joins it. */
static vaddr_t with_near_exit(const struct analysis *a, const struct func *f, vaddr_t end) {
    vaddr_t at = end;
    for (int i = 0; i < NEAR_EXIT_STEPS && at < end + NEAR_EXIT_BYTES; i++) {
        if (blocker(f, at, false))
            return end;
        uint8_t kind = text_kind(f->text, at);
        vaddr_t next = at + text_size(f->text, at);
        if (*text_fact(f->text, at) & FACT_EXIT)
            return ends_flow(kind) && at - end < a->arch->jump_bytes ? next : end;
        if (ends_flow(kind))
            return end;
        at = next;
    }
    return end;
}

/* The window that begins at START. */
static enum refusal forward_window(const struct analysis *a, const struct func *f, vaddr_t start,
                                   vaddr_t *ret_end) {
    vaddr_t end = start, need = start + a->arch->jump_bytes;
    bool open = group_root(a, (uint32_t)(f - a->funcs))->open_flow, ended = false;
    while (end < need && !ended) {
        enum refusal why = blocker(f, end, end == start);
        if (why)
            return why;
        if (open && end > start)
            return REFUSED_OPEN_FLOW;
        ended = ends_flow(text_kind(f->text, end));
        end += text_size(f->text, end);
    }
    if (ended && padding_end(f->text, end, need) < need && end < need)
        return REFUSED_SHORT;
    *ret_end = ended || open ? end : with_near_exit(a, f, end);
    return REFUSED_NOT;
}

static void choose_entry(struct analysis *a, uint32_t i, uint8_t *refused) {
    const struct func *f = &a->funcs[i];
    struct window w = {.start = f->body, .func = i, .entry = true};
    *refused = forward_window(a, f, f->body, &w.end);
    if (*refused)
        return;
    w.variant =
        (f->loop_head ? STUB_SKIP_RED_ZONE : 0) | (flags_live_at(a, f->body) ? STUB_SAVE_FLAGS : 0);
    take(a, &w);
}

/* ---- exits ---- */

/* May the instruction before START join the window? Its address, 0 if not. */
static vaddr_t before(const struct func *f, vaddr_t start) {
    if (*text_fact(f->text, start) & (FACT_TARGET | FACT_RETURN_POINT))
        return 0;
    vaddr_t p = text_previous(f->text, start);
    if (!p || blocker(f, p, true) || ends_flow(text_kind(f->text, p)))
        return 0;
    return p;
}

/* Makes WINDOW, which holds an exit, as long as a patch. KIND: of its last instruction. */
static void grow(const struct func *f, struct window *w, uint8_t kind, uint8_t size) {
    vaddr_t room = ends_flow(kind) ? padding_end(f->text, w->end, w->start + size) : w->end;
    for (vaddr_t p; room < w->start + size && (p = before(f, w->start));)
        w->start = p;
    while (w->end < w->start + size && !ends_flow(kind) && !blocker(f, w->end, false)) {
        kind = text_kind(f->text, w->end);
        w->end += text_size(f->text, w->end);
    }
}

static enum refusal exit_window(const struct analysis *a, const struct exit_site *x,
                                struct window *ret) {
    const struct func *f = &a->funcs[x->func];
    enum refusal why = x->kind == INSN_LOOP ? REFUSED_UNRELOCATABLE : blocker(f, x->addr, true);
    if (why)
        return why;
    struct window w = {.start = x->addr, .end = x->addr + x->size, .func = x->func};
    const uint8_t size = a->arch->jump_bytes;
    bool open = group_root(a, x->func)->open_flow;
    if (!open)
        grow(f, &w, x->kind, size);
    vaddr_t room = w.end;
    if (ends_flow(text_kind(f->text, text_previous(f->text, w.end))))
        room = padding_end(f->text, w.end, w.start + size);
    *ret = w;
    if (room < w.start + size && w.end < w.start + size)
        return open ? REFUSED_OPEN_FLOW : REFUSED_SHORT;
    return REFUSED_NOT;
}

static void choose_exit(struct analysis *a, struct exit_site *x) {
    struct window w;
    x->refused = (uint8_t)exit_window(a, x, &w);
    if (!x->refused)
        take(a, &w);
}

/* ---- controls ---- */

static int compare_start(const void *key, const void *item) {
    vaddr_t addr = *(const vaddr_t *)key, at = ((const struct window *)item)->start;
    return (addr > at) - (addr < at);
}

/* WINDOWS: those of entries and exits, COUNT of them. */
static void choose_control(struct analysis *a, const struct control_site *c, size_t count) {
    const struct func *f = &a->funcs[c->func];
    struct window w = {.start = c->addr,
                       .func = c->func,
                       .control = true,
                       .variant = STUB_SKIP_RED_ZONE | STUB_SAVE_FLAGS};
    struct window *there =
        count ? bsearch(&c->addr, a->windows.at, count, sizeof w, compare_start) : NULL;
    if (there && !there->entry) {
        there->control = true;
        there->variant = w.variant;
    } else if (!there && !forward_window(a, f, w.start, &w.end)) {
        take(a, &w);
    }
}

static int compare_window(const void *x, const void *y) {
    const struct window *a = x, *b = y;
    return (a->start > b->start) - (a->start < b->start);
}

static void sort_windows(struct analysis *a) {
    if (a->windows.count)
        qsort(a->windows.at, a->windows.count, sizeof *a->windows.at, compare_window);
}

void windows_choose(struct analysis *a, uint8_t *refused) {
    bool *entered = mem_alloc(a->func_count * sizeof *entered + 1);
    for (uint32_t i = 0; i < a->func_count; i++) {
        if (!a->funcs[i].entry || refused[i])
            continue;
        choose_entry(a, i, &refused[i]);
        entered[group_of(a, i)] |= !refused[i];
    }
    for (size_t i = 0; i < a->exits.count; i++) {
        struct exit_site *x = &a->exits.at[i];
        if (entered[group_of(a, x->func)] && x->tier == TIER_NONE)
            choose_exit(a, x);
    }
    size_t count = a->windows.count;
    sort_windows(a);
    for (size_t i = 0; i < a->controls.count; i++) {
        if (entered[group_of(a, a->controls.at[i].func)])
            choose_control(a, &a->controls.at[i], count);
    }
    sort_windows(a);
    free(entered);
}
