/* Windows become sites: their instructions are decoded once more, and kept. */
#include "plan/internal.h"

/* Whether calls are filtered is not known yet. No stubs are known for some machines. */
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

static void take_exit(const struct analysis *a, const struct exit_site *x, struct step *ret) {
    ret->exit = true;
    ret->loops = x->loops;
    ret->falls = x->falls;
    ret->event = x->event;
    ret->variant = x->variant;
    ret->pops = (uint16_t)x->pops;
    ret->behind = x->behind;
    ret->function = a->funcs[x->func].number;
}

static const struct exit_site *next_exit(const struct analysis *a, vaddr_t addr, size_t *exit) {
    while (*exit < a->exits.count && a->exits.at[*exit].addr < addr)
        ++*exit;
    return *exit < a->exits.count ? &a->exits.at[*exit] : NULL;
}

static const struct exit_site *delegated_at(const struct analysis *a, const struct text *text,
                                            vaddr_t addr) {
    bool is_exit = text_holds(text, addr) && *text_fact(text, addr) & FACT_EXIT;
    const struct exit_site *x = is_exit ? exit_at(a, addr) : NULL;
    return x && x->delegated ? x : NULL;
}

/* The return that S branches to, if S is to do it. */
static void take_return(const struct analysis *a, const struct text *text, struct step *s) {
    bool branch = s->insn.kind == INSN_JUMP || s->insn.kind == INSN_BRANCH;
    const struct exit_site *x = branch ? delegated_at(a, text, s->insn.target) : NULL;
    if (!x)
        return;
    take_exit(a, x, s);
    s->return_bytes = x->size;
}

/* The return that W runs into, if W is to do it. */
static void add_return_behind(struct plan *plan, const struct analysis *a, const struct window *w) {
    const struct text *text = a->funcs[w->func].text;
    const struct exit_site *x = delegated_at(a, text, w->end);
    if (!x || !window_runs_into(a, w, x->addr))
        return;
    struct step s = {0};
    text_arch(a, text, x->addr)->decode(text_bytes(text, x->addr), x->size, x->addr, &s.insn, NULL);
    take_exit(a, x, &s);
    ARRAY_PUSH(&plan->steps, s);
}

static void add_steps(struct plan *plan, const struct analysis *a, const struct window *w,
                      size_t *exit) {
    const struct text *text = a->funcs[w->func].text;
    for (vaddr_t at = w->start; at < w->end; at += text_size(text, at)) {
        struct step s = {0};
        text_arch(a, text, at)
            ->decode(text_bytes(text, at), text_size(text, at), at, &s.insn, NULL);
        const struct exit_site *x = next_exit(a, at, exit);
        if (x && x->addr == at && (x->tier != TIER_NONE || x->trap))
            take_exit(a, x, &s);
        else
            take_return(a, text, &s);
        ARRAY_PUSH(&plan->steps, s);
    }
    if (w->beside) {
        struct step s = {.insn = {.addr = w->end, .kind = INSN_OTHER}, .beside = true};
        take_exit(a, next_exit(a, w->end, exit), &s);
        ARRAY_PUSH(&plan->steps, s);
    }
    add_return_behind(plan, a, w);
}

static uint32_t site_room(const struct plan *plan, const struct site *site,
                          const struct rooms *rooms) {
    const struct arch *arch = site->arch;
    uint32_t room = TRAMPOLINE_ALIGN - 1u +
                    (arch->far_bytes > arch->jump_bytes ? arch->far_bytes : arch->jump_bytes);
    if (site->entry || site->control)
        room += rooms->stub[site->variant];
    for (uint32_t i = 0; i < site->step_count; i++) {
        const struct step *s = &plan->steps.at[site->first_step + i];
        room += arch->relocated_bytes(&s->insn);
        if (s->exit)
            room += rooms->stub[s->variant] + RELOCATED_MAX_BYTES;
    }
    return room;
}

/* Which window holds the hole: windows are sorted and disjoint. */
static uint32_t maker_of(const struct analysis *a, vaddr_t hole) {
    size_t low = 0, high = a->windows.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (a->windows.at[mid].start <= hole)
            low = mid + 1;
        else
            high = mid;
    }
    return hole && low && hole < a->windows.at[low - 1].end ? (uint32_t)low : 0;
}

void sites_build(struct plan *plan, const struct analysis *a) {
    struct rooms rooms = {0};
    for (int v = 0; v < VARIANTS; v++)
        rooms.stub[v] = sites_stub_room(plan, (uint8_t)v);
    plan->hook_room = rooms.stub[HOOK_VARIANT];
    plan->slice_room = sites_stub_room(plan, STUB_SLICE | STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE);
    plan->area_size = (plan->arch->agent_size ? *plan->arch->agent_size : 0) + plan->hook_room;
    size_t exit = 0;
    for (size_t i = 0; i < a->windows.count; i++) {
        const struct window *w = &a->windows.at[i];
        const struct func *f = &a->funcs[w->func];
        struct site site = {.start = w->start,
                            .end = w->end,
                            .arch = text_arch(a, f->text, w->start),
                            .bytes = text_bytes(f->text, w->start),
                            .first_step = (uint32_t)plan->steps.count,
                            .function = f->number,
                            .hole = w->hole,
                            .maker = maker_of(a, w->hole),
                            .tier = w->tier,
                            .owned = w->room,
                            .entry = w->entry,
                            .control = w->control,
                            .far = w->far || (w->hole && a->large),
                            .in_sled = w->in_sled,
                            .variant = w->variant};
        add_steps(plan, a, w, &exit);
        site.step_count = (uint32_t)plan->steps.count - site.first_step;
        site.room = site_room(plan, &site, &rooms);
        plan->area_size += site.room;
        ARRAY_PUSH(&plan->sites, site);
    }
}
