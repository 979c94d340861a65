/*
 * What of a module an area reaches. Branches lead so far only (arch.reach), and so does what refers
 * to the module where it was: a site that is too far away from its trampoline is *lost*. The
 * function whose entry that is goes without, as one whose pun leads nowhere; one that has lost
 * another site has an inexact end. A hop is lost with the window that its hole is in.
 *
 * On 32-bit Arm an address in memory leads anywhere: `ldr pc, address; address: …`, a *far jump*.
 * It takes two words, so windows of large modules are as long where they can be (windows.c), and
 * what leads back from trampolines, and on from what was moved there, is made a far jump where it
 * needs to. A thread that has come to a trap is sent on by the tool, however far that is.
 *
 * What an area does not reach, or has no room for, is *beyond* it. Another one, elsewhere, may
 * serve that; sites that the first one serves it leaves alone, so some functions are entered in one
 * of them and left in the other.
 *
 * How far a site is from its trampoline depends on which others there are. So code is emitted anew
 * without those that were lost, until none is.
 */
#include "base/bitmap.h"
#include "base/search.h"
#include "plan/emit/emitter.h"

enum { SLACK = 0x10000 }; /* arch.reach is less than what branches reach by so much */

bool reach_has_lost(const struct emitter *e, size_t site) {
    const uint32_t maker = e->plan->sites.at[site].maker;
    return e->losses && (bitmap_test(e->losses->sites, site) ||
                         (maker && bitmap_test(e->losses->sites, maker - 1)));
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

/* A hop's hole may be in what the first area has moved; and a jump back to the entry goes on behind
 * that one's stub, which is to be in the same area. */
bool reach_is_blocked(const struct emitter *e, const struct site *s) {
    const struct plan_code *first = e->request->first;
    bool blocked = first && s->maker && serves(first, &e->plan->sites.at[s->maker - 1]);
    for (uint32_t i = 0; first && !blocked && i < s->step_count; i++) {
        const struct step *step = &e->plan->steps.at[s->first_step + i];
        blocked = step->loops && !bitmap_test(first->missed, step->function);
    }
    return blocked;
}

void reach_count_regained(const struct emitter *e) {
    for (size_t i = 0; i < e->plan->sites.count; i++) {
        const struct site *s = &e->plan->sites.at[i];
        if (!e->wanted[i] || !reach_first_counts(e->plan, e->request, s->function) ||
            !serves(e->code, s))
            continue;
        for (uint32_t k = 0; k < s->step_count; k++)
            e->code->regained_exits[s->tier] += e->plan->steps.at[s->first_step + k].exit;
    }
}

bool reach_is_far(const struct site *s) {
    return s->far || (s->tier == TIER_TRAP && s->arch->far_jump);
}

/* Whether nothing in the area of REQUEST can be within reach of S. */
static bool is_beyond(const struct plan_request *request, const struct site *s) {
    const taddr_t at = s->start + request->bias, end = request->area + request->area_size;
    const uint64_t reach = s->arch->reach + SLACK;
    return at < request->area ? request->area - at > reach : at > end && at - end > reach;
}

bool reach_deselect(const struct plan *plan, const struct plan_request *request, uint8_t *selected,
                    uint8_t *missed) {
    bool any = false;
    for (size_t i = 0; i < plan->sites.count; i++) {
        const struct site *s = &plan->sites.at[i];
        if (!s->entry || !bitmap_test(selected, s->function) || reach_is_far(s) ||
            !is_beyond(request, s) || plan->functions.at[s->function].entry == TIER_NONE ||
            (request->first && serves(request->first, s)))
            continue;
        bitmap_clear(selected, s->function);
        bitmap_set(missed, s->function);
        any = true;
    }
    return any;
}
