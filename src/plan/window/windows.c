/*
 * Windows: the bytes that patches take, and which tier they have room for.
 *
 * A window is a run of whole instructions that are entered only at the first:
 * no branch target lies inside it, no return address points into it.
 * The patch is a jump over its first bytes; the instructions run elsewhere.
 *
 *     entry    | push  mov  sub |  …          forward from the entry
 *     exit     … | add  pop  ret | nop nop    backward from the exit, then over
 *                                             the padding behind it
 *     branch   … | cmp  je out | mov …        backward, then forward
 *     control  | mov  mov |  …                forward
 *
 * First all sites are tried that have room for a jump, then those for a hop, with holes that are
 * there and with holes that are made: what makes room for a jump must not be spent as a hole. Last
 * come puns, which may lead nowhere, and windows that end with a call. Such a call is not executed
 * elsewhere but replaced by a push of its own return address and a jump; its return is
 * mispredicted. In fixed programs, where puns are likely to lead nowhere, such calls come first.
 * Before puns, returns are left to the ways to them (returns.c).
 *
 * What XRay's runtime writes over is left to it as far as possible: sleds.c.
 *
 * What is left may become traps (traps.c), where the user asks for that.
 *
 * Padding behind a return or jump is unreachable, so it may be overwritten; the
 * padding behind a call is not (rule 14 of FACTS 2b). Every byte belongs to one window at
 * most: FACT_OWNED.
 */
#include "elf/sort.h"
#include "plan/analysis.h"

enum { NEAR_EXIT_BYTES = 8, NEAR_EXIT_STEPS = 4 };

static bool ends_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_TRAP;
}

/* May anything arrive inside the instruction at ADDR, or has another window taken it? */
static enum refusal entered_or_owned(const struct func *f, vaddr_t addr, bool first) {
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

enum refusal window_blocker(const struct func *f, vaddr_t addr, bool first) {
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
    case INSN_BREAK:
    case INSN_LANDING:
    case INSN_EXCLUSIVE:
        return REFUSED_UNRELOCATABLE;
    default:
        return entered_or_owned(f, addr, first);
    }
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

static void own(const struct text *text, vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start; at < end; at++)
        *text_fact(text, at) |= FACT_OWNED;
}

/* May the exit whose sled is at ADDR be told by a window that ends there? */
static bool ends_beside(const struct analysis *a, const struct func *f, vaddr_t addr) {
    if (addr >= f->end || !a->exits.count || !sled_at(a, addr, SLED_EXIT) ||
        *text_fact(f->text, addr) & (FACT_TARGET | FACT_RETURN_POINT))
        return false;
    const struct exit_site *x = exit_at(a, addr);
    return x && x->tier == TIER_NONE;
}

/* Of W's code. */
static const struct arch *arch_of(const struct analysis *a, const struct window *w) {
    return text_arch(a, a->funcs[w->func].text, w->start);
}

uint8_t window_jump_bytes(const struct analysis *a, const struct window *w) {
    uint8_t scratch[PATCH_MAX_BYTES];
    const struct arch *arch = arch_of(a, w);
    return w->far ? arch->far_jump(scratch, w->start, 0) : arch->jump_bytes;
}

/* How many bytes at its start a patch changes. */
static uint8_t written(const struct analysis *a, const struct window *w) {
    if (w->tier == TIER_PUN)
        return w->room;
    if (w->tier == TIER_TRAP)
        return arch_of(a, w)->trap_bytes;
    return w->hole ? arch_of(a, w)->hop_bytes : window_jump_bytes(a, w);
}

static void serve_exit(const struct analysis *a, vaddr_t addr, uint8_t tier) {
    struct exit_site *x = exit_at(a, addr);
    if (x->pops < 0)
        return;
    x->trap = tier == TIER_TRAP;
    if (x->trap)
        return;
    x->tier = tier;
    x->refused = REFUSED_NOT;
}

static void serve_exits(struct analysis *a, const struct window *w) {
    const struct text *text = a->funcs[w->func].text;
    for (vaddr_t at = w->start; at < w->end; at += text_size(text, at)) {
        if (*text_fact(text, at) & FACT_EXIT && text_can_part(a, text, at))
            serve_exit(a, at, w->tier);
    }
    if (w->beside)
        serve_exit(a, w->end, w->tier);
}

