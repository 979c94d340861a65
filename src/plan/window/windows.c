/*
 * Chooses windows, the bytes that patches take, and their tiers.
 *
 * A window is a run of whole instructions that are entered only at the first: no branch target
 * lies inside it, and no return address points into it. The patch is a jump over its first bytes.
 * The instructions run in the trampoline.
 *
 *     entry    | push  mov  sub |  …          forward from the entry
 *     exit     … | add  pop  ret | nop nop    backward from the exit, then over
 *                                             the padding behind it
 *     branch   … | cmp  je out | mov …        backward, then forward
 *     control  | mov  mov |  …                forward
 *     probe    … | mov  nop  mov | …          in another window, or backward, then forward
 *
 * Tiers are tried for all sites in this order: jumps; hops with existing holes; hops with holes
 * that are made. So room for a jump is not spent as a hole. Last come puns, which may not be
 * writable, and windows that end with a call. A moved call becomes a push of its own return
 * address and a jump; its return is mispredicted. Programs at a fixed address try calls before
 * puns, since their puns mostly fail. Before puns, returns without room are delegated to the paths
 * to them (returns.c).
 *
 * Sleds of XRay are left to its runtime as far as possible (sleds.c). Sites without a window may
 * become traps, if the user asks for that (traps.c).
 *
 * Padding behind a return or jump is unreachable, so it may be overwritten. Padding behind a call
 * may not. Every byte belongs to one window at most.
 */
#include "elf/sort.h"
#include "plan/patch.h"
#include "plan/window/flags.h"
#include "plan/window/placing.h"

enum { NEAR_EXIT_BYTES = 8, NEAR_EXIT_STEPS = 4 };

/* Why the instruction at ADDR cannot be in a window: control may arrive inside of it, or another
 * window has taken it. */
static enum refusal entered_or_taken(const struct placing *p, const struct func *f, vaddr_t addr,
                                     bool first) {
    bool inside = false, taken = false;
    for (uint8_t i = 0; i < insn_size(p->code, f->text, addr); i++) {
        taken |= is_taken(p, f->text, addr + i);
        inside |= (i || !first) && is_arrived_at(p, f->text, addr + i);
    }
    return inside ? REFUSED_TARGET : taken ? REFUSED_OVERLAP : REFUSED_NOT;
}

enum refusal window_blocker(const struct placing *p, const struct func *f, vaddr_t addr,
                            bool first) {
    if (addr < f->start || addr >= f->end || !insn_begins(p->code, f->text, addr))
        return REFUSED_SHORT;
    switch (insn_kind(p->code, f->text, addr)) {
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
        return entered_or_taken(p, f, addr, first);
    }
}

/* The end of padding from AT on; LIMIT at most. */
static vaddr_t padding_end(const struct placing *p, const struct text *text, vaddr_t at,
                           vaddr_t limit) {
    while (at < limit && text_holds(text, at)) {
        uint8_t kind = insn_kind(p->code, text, at), size = insn_size(p->code, text, at);
        if (kind != INSN_NOP && kind != INSN_BREAK)
            break;
        for (uint8_t i = 0; i < size; i++) {
            if (is_arrived_at(p, text, at + i) || is_taken(p, text, at + i))
                return at + i < limit ? at + i : limit;
        }
        at += size;
    }
    return at < limit ? at : limit;
}

static void take(const struct placing *p, const struct text *text, vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start; at < end; at++)
        bitmap_set(p->taken, text_place(text, at));
}

static struct exit_window *window_of(const struct placing *p, const struct exit_site *x) {
    return &p->ws->by_exit[x - p->exits->at];
}

/* True if a window that ends at ADDR may record the exit whose sled is there. */
static bool ends_before_sled(const struct placing *p, const struct func *f, vaddr_t addr) {
    if (addr >= f->end || !p->exits->count || !sled_at(p->code->sleds, addr, SLED_EXIT) ||
        is_arrived_at(p, f->text, addr))
        return false;
    const struct exit_site *x = exit_at(p->exits, addr);
    return x && window_of(p, x)->tier == TIER_NONE;
}

