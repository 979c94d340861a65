/* Permits traps for functions that the user has named in full. */
#include "base/bitmap.h"
#include "plan/emit/planned.h"

void plan_permit_traps(struct plan *plan, const uint8_t *named) {
    size_t n = plan->functions.count;
    bool any = false;
    plan->named = mem_resize(plan->named, n + 1, sizeof *plan->named);
    plan->named_group = mem_resize(plan->named_group, plan->group_count + 1, sizeof(bool));
    for (size_t i = 0; i < plan->group_count; i++)
        plan->named_group[i] = false;
    for (size_t i = 0; i < n; i++) {
        struct plan_function *f = &plan->functions.at[i];
        plan->named[i] = bitmap_test(named, i);
        plan->named_group[plan->groups.at[i]] |= plan->named[i];
        any |= plan->named[i];
        if (plan->named[i] && f->trap && f->entry == TIER_NONE) {
            f->entry = TIER_TRAP;
            f->refused = REFUSED_NOT;
        }
    }
    if (!any)
        return;
    for (size_t i = 0; i < plan->exits.count; i++) {
        struct function_exit *x = &plan->exits.at[i];
        if (x->trap && plan->named_group[plan->groups.at[x->function]])
            x->tier = TIER_TRAP;
    }
    function_list_count_exits(plan);
}

bool trap_permits_entry(const struct plan *plan, uint32_t function) {
    return plan->named && function < plan->functions.count && plan->named[function];
}

bool trap_permits(const struct plan *plan, uint32_t function) {
    return plan->named && function < plan->functions.count &&
           plan->named_group[plan->groups.at[function]];
}

bool trap_permits_site(const struct plan *plan, const struct site *site) {
    return site->tier != TIER_TRAP || trap_permits(plan, site->function);
}