void window_take(struct analysis *a, const struct window *w) {
    const struct func *f = &a->funcs[w->func];
    const uint8_t hole = hole_bytes(a, arch_of(a, w));
    vaddr_t end = w->start + written(a, w);
    own(f->text, w->start, end < w->end ? w->end : end);
    if (w->hole) {
        own(f->text, w->hole, w->hole + hole);
        *text_fact(f->text, w->hole) &= (uint8_t)~FACT_SPARE;
    }
    serve_exits(a, w);
    vaddr_t spare = w->start + window_jump_bytes(a, w);
    for (vaddr_t at = spare; w->tier == TIER_JUMP && at + hole <= w->end; at += hole)
        *text_fact(f->text, at) |= FACT_SPARE;
    ARRAY_PUSH(&a->windows, *w);
}

/* What is free from the window's start on, up to what a jump takes. */
static void find_room(const struct analysis *a, const struct text *text, struct window *w) {
    vaddr_t need = w->start + window_jump_bytes(a, w), end = w->end;
    if (end > w->start && ends_flow(text_kind(text, text_previous(text, end))))
        end = padding_end(text, end, need);
    w->room = (uint8_t)((end < need ? end : need) - w->start);
}

struct choice { /* whom windows are sought for, and which */
    enum tier tier;
    bool first; /* nothing else has been tried: what stands in the way is why a site is refused */
    bool far;   /* with room for far jumps */
    bool make;  /* holes */
    bool call;  /* a call may be moved, as the last instruction */
    bool sled;  /* heads of sleds may be taken */
    const bool *wanted;       /* by func */
    const bool *wanted_group; /* by the root of the group */
};

/* ---- entries ---- */

/* Where W ends with the exit that stands too close behind it for a window of its own, if one does.
 */
static vaddr_t with_near_exit(const struct analysis *a, const struct func *f,
                              const struct window *w) {
    const vaddr_t end = w->end;
    const uint8_t jump = window_jump_bytes(a, w);
    vaddr_t at = end;
    if (arch_of(a, w)->insn_bytes >= jump) /* any instruction has room of its own */
        return end;
    for (int i = 0; i < NEAR_EXIT_STEPS && at < end + NEAR_EXIT_BYTES; i++) {
        if (ends_beside(a, f, at))
            return at - end < jump ? at : end;
        if (window_blocker(f, at, false))
            return end;
        uint8_t kind = text_kind(f->text, at);
        vaddr_t next = at + text_size(f->text, at);
        if (*text_fact(f->text, at) & FACT_EXIT) {
            bool last = ends_flow(kind) || exit_at(a, at)->falls;
            return last && at - end < jump ? next : end;
        }
        if (ends_flow(kind))
            return end;
        at = next;
    }
    return end;
}

static bool is_movable_call(const struct analysis *a, const struct func *f, vaddr_t addr) {
    struct insn in;
    const uint8_t *bytes = text_bytes(f->text, addr);
    const struct arch *arch = text_arch(a, f->text, addr);
    arch->decode(bytes, text_size(f->text, addr), addr, &in, NULL);
    return arch->can_call(&in, bytes);
}

/* The window that begins at its start: its end, and why it goes no further if that is too short.
 * CALL: it may end with a call. */
static enum refusal reach_forward(const struct analysis *a, const struct func *f, struct window *w,
                                  bool call) {
    vaddr_t need = w->start + window_jump_bytes(a, w);
    bool open = group_root(a, w->func)->open_flow, ended = false;
    for (w->end = w->start; w->end < need && !ended; w->end += text_size(f->text, w->end)) {
        bool first = w->end == w->start;
        enum refusal why = window_blocker(f, w->end, first);
        if (call && why == REFUSED_CALL && is_movable_call(a, f, w->end) &&
            !entered_or_owned(f, w->end, first) && (first || !open)) {
            w->end += text_size(f->text, w->end);
            return why;
        }
        if (why)
            return why;
        if (open && w->end > w->start)
            return REFUSED_OPEN_FLOW;
        ended = ends_flow(text_kind(f->text, w->end));
    }
    if (!ended && !open)
        w->end = with_near_exit(a, f, w);
    return REFUSED_SHORT;
}