const struct arch *window_arch(const struct placing *p, const struct window *w) {
    return code_arch(p->code, p->code->funcs[w->func].text, w->start);
}

uint8_t window_jump_bytes(const struct placing *p, const struct window *w) {
    uint8_t scratch[PATCH_MAX_BYTES];
    const struct arch *arch = window_arch(p, w);
    return w->far ? arch->far_jump(scratch, w->start, 0) : arch->jump_bytes;
}

/* The bytes at W's start that its patch changes. */
static uint8_t written_bytes(const struct placing *p, const struct window *w) {
    if (w->tier == TIER_PUN)
        return w->room;
    if (w->tier == TIER_TRAP)
        return window_arch(p, w)->trap_bytes;
    return w->hole ? window_arch(p, w)->hop_bytes : window_jump_bytes(p, w);
}

static void serve_exit(const struct placing *p, vaddr_t addr, uint8_t tier) {
    const struct exit_site *x = exit_at(p->exits, addr);
    struct exit_window *e = window_of(p, x);
    if (x->pops < 0)
        return;
    e->trap = tier == TIER_TRAP;
    if (e->trap)
        return;
    e->tier = tier;
    e->refused = REFUSED_NOT;
}

static void serve_exits(struct placing *p, const struct window *w) {
    const struct text *text = p->code->funcs[w->func].text;
    for (vaddr_t at = w->start; at < w->end; at += insn_size(p->code, text, at)) {
        if (exit_is_at(p->exits, text, at) && insn_can_split(p->code, text, at))
            serve_exit(p, at, w->tier);
    }
    if (w->before_sled)
        serve_exit(p, w->end, w->tier);
}

void window_take(struct placing *p, const struct window *w) {
    const struct func *f = &p->code->funcs[w->func];
    const uint8_t hole = hole_bytes(p, window_arch(p, w));
    vaddr_t end = w->start + written_bytes(p, w);
    take(p, f->text, w->start, end < w->end ? w->end : end);
    if (w->hole) {
        take(p, f->text, w->hole, w->hole + hole);
        bitmap_clear(p->spare, text_place(f->text, w->hole));
    }
    serve_exits(p, w);
    vaddr_t spare = w->start + window_jump_bytes(p, w);
    for (vaddr_t at = spare; w->tier == TIER_JUMP && at + hole <= w->end; at += hole)
        bitmap_set(p->spare, text_place(f->text, at));
    ARRAY_PUSH(p->ws, *w);
}

/* Sets W's room: free bytes from its start on, at most as many as a jump takes. */
static void find_room(const struct placing *p, const struct text *text, struct window *w) {
    vaddr_t need = w->start + window_jump_bytes(p, w), end = w->end;
    if (end > w->start && insn_ends_flow(insn_kind(p->code, text, insn_before(p->code, text, end))))
        end = padding_end(p, text, end, need);
    w->room = (uint8_t)((end < need ? end : need) - w->start);
}

struct choice { /* which windows to try */
    enum tier tier;
    bool first; /* nothing was tried before: failures are the reasons of refusals */
    bool far;   /* windows have room for far jumps */
    bool make;  /* holes may be made */
    bool call;  /* the last instruction may be a call */
    bool sled;  /* heads of sleds may be taken */
};

/* ---- entries ---- */

