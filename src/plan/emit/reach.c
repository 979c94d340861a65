/*
 * What an area reaches of a module. Branches reach only so far (arch.reach), and so do pc-relative
 * references that were moved. A site too far from its trampoline is *lost*. A function whose entry
 * is lost is missed, as one whose pun cannot be written; a function that loses another site
 * becomes inexact. A hop is lost with the window that has its hole.
 *
 * On 32-bit Arm an address in memory leads anywhere: `ldr pc, address; address: …`, a *far jump*.
 * It takes two words. In large modules, windows get that room where they can (windows.c), and
 * jumps from trampolines back become far jumps where needed. The tool moves threads from traps to
 * trampolines at any distance.
 *
 * Functions that an area does not reach, or has no room for, are *beyond* it. A second area may
 * serve them. It skips sites that the first one serves, so some functions are entered in one area
 * and left in the other.
 *
 * The distance between site and trampoline depends on the other sites. So code is emitted again
 * without lost sites until none is lost.
 */
#include "base/bitmap.h"
#include "base/search.h"
#include "plan/emit/emitter.h"

enum { SLACK = 0x10000 }; /* how much farther than arch.reach branches reach */

bool reach_has_lost(const struct emitter *e, size_t site) {
    const uint32_t hole_site = e->plan->sites.at[site].hole_site;
    return e->losses && (bitmap_test(e->losses->sites, site) ||
                         (hole_site && bitmap_test(e->losses->sites, hole_site - 1)));
}

void reach_lose(struct emitter *e, size_t site) {
    bitmap_set(e->losses->sites, site);
    e->losses->more = true;
}

bool reach_first_counts(const struct plan *plan, const struct plan_request *r, uint32_t function) {
    return r->first && function < plan->functions.count && !bitmap_test(r->first->missed, function);
}

void reach_count_lost(struct emitter *e, size_t site) {
    const struct site *s = &e->plan->sites.at[site];
    struct plan_code *c = e->code;
    const bool counted = reach_first_counts(e->plan, e->request, s->function);
    for (uint32_t i = 0; i < s->step_count; i++) {
        const struct step *step = &e->plan->steps.at[s->first_step + i];
        uint32_t owner = exit_owner(e, step);
        c->missed_exits[s->tier] += step->exit && !counted;
        if (owner == UINT32_MAX)
            continue;
        bitmap_set(c->inexact, owner);
        bitmap_set(c->beyond, owner);
    }
    if (s->function >= e->plan->functions.count)
        return;
    bitmap_set(s->entry ? c->missed : c->inexact, s->function);
    bitmap_set(c->beyond, s->function);
}

static bool serves(const struct plan_code *c, const struct site *s) {
    size_t i = SEARCH(k, c->patch_count, c->patches[k].at < s->start);
    return i < c->patch_count && c->patches[i].at == s->start;
}

bool reach_is_served(const struct emitter *e, const struct site *s) {
    return e->request->first && serves(e->request->first, s);
}

/* A hop's hole may be in a window of the first area. A jump back to the entry goes on behind the
 * entry's stub, which must be in the same area. */
bool reach_is_blocked(const struct emitter *e, const struct site *s) {
    const struct plan_code *first = e->request->first;
    bool blocked = first && s->hole_site && serves(first, &e->plan->sites.at[s->hole_site - 1]);
    for (uint32_t i = 0; first && !blocked && i < s->step_count; i++) {
        const struct step *step = &e->plan->steps.at[s->first_step + i];
        blocked = step->loops && !bitmap_test(first->missed, step->function);
    }
    return blocked;
}

void reach_count_regained(const struct plan *plan, const struct plan_request *r,
                          struct plan_code *code) {
    for (size_t i = 0; r->first && i < plan->sites.count; i++) {
        const struct site *s = &plan->sites.at[i];
        if (!reach_first_counts(plan, r, s->function) || !serves(code, s))
            continue;
        for (uint32_t k = 0; k < s->step_count; k++)
            code->regained_exits[s->tier] += plan->steps.at[s->first_step + k].exit;
    }
}

bool reach_is_far(const struct plan *plan, const struct site *s) {
    return s->far || (s->tier == TIER_TRAP && site_arch(plan, s)->far_jump);
}

/* True if no place in the area of REQUEST is within reach of S. */
static bool is_beyond(const struct plan *plan, const struct plan_request *request,
                      const struct site *s) {
    const taddr_t at = s->start + request->bias, end = request->area + request->area_size;
    const uint64_t reach = site_arch(plan, s)->reach + SLACK;
    return at < request->area ? request->area - at > reach : at > end && at - end > reach;
}

bool reach_deselect(const struct plan *plan, const struct plan_request *request, uint8_t *selected,
                    uint8_t *missed) {
    bool any = false;
    for (size_t i = 0; i < plan->sites.count; i++) {
        const struct site *s = &plan->sites.at[i];
        if (!s->entry || !bitmap_test(selected, s->function) || reach_is_far(plan, s) ||
            !is_beyond(plan, request, s) || plan->functions.at[s->function].entry == TIER_NONE ||
            (request->first && serves(request->first, s)))
            continue;
        bitmap_clear(selected, s->function);
        bitmap_set(missed, s->function);
        any = true;
    }
    return any;
}
