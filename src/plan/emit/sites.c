/* Turns windows into sites. Their instructions are decoded again, and kept. */
#include "base/search.h"
#include "base/workers.h"
#include "plan/emit/planned.h"
#include "plan/window/windows.h"

/* Upper bound for any request, so with the test of the caller. Some machines have no stubs. */
static uint32_t stub_room(const struct arch *arch, uint8_t variant) {
    uint8_t scratch[STUB_MAX_BYTES];
    uint32_t room = 0;
    for (int overflow = OVERFLOW_WAIT; arch->stub_emit && overflow <= OVERFLOW_OVERWRITE;
         overflow++) {
        struct stub_spec spec = {.variant = variant | (variant & STUB_HOOK ? 0 : STUB_CALLER),
                                 .ring_bytes = 4096,
                                 .overflow = (enum overflow)overflow};
        uint32_t size = (uint32_t)arch->stub_emit(scratch, &spec);
        room = size > room ? size : room;
    }
    return room;
}

uint32_t sites_stub_room(const struct plan *plan, uint8_t variant) {
    const struct arch *other = plan->arch->other;
    uint32_t room = stub_room(plan->arch, variant), more = other ? stub_room(other, variant) : 0;
    return room > more ? room : more;
}

enum { VARIANTS = (STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE | STUB_HOOK) + 1 };
struct rooms {
    uint32_t stub[VARIANTS];
};

struct builder {
    struct plan *plan;
    const struct windows *ws;
    const struct exits *exits;
    const struct code *code;
    const uint32_t *numbers;
    struct rooms rooms;
    size_t exit; /* the next exit */
};

static void set_exit(const struct builder *b, const struct exit_site *x, struct step *ret) {
    ret->exit = true;
    ret->loops = x->loops;
    ret->falls = x->falls;
    ret->event = x->event;
    ret->variant = x->variant;
    ret->pops = (uint16_t)x->pops;
    ret->behind = x->behind;
    ret->function = b->numbers[x->func];
}

static const struct exit_site *next_exit(struct builder *b, vaddr_t addr) {
    while (b->exit < b->exits->count && b->exits->at[b->exit].addr < addr)
        b->exit++;
    return b->exit < b->exits->count ? &b->exits->at[b->exit] : NULL;
}

static const struct exit_window *window_of(const struct builder *b, const struct exit_site *x) {
    return &b->ws->by_exit[x - b->exits->at];
}

static const struct exit_site *delegated_at(const struct builder *b, const struct text *text,
                                            vaddr_t addr) {
    bool is_exit = text_holds(text, addr) && exit_is_at(b->exits, text, addr);
    const struct exit_site *x = is_exit ? exit_at(b->exits, addr) : NULL;
    return x && window_of(b, x)->delegated ? x : NULL;
}

/* If S branches to a return that it is to make itself, S becomes that exit. */
static void set_return(const struct builder *b, const struct text *text, struct step *s) {
    bool branch = s->insn.kind == INSN_JUMP || s->insn.kind == INSN_BRANCH;
    const struct exit_site *x = branch ? delegated_at(b, text, s->insn.target) : NULL;
    if (!x)
        return;
    set_exit(b, x, s);
    s->return_bytes = x->size;
}

/* If W runs into a return that it is to make itself, adds the return as a step. */
static void add_return_behind(struct builder *b, const struct window *w) {
    const struct text *text = b->code->funcs[w->func].text;
    const struct exit_site *x = delegated_at(b, text, w->end);
    if (!x || !window_runs_into(b->ws, w, x->addr))
        return;
    struct step s = {0};
    insn_read(b->code, text, x->addr, &s.insn);
    set_exit(b, x, &s);
    ARRAY_PUSH(&b->plan->steps, s);
}

static bool is_probe(const struct controls *c, vaddr_t addr) {
    const size_t i = SEARCH(k, c->probes.count, c->probes.at[k].addr < addr);
    return i < c->probes.count && c->probes.at[i].addr == addr;
}

static void add_steps(struct builder *b, const struct window *w) {
    const struct text *text = b->code->funcs[w->func].text;
    for (vaddr_t at = w->start; at < w->end; at += insn_size(b->code, text, at)) {
        struct step s = {0};
        insn_read(b->code, text, at, &s.insn);
        const struct exit_site *x = next_exit(b, at);
        s.probe = w->tier != TIER_PAD && is_probe(b->ws->controls, at);
        bool here = x && x->addr == at;
        if (here && (window_of(b, x)->tier != TIER_NONE || window_of(b, x)->trap))
            set_exit(b, x, &s);
        else
            set_return(b, text, &s);
        ARRAY_PUSH(&b->plan->steps, s);
    }
    if (w->before_sled) {
        struct step s = {.insn = {.addr = w->end, .kind = INSN_OTHER}, .before_sled = true};
        set_exit(b, next_exit(b, w->end), &s);
        ARRAY_PUSH(&b->plan->steps, s);
    }
    add_return_behind(b, w);
}