/* The end of W, extended over an exit that is too close behind it to have its own window. */
static vaddr_t with_near_exit(const struct placing *p, const struct func *f,
                              const struct window *w) {
    const vaddr_t end = w->end;
    const uint8_t jump = window_jump_bytes(p, w);
    vaddr_t at = end;
    if (window_arch(p, w)->insn_bytes >= jump) /* every instruction has room for a jump */
        return end;
    for (int i = 0; i < NEAR_EXIT_STEPS && at < end + NEAR_EXIT_BYTES; i++) {
        if (ends_before_sled(p, f, at))
            return at - end < jump ? at : end;
        if (window_blocker(p, f, at, false))
            return end;
        uint8_t kind = insn_kind(p->code, f->text, at);
        vaddr_t next = at + insn_size(p->code, f->text, at);
        if (exit_is_at(p->exits, f->text, at)) {
            bool last = insn_ends_flow(kind) || exit_at(p->exits, at)->falls;
            return last && at - end < jump ? next : end;
        }
        if (insn_ends_flow(kind))
            return end;
        at = next;
    }
    return end;
}

static bool is_movable_call(const struct placing *p, const struct func *f, vaddr_t addr) {
    struct insn in;
    const uint8_t *bytes = text_bytes(f->text, addr);
    const struct arch *arch = code_arch(p->code, f->text, addr);
    arch->decode(bytes, insn_size(p->code, f->text, addr), addr, &in, NULL);
    return arch->can_call(&in, bytes);
}

/* Extends W forward from its start until it holds a jump. Returns why it ends sooner. CALL: it may
 * end with a call. */
static enum refusal reach_forward(const struct placing *p, const struct func *f, struct window *w,
                                  bool call) {
    vaddr_t need = w->start + window_jump_bytes(p, w);
    bool open = has_open_flow(p, w->func), ended = false;
    for (w->end = w->start; w->end < need && !ended;
         w->end += insn_size(p->code, f->text, w->end)) {
        bool first = w->end == w->start;
        enum refusal why = window_blocker(p, f, w->end, first);
        if (call && why == REFUSED_CALL && is_movable_call(p, f, w->end) &&
            !entered_or_taken(p, f, w->end, first) && (first || !open)) {
            w->end += insn_size(p->code, f->text, w->end);
            return why;
        }
        if (why)
            return why;
        if (open && w->end > w->start)
            return REFUSED_OPEN_FLOW;
        ended = insn_ends_flow(insn_kind(p->code, f->text, w->end));
    }
    if (!ended && !open)
        w->end = with_near_exit(p, f, w);
    return REFUSED_SHORT;
}

/* True if W fits C's tier. Makes a hole, if C says so. */
static bool fit(struct placing *p, struct window *w, const struct choice *c) {
    struct window maker;
    if (c->make && hole_make(p, w, &maker))
        window_take(p, &maker);
    return window_fits(p, w, c->tier);
}

/* Makes W the head of the sled at ADDR, if it fits C. */
static bool try_sled(struct placing *p, struct window *w, vaddr_t addr, const struct choice *c) {
    const struct text *text = window_text(p, w);
    w->start = addr;
    w->end = addr + insn_size(p->code, text, addr);
    w->room = window_arch(p, w)->hop_bytes;
    w->in_sled = true;
    w->before_sled = w->far = false;
    if (!c->sled || !fit(p, w, c))
        return false;
    window_take(p, w);
    return true;
}

/* Takes W with C's tier, or returns why it does not fit. */
static enum refusal try_forward(struct placing *p, struct window *w, const struct choice *c) {
    const struct func *f = &p->code->funcs[w->func];
    enum refusal why = reach_forward(p, f, w, c->call);
    bool open = has_open_flow(p, w->func);
    w->before_sled = !open && w->end > w->start && ends_before_sled(p, f, w->end);
    find_room(p, f->text, w);
    if (!fit(p, w, c))
        return why;
    window_take(p, w);
    return REFUSED_NOT;
}

uint8_t window_entry_variant(const struct placing *p, uint32_t func) {
    return (p->exits->by_func[func].loop_head ? STUB_SKIP_RED_ZONE : 0) |
           (flags_live_at(p->code, p->code->funcs[func].body) ? STUB_SAVE_FLAGS : 0);
}

