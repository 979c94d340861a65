/*
 * Filtered functions record only calls that come from outside of their library. Such a function
 * often ends by a jump to one inside (qsort: qsort_r), which does the work and is not traced. The
 * call should last until that function returns. So the jump is no event, and its target is
 * *carried*: its exits to the caller are observed, its entry is not.
 *
 *     qsort:  entry event … jmp qsort_r          (no event)
 *     qsort_r:              …            ret     exit event, which ends qsort by its stack pointer
 *
 * The jump may lead there through a linker's veneer (veneer.c).
 */
#include "base/bitmap.h"
#include "plan/emit/planned.h"

static bool is_traced(const struct plan *plan, const struct plan_request *r, uint32_t f) {
    return plan->functions.at[f].entry != TIER_NONE &&
           (!r->selected || bitmap_test(r->selected, f));
}

/* The function that the exit S leads into by a tail jump or by running into it; UINT32_MAX:
 * unknown. *RET_VIA: a veneer on the path that counts as a function; UINT32_MAX: none. */
static uint32_t target_of(const struct plan *plan, const struct step *s, uint32_t *ret_via) {
    *ret_via = UINT32_MAX;
    bool direct = s->insn.kind == INSN_JUMP || s->insn.kind == INSN_BRANCH;
    if (!s->exit || s->loops || s->event != EVENT_TAIL || (direct ? !s->insn.target : !s->falls))
        return UINT32_MAX;
    if (s->falls)
        return direct ? UINT32_MAX : plan_index_at(plan, s->insn.addr + s->insn.size);
    uint32_t g = plan_index_at(plan, s->insn.target);
    vaddr_t behind = veneer_target(plan, s->insn.target);
    if (!behind)
        return g;
    *ret_via = g;
    return plan_index_at(plan, behind);
}

static bool can_be_carried(const struct plan *plan, const struct plan_request *r, uint32_t g) {
    const struct plan_function *f = &plan->functions.at[g];
    return f->entry != TIER_NONE && f->exact && !is_traced(plan, r, g);
}

static bool carry(const struct plan *plan, const struct plan_request *r, uint8_t *carried) {
    bool more = false;
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *s = &plan->steps.at[i];
        uint32_t f = s->function, via;
        if (!bitmap_test(carried, f) && !(is_traced(plan, r, f) && bitmap_test(r->filtered, f)))
            continue;
        uint32_t g = target_of(plan, s, &via);
        if (g == UINT32_MAX || bitmap_test(carried, g) || !can_be_carried(plan, r, g) ||
            (via != UINT32_MAX && is_traced(plan, r, via)))
            continue;
        bitmap_set(carried, g);
        more = true;
    }
    return more;
}

static bool is_any_filtered(const struct plan *plan, const struct plan_request *r) {
    for (size_t i = 0; r->filtered && i < plan->functions.count / 8 + 1; i++)
        if (r->filtered[i])
            return true;
    return false;
}

uint8_t *carried_find(const struct plan *plan, const struct plan_request *r) {
    uint8_t *carried = mem_alloc(plan->functions.count / 8 + 1);
    while (is_any_filtered(plan, r) && carry(plan, r, carried))
        ;
    return carried;
}

/* Whether the exit S of a function leads into a carried one, *RET. */
static bool leads_into(const struct plan *plan, const uint8_t *carried, const struct step *s,
                       uint32_t *ret) {
    uint32_t via;
    *ret = target_of(plan, s, &via);
    return *ret != UINT32_MAX && bitmap_test(carried, *ret);
}

bool carried_on(const struct plan *plan, const uint8_t *carried, const struct step *s) {
    uint32_t g;
    return leads_into(plan, carried, s, &g);
}

void carried_join(const struct plan *plan, const uint8_t *carried, bool *groups) {
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < plan->steps.count; i++) {
            uint32_t g;
            if (!leads_into(plan, carried, &plan->steps.at[i], &g))
                continue;
            bool *from = &groups[plan->groups.at[plan->steps.at[i].function]],
                 *to = &groups[plan->groups.at[g]];
            more |= *from != *to;
            *from = *to = *from || *to;
        }
    }
}