/* Fits W for C's tier. */
static bool fit(struct analysis *a, const struct text *text, struct window *w,
                const struct choice *c) {
    struct window maker;
    if (c->make && hole_make(a, text, w, &maker))
        window_take(a, &maker);
    return window_fits(a, text, w, c->tier);
}

/* Takes the head of the sled at ADDR, which W is to become. */
static bool try_sled(struct analysis *a, struct window *w, vaddr_t addr, const struct choice *c) {
    const struct text *text = a->funcs[w->func].text;
    w->start = addr;
    w->end = addr + text_size(text, addr);
    w->room = arch_of(a, w)->hop_bytes;
    w->in_sled = true;
    w->beside = w->far = false;
    if (!c->sled || !fit(a, text, w, c))
        return false;
    window_take(a, w);
    return true;
}

/* Takes W for C's tier, or says why not. */
static enum refusal try_forward(struct analysis *a, struct window *w, const struct choice *c) {
    const struct func *f = &a->funcs[w->func];
    enum refusal why = reach_forward(a, f, w, c->call);
    bool open = group_root(a, w->func)->open_flow;
    w->beside = !open && w->end > w->start && ends_beside(a, f, w->end);
    find_room(a, f->text, w);
    if (!fit(a, f->text, w, c))
        return why;
    window_take(a, w);
    return REFUSED_NOT;
}

uint8_t window_entry_variant(const struct analysis *a, const struct func *f) {
    return (f->loop_head ? STUB_SKIP_RED_ZONE : 0) |
           (flags_live_at(a, f->body) ? STUB_SAVE_FLAGS : 0);
}

static void choose_entry(struct analysis *a, uint32_t i, const struct choice *c, uint8_t *refused) {
    struct func *f = &a->funcs[i];
    struct window w = {.start = f->body, .func = i, .entry = true, .far = c->far};
    w.variant = window_entry_variant(a, f);
    enum refusal why = try_forward(a, &w, c);
    const struct sled_place *sled = why ? sled_before(a, f->body) : NULL;
    if (sled && try_sled(a, &w, sled->start, c))
        why = REFUSED_NOT;
    if (!why)
        f->tier = (uint8_t)c->tier;
    if (!why || c->first)
        *refused = (uint8_t)why;
}

/* ---- exits ---- */

/* May the instruction before START join the window? Its address, 0 if not. */
static vaddr_t before(const struct func *f, vaddr_t start) {
    if (*text_fact(f->text, start) & (FACT_TARGET | FACT_RETURN_POINT))
        return 0;
    vaddr_t p = text_previous(f->text, start);
    if (!p || window_blocker(f, p, true) || ends_flow(text_kind(f->text, p)))
        return 0;
    return p;
}

/* Makes WINDOW, which holds an exit, as long as a patch. KIND: of its last instruction. */
static void grow(const struct analysis *a, const struct func *f, struct window *w, uint8_t kind) {
    const vaddr_t most = w->start + window_jump_bytes(a, w);
    vaddr_t room = ends_flow(kind) ? padding_end(f->text, w->end, most) : w->end;
    for (vaddr_t p; room < w->start + window_jump_bytes(a, w) && (p = before(f, w->start));)
        w->start = p;
    const vaddr_t need = w->start + window_jump_bytes(a, w);
    while (w->end < need && !ends_flow(kind) && !window_blocker(f, w->end, false)) {
        kind = text_kind(f->text, w->end);
        w->end += text_size(f->text, w->end);
    }
}

/* An exit whose return is a sled's. */
static void choose_beside(struct analysis *a, struct exit_site *x, const struct choice *c) {
    const struct func *f = &a->funcs[x->func];
    bool open = group_root(a, x->func)->open_flow;
    struct window w = {
        .start = x->addr, .end = x->addr, .func = x->func, .beside = true, .far = c->far};
    for (vaddr_t p; w.end < w.start + window_jump_bytes(a, &w) && (p = before(f, w.start));)
        w.start = p;
    find_room(a, f->text, &w);
    if (w.start < w.end && !open && fit(a, f->text, &w, c))
        window_take(a, &w);
    else if (!try_sled(a, &w, x->addr, c) && c->first)
        x->refused = open ? REFUSED_OPEN_FLOW : REFUSED_SHORT;
}