static void choose_entry(struct placing *p, uint32_t i, const struct choice *c) {
    const struct func *f = &p->code->funcs[i];
    struct func_window *ret = &p->ws->by_func[i];
    struct window w = {.start = f->body, .func = i, .entry = true, .far = c->far};
    w.variant = window_entry_variant(p, i);
    enum refusal why = try_forward(p, &w, c);
    const struct sled_place *sled = why ? sled_before(p->code->sleds, f->body) : NULL;
    if (sled && try_sled(p, &w, sled->start, c))
        why = REFUSED_NOT;
    if (!why)
        ret->tier = (uint8_t)c->tier;
    if (!why || c->first)
        ret->refused = (uint8_t)why;
}

/* ---- exits ---- */

/* The instruction before START, if it may join the window; else 0. */
static vaddr_t before(const struct placing *p, const struct func *f, vaddr_t start) {
    if (is_arrived_at(p, f->text, start))
        return 0;
    vaddr_t at = insn_before(p->code, f->text, start);
    if (!at || window_blocker(p, f, at, true) || insn_ends_flow(insn_kind(p->code, f->text, at)))
        return 0;
    return at;
}

/* Extends W, which has an exit, to the size of a patch. KIND: of its last instruction. */
static void extend(const struct placing *p, const struct func *f, struct window *w, uint8_t kind) {
    const vaddr_t most = w->start + window_jump_bytes(p, w);
    vaddr_t room = insn_ends_flow(kind) ? padding_end(p, f->text, w->end, most) : w->end;
    for (vaddr_t more;
         room < w->start + window_jump_bytes(p, w) && (more = before(p, f, w->start));)
        w->start = more;
    const vaddr_t need = w->start + window_jump_bytes(p, w);
    while (w->end < need && !insn_ends_flow(kind) && !window_blocker(p, f, w->end, false)) {
        kind = insn_kind(p->code, f->text, w->end);
        w->end += insn_size(p->code, f->text, w->end);
    }
}

/* Chooses a window for an exit whose return is in a sled. */
static void choose_before_sled(struct placing *p, const struct exit_site *x,
                               const struct choice *c) {
    const struct func *f = &p->code->funcs[x->func];
    bool open = has_open_flow(p, x->func);
    struct window w = {
        .start = x->addr, .end = x->addr, .func = x->func, .before_sled = true, .far = c->far};
    for (vaddr_t more;
         w.end < w.start + window_jump_bytes(p, &w) && (more = before(p, f, w.start));)
        w.start = more;
    find_room(p, f->text, &w);
    if (w.start < w.end && !open && fit(p, &w, c))
        window_take(p, &w);
    else if (!try_sled(p, &w, x->addr, c) && c->first)
        window_of(p, x)->refused = open ? REFUSED_OPEN_FLOW : REFUSED_SHORT;
}

/* True if the entry of function I still lacks a window. */
static bool lacks_window(const struct placing *p, uint32_t i) {
    return p->groups->by_func[i].entry && !p->ws->by_func[i].tier;
}

/* True if W, with room for a far jump, takes bytes that an entry without a window needs for an
 * ordinary jump. */
static bool takes_entry(const struct placing *p, const struct func *f, const struct window *w) {
    return w->far && lacks_window(p, w->func) && w->start < f->body + window_arch(p, w)->jump_bytes;
}

static void choose_exit(struct placing *p, const struct exit_site *x, const struct choice *c) {
    if (sled_at(p->code->sleds, x->addr, SLED_EXIT)) {
        choose_before_sled(p, x, c);
        return;
    }
    const struct func *f = &p->code->funcs[x->func];
    struct window w = {.start = x->addr, .end = x->addr + x->size, .func = x->func, .far = c->far};
    enum refusal why = insn_can_split(p->code, f->text, x->addr)
                           ? window_blocker(p, f, x->addr, true)
                           : REFUSED_UNRELOCATABLE;
    if (x->pops < 0)
        why = REFUSED_DEPTH;
    bool open = has_open_flow(p, x->func);
    if (!why && !open)
        extend(p, f, &w, x->kind);
    find_room(p, f->text, &w);
    if (!why && !takes_entry(p, f, &w) && fit(p, &w, c))
        window_take(p, &w);
    else if (c->first)
        window_of(p, x)->refused = (uint8_t)(why ? why : open ? REFUSED_OPEN_FLOW : REFUSED_SHORT);
}