static uint32_t site_room(const struct plan *plan, const struct site *site,
                          const struct rooms *rooms) {
    const struct arch *arch = site_arch(plan, site);
    uint32_t room = TRAMPOLINE_ALIGN - 1u +
                    (arch->far_bytes > arch->jump_bytes ? arch->far_bytes : arch->jump_bytes);
    if (site->entry || site->control)
        room += rooms->stub[site->variant];
    for (uint32_t i = 0; i < site->step_count; i++) {
        const struct step *s = &plan->steps.at[site->first_step + i];
        room += arch->relocated_bytes(&s->insn) + (s->probe ? rooms->stub[PROBE_VARIANT] : 0);
        if (s->exit)
            room += rooms->stub[s->variant] + RELOCATED_MAX_BYTES;
    }
    return room;
}

/* The number + 1 of the window with HOLE, 0 if none; windows are sorted and disjoint. */
static uint32_t hole_window_of(const struct windows *ws, vaddr_t hole) {
    size_t i = SEARCH(k, ws->count, ws->at[k].start <= hole);
    return hole && i && hole < ws->at[i - 1].end ? (uint32_t)i : 0;
}

static void add_site(struct builder *b, const struct window *w) {
    struct plan *plan = b->plan;
    const struct text *text = b->code->funcs[w->func].text;
    struct site site = {.start = w->start,
                        .end = w->end,
                        .kind = plan_kind_of(plan, code_arch(b->code, text, w->start)),
                        .first_step = (uint32_t)plan->steps.count,
                        .function = b->numbers[w->func],
                        .hole = w->hole,
                        .hole_site = hole_window_of(b->ws, w->hole),
                        .tier = w->tier,
                        .owned = w->room,
                        .entry = w->entry,
                        .control = w->control,
                        .far = w->far || (w->hole && b->ws->large),
                        .in_sled = w->in_sled,
                        .variant = w->variant};
    add_steps(b, w);
    site.step_count = (uint16_t)(plan->steps.count - site.first_step);
    site.room = site_room(plan, &site, &b->rooms);
    plan->area_size += site.room;
    ARRAY_PUSH(&plan->sites, site);
}

enum { SHARE = 2048 }; /* windows that a thread takes in one go */
enum { BATCH = 16 };   /* shares that are in memory twice for a moment */

struct division {
    const struct builder *whole;
    size_t first;       /* window of the first part */
    struct plan *parts; /* with the sites and steps of their windows, and the room for these */
};

static void build_share(void *arg, size_t index) {
    const struct division *all = arg;
    const struct windows *ws = all->whole->ws;
    const struct exits *exits = all->whole->exits;
    struct plan *plan = &all->parts[index];
    struct builder b = *all->whole;
    size_t i = all->first + index * SHARE;
    const size_t end = i + SHARE < ws->count ? i + SHARE : ws->count;
    *plan = (struct plan){.module = b.plan->module,
                          .arch = b.plan->arch,
                          .hook_room = b.plan->hook_room,
                          .slice_room = b.plan->slice_room};
    b.plan = plan;
    b.exit = SEARCH(k, exits->count, exits->at[k].addr < ws->at[i].start);
    for (; i < end; i++)
        add_site(&b, &ws->at[i]);
}

/* Moves the sites of PART to the end of PLAN's. */
static void join(struct plan *plan, struct plan *part) {
    const uint32_t steps = (uint32_t)plan->steps.count;
    for (size_t i = 0; i < part->sites.count; i++)
        part->sites.at[i].first_step += steps;
    plan->area_size += part->area_size;
    ARRAY_MOVE(&plan->sites, &part->sites);
    ARRAY_MOVE(&plan->steps, &part->steps);
}

void sites_build(struct plan *plan, const struct windows *windows, const uint32_t *numbers) {
    struct builder b = {.plan = plan,
                        .ws = windows,
                        .exits = windows->exits,
                        .code = windows->code,
                        .numbers = numbers};
    for (int v = 0; v < VARIANTS; v++)
        b.rooms.stub[v] = sites_stub_room(plan, (uint8_t)v);
    plan->hook_room = b.rooms.stub[HOOK_VARIANT];
    plan->slice_room = sites_stub_room(plan, STUB_SLICE | STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE);
    plan->area_size = (plan->arch->agent_size ? *plan->arch->agent_size : 0) +
                      (1 + PLAN_GUARDS) * plan->hook_room;
    AUTO_FREE struct plan *parts = mem_alloc(BATCH * sizeof *parts);
    struct division all = {.whole = &b, .parts = parts};
    for (; all.first < windows->count; all.first += (size_t)BATCH * SHARE) {
        size_t shares = (windows->count - all.first + SHARE - 1) / SHARE;
        shares = shares < BATCH ? shares : BATCH;
        workers_run(shares, build_share, &all);
        for (size_t i = 0; i < shares; i++)
            join(plan, &parts[i]);
    }
    plan->area_size += lane_guard_count(plan) * plan->hook_room;
}