/* Whether W, with room for a far jump, takes the bytes of an entry that waits for an ordinary one.
 */
static bool takes_entry(const struct analysis *a, const struct func *f, const struct window *w) {
    return w->far && f->entry && !f->tier && w->start < f->body + arch_of(a, w)->jump_bytes;
}

static void choose_exit(struct analysis *a, struct exit_site *x, const struct choice *c) {
    if (sled_at(a, x->addr, SLED_EXIT)) {
        choose_beside(a, x, c);
        return;
    }
    const struct func *f = &a->funcs[x->func];
    struct window w = {.start = x->addr, .end = x->addr + x->size, .func = x->func, .far = c->far};
    enum refusal why = text_can_part(a, f->text, x->addr) ? window_blocker(f, x->addr, true)
                                                          : REFUSED_UNRELOCATABLE;
    if (x->pops < 0)
        why = REFUSED_DEPTH;
    bool open = group_root(a, x->func)->open_flow;
    if (!why && !open)
        grow(a, f, &w, x->kind);
    find_room(a, f->text, &w);
    if (!why && !takes_entry(a, f, &w) && fit(a, f->text, &w, c))
        window_take(a, &w);
    else if (c->first)
        x->refused = (uint8_t)(why ? why : open ? REFUSED_OPEN_FLOW : REFUSED_SHORT);
}

/* ---- controls ---- */

static int compare_start(const void *key, const void *item) {
    vaddr_t addr = *(const vaddr_t *)key, at = ((const struct window *)item)->start;
    return (addr > at) - (addr < at);
}

struct window *window_at(const struct analysis *a, size_t count, vaddr_t addr) {
    return count ? bsearch(&addr, a->windows.at, count, sizeof *a->windows.at, compare_start)
                 : NULL;
}

/* COUNT of the windows are sorted. */
static void choose_control(struct analysis *a, const struct control_site *site, size_t count,
                           const struct choice *c) {
    struct window w = {.start = site->addr,
                       .func = site->func,
                       .control = true,
                       .variant = CONTROL_VARIANT,
                       .far = c->far};
    struct window *there = window_at(a, count, site->addr);
    if (!there) {
        try_forward(a, &w, c);
    } else if (!there->entry) {
        there->control = true;
        there->variant = w.variant;
    }
}

void windows_sort(struct analysis *a) {
    sort_by_address(a->windows.at, a->windows.count, sizeof *a->windows.at);
}

static void choose_all(struct analysis *a, const struct choice *c, uint8_t *refused) {
    /* Downwards: a pun may borrow what was taken by another. */
    for (size_t i = a->func_count; i-- > 0;) {
        if (c->wanted[i] && !a->funcs[i].tier)
            choose_entry(a, (uint32_t)i, c, &refused[i]);
    }
    for (size_t i = a->exits.count; i-- > 0;) {
        struct exit_site *x = &a->exits.at[i];
        if (c->wanted_group[group_of(a, x->func)] && x->tier == TIER_NONE)
            choose_exit(a, x, c);
    }
    windows_sort(a);
    size_t count = a->windows.count;
    for (size_t i = 0; i < a->controls.count; i++) {
        if (c->wanted_group[group_of(a, a->controls.at[i].func)])
            choose_control(a, &a->controls.at[i], count, c);
    }
    windows_sort(a);
}

bool window_around(struct analysis *a, uint32_t func, vaddr_t addr) {
    static const struct choice choices[] = {
        {.tier = TIER_JUMP}, {.tier = TIER_HOP}, {.tier = TIER_HOP, .make = true}};
    const struct func *f = &a->funcs[func];
    struct window w = {.start = addr, .end = addr + text_size(f->text, addr), .func = func};
    if (window_blocker(f, addr, true))
        return false;
    if (!group_root(a, func)->open_flow)
        grow(a, f, &w, text_kind(f->text, addr));
    if (w.start == f->body && f->entry && !f->tier)
        return false; /* its entry still waits for a window */
    find_room(a, f->text, &w);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!fit(a, f->text, &w, &choices[i]))
            continue;
        window_take(a, &w);
        return true;
    }
    return false;
}