/* ---- controls ---- */

struct window *window_at(const struct placing *p, size_t count, vaddr_t addr) {
    size_t i = SEARCH(k, count, p->ws->at[k].start < addr);
    return i < count && p->ws->at[i].start == addr ? &p->ws->at[i] : NULL;
}

/* The first COUNT windows are sorted. */
static void choose_control(struct placing *p, const struct control_site *site, size_t count,
                           const struct choice *c) {
    struct window w = {.start = site->addr,
                       .func = site->func,
                       .control = true,
                       .variant = CONTROL_VARIANT,
                       .far = c->far};
    struct window *existing = window_at(p, count, site->addr);
    if (!existing) {
        try_forward(p, &w, c);
    } else if (!existing->entry) {
        existing->control = true;
        existing->variant = w.variant;
    }
}

void windows_sort(struct windows *ws) { sort_by_address(ws->at, ws->count, sizeof *ws->at); }

static void choose_all(struct placing *p, const struct choice *c) {
    /* Downwards: a pun may borrow bytes of windows above it. */
    for (size_t i = p->code->func_count; i-- > 0;) {
        if (p->wanted[i] && !p->ws->by_func[i].tier)
            choose_entry(p, (uint32_t)i, c);
    }
    for (size_t i = p->exits->count; i-- > 0;) {
        const struct exit_site *x = &p->exits->at[i];
        if (p->wanted_group[group_of(p->groups, x->func)] && window_of(p, x)->tier == TIER_NONE)
            choose_exit(p, x, c);
    }
    windows_sort(p->ws);
    size_t count = p->ws->count;
    for (size_t i = 0; i < p->controls->count; i++) {
        if (p->wanted_group[group_of(p->groups, p->controls->at[i].func)])
            choose_control(p, &p->controls->at[i], count, c);
    }
    windows_sort(p->ws);
}

bool window_around(struct placing *p, uint32_t func, vaddr_t addr) {
    static const struct choice choices[] = {
        {.tier = TIER_JUMP}, {.tier = TIER_HOP}, {.tier = TIER_HOP, .make = true}};
    const struct func *f = &p->code->funcs[func];
    struct window w = {
        .start = addr, .end = addr + insn_size(p->code, f->text, addr), .func = func};
    if (window_blocker(p, f, addr, true))
        return false;
    if (!has_open_flow(p, func))
        extend(p, f, &w, insn_kind(p->code, f->text, addr));
    if (w.start == f->body && lacks_window(p, func))
        return false; /* its entry still lacks a window */
    find_room(p, f->text, &w);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!fit(p, &w, &choices[i]))
            continue;
        window_take(p, &w);
        return true;
    }
    return false;
}

/* Chooses pads: entries for which a compiler left nops. */
static void choose_pads(struct placing *p) {
    for (uint32_t i = 0; i < p->code->func_count; i++) {
        struct window w = {.start = p->code->funcs[i].body, .func = i, .entry = true};
        if (!p->wanted[i] || !pad_window(p, &w))
            continue;
        w.variant = window_entry_variant(p, i);
        p->ws->by_func[i].tier = TIER_PAD;
        window_take(p, &w);
    }
}

/* Tries C, unless only another tier is wanted. *FIRST: nothing was tried before. */
static void try_round(struct placing *p, const struct choice *c, bool *first) {
    struct choice now = *c;
    if (p->only != TIER_NONE && p->only != c->tier)
        return;
    now.first = *first;
    choose_all(p, &now);
    *first = false;
}

/* In large modules, first tries windows with room for far jumps, or with near holes that have this
 * room. Ordinary windows follow for sites without that room; they may reach. */
