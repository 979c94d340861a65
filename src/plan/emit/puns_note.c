/*
 * What is noted of puns when code is emitted, so that they can be decided on later, in another
 * process, too. A function whose entry is a pun goes with all its patches if that pun is lost. In
 * most cases that is all: no other function shares its code, and none of its windows has another
 * purpose. Then the function is *dropped*. Else the code must be emitted without it.
 */
#include <string.h>

#include "base/bitmap.h"
#include "base/search.h"
#include "elf/sort.h"
#include "plan/emit/emitter.h"

struct owned { /* a place that is patched for a function that may be dropped */
    vaddr_t at;
    uint32_t owner;
};

struct notes {
    const struct emitter *e;
    uint8_t *drop; /* bitmap by function: it may be dropped */
    ARRAY(struct owned) owned;
};

/* ---- which functions may be dropped ---- */

static bool has(const struct notes *n, uint32_t function) {
    return function < n->e->plan->functions.count && bitmap_test(n->drop, function);
}

static void remove_function(const struct notes *n, uint32_t function) {
    if (function < n->e->plan->functions.count)
        bitmap_clear(n->drop, function);
}

/* Whether what is emitted of one function depends on others' only by shared code and holes. */
static bool is_plain(const struct plan_request *r, size_t function_bytes) {
    bool plain = !r->capture_count && !r->probe_count && !r->first;
    for (size_t i = 0; r->filtered && i < function_bytes && plain; i++)
        plain = !r->filtered[i];
    return plain;
}

static bool is_go_stacks(const struct plan *plan, uint32_t f) {
    return f == plan->go.maker || f == plan->go.freer || f == plan->go.mover;
}

static bool waits(const struct emitter *e, uint32_t function) {
    const struct plan_request *r = e->request;
    const vaddr_t at = e->plan->functions.at[function].addr;
    bool waits = at == r->hook;
    for (int i = 0; i < PLAN_GUARDS; i++)
        waits |= at == r->guards[i];
    return waits;
}

/* The functions whose entries are puns, and that share no code. */
static void add_entries(const struct notes *n) {
    const struct emitter *e = n->e;
    const struct plan *plan = e->plan;
    AUTO_FREE uint8_t *sizes = mem_alloc(plan->group_count + 1);
    for (size_t i = 0; i < plan->functions.count; i++)
        sizes[plan->groups.at[i]] += sizes[plan->groups.at[i]] <= 1;
    for (size_t i = 0; i < e->puns.count; i++) {
        const uint32_t f = e->puns.at[i].function;
        if (e->puns.at[i].entry && request_traces(e, f) && sizes[plan->groups.at[f]] == 1 &&
            !is_go_stacks(plan, f) && !waits(e, f))
            bitmap_set(n->drop, f);
    }
}

/* SITE is patched: takes out functions that it serves besides another purpose. */
static void look_at_site(const struct notes *n, const struct site *site) {
    const struct plan *plan = n->e->plan;
    if ((site->control && n->e->request->controls) || site->tier == TIER_TRAP)
        remove_function(n, site->function);
    for (uint32_t i = 0; i < site->step_count; i++) {
        const struct step *s = &plan->steps.at[site->first_step + i];
        if (!s->exit || s->function == site->function)
            continue;
        remove_function(n, s->function);
        remove_function(n, site->function);
    }
    const uint32_t host =
        site->hole_site ? plan->sites.at[site->hole_site - 1].function : site->function;
    if (host != site->function)
        remove_function(n, host);
}

static void find_entries(const struct notes *n) {
    const struct emitter *e = n->e;
    if (!e->puns.count || !is_plain(e->request, e->plan->functions.count / 8 + 1))
        return;
    add_entries(n);
    for (size_t i = 0; i < e->plan->sites.count; i++)
        if (e->wanted[i])
            look_at_site(n, &e->plan->sites.at[i]);
    for (size_t i = 0; i < e->code->trap_count; i++)
        remove_function(n, e->code->traps[i].function);
}

/* ---- the log ---- */

static void add_owned(struct notes *n) {
    const struct emitter *e = n->e;
    for (size_t i = 0; i < e->plan->sites.count; i++) {
        const struct site *s = &e->plan->sites.at[i];
        if (!e->wanted[i] || !has(n, s->function))
            continue;
        ARRAY_PUSH(&n->owned, ((struct owned){s->start, s->function}));
        if (s->hole)
            ARRAY_PUSH(&n->owned, ((struct owned){s->hole, s->function}));
    }
    for (size_t i = 0; i < e->puns.count; i++)
        if (!has(n, e->puns.at[i].function))
            ARRAY_PUSH(&n->owned, ((struct owned){e->puns.at[i].at, PUN_OWN}));
    sort_by_address(n->owned.at, n->owned.count, sizeof *n->owned.at);
}

static uint32_t owner_of(const struct notes *n, vaddr_t at) {
    size_t i = SEARCH(k, n->owned.count, n->owned.at[k].at < at);
    return i < n->owned.count && n->owned.at[i].at == at ? n->owned.at[i].owner : PUN_NEAR;
}

/* Whether PATCH has some of the bytes that a pun may borrow. */
static bool is_near_pun(const struct emitter *e, const struct patch *patch) {
    size_t i = SEARCH(k, e->puns.count, e->puns.at[k].at + PUN_MAX_BYTES <= patch->at);
    return i < e->puns.count && e->puns.at[i].at < patch->at + patch->size;
}

static void log_patches(const struct notes *n, struct pun_log *log, struct pun_round *round) {
    const struct plan_code *c = n->e->code;
    for (size_t i = 0; i < c->patch_count; i++) {
        struct pun_patch p;
        const uint32_t owner = owner_of(n, c->patches[i].at);
        if (owner == PUN_NEAR && !is_near_pun(n->e, &c->patches[i]))
            continue;
        memset(&p, 0, sizeof p);
        p.patch = c->patches[i];
        p.owner = owner;
        ARRAY_PUSH(&log->patches, p);
        round->patches++;
    }
    for (size_t i = 0; i < c->way_count; i++)
        if (owner_of(n, c->ways[i].site) < PUN_OWN) {
            ARRAY_PUSH(&log->ways, c->ways[i]);
            round->ways++;
        }
}

static enum if_lost if_lost(const struct notes *n, const struct pun_site *p) {
    if (!p->entry || !request_traces(n->e, p->function))
        return LOST_ALONE;
    return has(n, p->function) ? LOST_PATCHES : LOST_WITH_CODE;
}

void puns_note(const struct emitter *e) {
    struct notes n = {.e = e, .drop = mem_alloc(e->plan->functions.count / 8 + 1)};
    struct pun_log *log = &e->code->pun_log;
    struct pun_round round = {.puns = e->puns.count};
    find_entries(&n);
    if (e->puns.count) {
        add_owned(&n);
        log_patches(&n, log, &round);
    }
    for (size_t i = 0; i < e->puns.count; i++) {
        struct pun_site p = e->puns.at[i];
        p.if_lost = (uint8_t)if_lost(&n, &p);
        p.lacks_more = bitmap_test(p.entry ? e->code->missed : e->code->inexact, p.function);
        ARRAY_PUSH(&log->puns, p);
    }
    ARRAY_PUSH(&log->rounds, round);
    ARRAY_FREE(&n.owned);
    free(n.drop);
}

void pun_log_done(struct pun_log *log) {
    ARRAY_FREE(&log->rounds);
    ARRAY_FREE(&log->puns);
    ARRAY_FREE(&log->patches);
    ARRAY_FREE(&log->ways);
}