/* Entries that a compiler has left nops for. */
static void choose_pads(struct analysis *a, const bool *wanted) {
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i];
        struct window w = {.start = f->body, .func = i, .entry = true};
        if (!wanted[i] || !pad_window(a, &w))
            continue;
        w.variant = window_entry_variant(a, f);
        f->tier = TIER_PAD;
        window_take(a, &w);
    }
}

/* Of large modules: windows with room for jumps that lead anywhere, or near holes with such room,
 * before all else; of what has none the ordinary ones, which may do. */
static void choose_far(struct analysis *a, struct choice c, uint8_t *refused) {
    static const struct choice rounds[] = {{.tier = TIER_JUMP, .far = true},
                                           {.tier = TIER_HOP},
                                           {.tier = TIER_HOP, .make = true},
                                           {.tier = TIER_JUMP, .far = true, .call = true}};
    c.first = true;
    for (size_t i = 0; a->large && i < sizeof rounds / sizeof *rounds; i++) {
        if (a->only != TIER_NONE && a->only != rounds[i].tier)
            continue;
        c.tier = rounds[i].tier;
        c.far = rounds[i].far;
        c.make = rounds[i].make;
        c.call = rounds[i].call;
        choose_all(a, &c, refused);
        c.first = false;
    }
}

/* With the one tier that is wanted, the first choice of it is the first of all. */
static void choose_rounds(struct analysis *a, struct choice c, uint8_t *refused) {
    static const struct choice fixed[] = {{.tier = TIER_JUMP},
                                          {.tier = TIER_HOP},
                                          {.tier = TIER_HOP, .make = true},
                                          {.tier = TIER_JUMP, .call = true},
                                          {.tier = TIER_PUN}};
    static const struct choice anywhere[] = {{.tier = TIER_JUMP},
                                             {.tier = TIER_HOP},
                                             {.tier = TIER_HOP, .make = true},
                                             {.tier = TIER_PUN},
                                             {.tier = TIER_JUMP, .call = true}};
    _Static_assert(sizeof fixed == sizeof anywhere, "the same rounds");
    choose_far(a, c, refused);
    c.first = true;
    static const struct choice last = {.tier = TIER_HOP, .make = true, .sled = true};
    enum { ROUNDS = sizeof fixed / sizeof *fixed };
    for (size_t i = 0; i < ROUNDS + (a->sleds.count != 0); i++) {
        const struct choice *round = i == ROUNDS                       ? &last
                                     : a->module->position_independent ? &anywhere[i]
                                                                       : &fixed[i];
        if (a->only != TIER_NONE && a->only != round->tier)
            continue;
        c.tier = round->tier;
        c.make = round->make;
        c.call = round->call;
        c.sled = round->sled;
        if (a->only == TIER_NONE && c.tier == TIER_PUN)
            returns_delegate(a, c.wanted_group);
        choose_all(a, &c, refused);
        c.first = false;
    }
}

void windows_choose(struct analysis *a, uint8_t *refused) {
    AUTO_FREE bool *wanted = mem_alloc(a->func_count * sizeof *wanted + 1);
    AUTO_FREE bool *wanted_group = mem_alloc(a->func_count * sizeof *wanted_group + 1);
    for (uint32_t i = 0; i < a->func_count; i++) {
        wanted[i] = a->funcs[i].entry && !refused[i];
        wanted_group[group_of(a, i)] |= wanted[i];
    }
    if (a->only == TIER_NONE || a->only == TIER_PAD)
        choose_pads(a, wanted);
    choose_rounds(a, (struct choice){.wanted = wanted, .wanted_group = wanted_group}, refused);
    for (uint32_t i = 0; i < a->func_count; i++) {
        if (wanted[i] && !a->funcs[i].tier && !refused[i])
            refused[i] = REFUSED_SHORT; /* no tier that is wanted has looked at it */
    }
    if (a->only == TIER_NONE || a->only == TIER_TRAP)
        traps_offer(a, wanted, wanted_group);
}