static void choose_far(struct placing *p) {
    static const struct choice rounds[] = {{.tier = TIER_JUMP, .far = true},
                                           {.tier = TIER_HOP},
                                           {.tier = TIER_HOP, .make = true},
                                           {.tier = TIER_JUMP, .far = true, .call = true}};
    bool first = true;
    for (size_t i = 0; p->ws->large && i < sizeof rounds / sizeof *rounds; i++)
        try_round(p, &rounds[i], &first);
}

/* Tries all rounds. With one wanted tier, its first round counts as the first of all. */
static void choose_rounds(struct placing *p) {
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
    static const struct choice last = {.tier = TIER_HOP, .make = true, .sled = true};
    _Static_assert(sizeof fixed == sizeof anywhere, "the same rounds");
    const struct choice *rounds = p->code->module->position_independent ? anywhere : fixed;
    bool first = true;
    choose_far(p);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (p->only == TIER_NONE && rounds[i].tier == TIER_PUN)
            returns_delegate(p);
        try_round(p, &rounds[i], &first);
    }
    if (p->code->sleds->count)
        try_round(p, &last, &first);
}

/* Trampolines take up to three times the room of code. For a program at a fixed address, free room
 * lies mostly behind all its segments. */
static bool is_large(const struct code *code) {
    const struct module *m = code->module;
    const struct arch *arch = code->arch, *other = arch->other;
    uint64_t reach = other && other->reach < arch->reach ? other->reach : arch->reach;
    uint64_t size = m->position_independent ? m->text_high - m->text_low : m->high - m->low;
    return arch->far_jump && size > reach / 4;
}

static void choose(struct placing *p) {
    const size_t count = p->code->func_count;
    refusals_find(p);
    lane_writes_find(p);
    for (uint32_t i = 0; i < count; i++) {
        const struct func_window *f = &p->ws->by_func[i];
        p->wanted[i] = p->groups->by_func[i].entry && (!f->refused || f->guard);
        p->wanted_group[group_of(p->groups, i)] |= p->wanted[i] && !f->guard;
    }
    if (p->only == TIER_NONE || p->only == TIER_PAD)
        choose_pads(p);
    choose_rounds(p);
    lane_writes_settle(p);
    for (uint32_t i = 0; i < count; i++) {
        struct func_window *f = &p->ws->by_func[i];
        if (p->wanted[i] && !f->tier && !f->refused)
            f->refused = REFUSED_SHORT; /* no wanted tier has looked at it */
    }
    if (p->only == TIER_NONE)
        probes_choose(p);
    if (p->only == TIER_NONE || p->only == TIER_TRAP)
        traps_offer(p);
}

struct windows windows_choose(const struct exits *exits, const struct controls *controls,
                              const struct arrivals *arrivals, enum tier only) {
    const struct code *code = exits->code;
    struct windows ret = {
        .code = code, .groups = exits->groups, .exits = exits, .controls = controls};
    ret.by_func = mem_alloc((code->func_count + 1) * sizeof *ret.by_func);
    ret.by_exit = mem_alloc((exits->count + 1) * sizeof *ret.by_exit);
    ret.large = is_large(code);
    uint8_t *taken = place_bits_new(code->texts, code->kept);
    uint8_t *spare = place_bits_new(code->texts, NULL);
    AUTO_FREE bool *wanted = mem_alloc(code->func_count + 1);
    AUTO_FREE bool *wanted_group = mem_alloc(code->func_count + 1);
    choose(&(struct placing){.code = code,
                             .groups = exits->groups,
                             .exits = exits,
                             .controls = controls,
                             .arrivals = arrivals,
                             .only = only,
                             .ws = &ret,
                             .taken = taken,
                             .spare = spare,
                             .wanted = wanted,
                             .wanted_group = wanted_group});
    place_bits_free(code->texts, taken);
    place_bits_free(code->texts, spare);
    return ret;
}

void windows_done(struct windows *windows) {
    free(windows->at);
    free(windows->by_func);
    free(windows->by_exit);
}
