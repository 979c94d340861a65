/* The guards of functions that write the register by which stubs find lanes. */
#include "base/search.h"
#include "plan/emit/planned.h"

vaddr_t plan_lane_write(const struct plan *plan) { return plan->lane_write; }

vaddr_t plan_lane_open(const struct plan *plan) { return plan->lane_open; }

static bool is_writer(const struct plan *plan, uint32_t function) {
    return function < plan->functions.count && plan->functions.at[function].refused == REFUSED_LANE;
}

bool lane_guard_is_at(const struct plan *plan, const struct site *site) {
    return plan->lane_write && site->entry && site->tier != TIER_TRAP &&
           is_writer(plan, site->function);
}

size_t lane_guard_count(const struct plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->sites.count && plan->lane_write; i++)
        count += lane_guard_is_at(plan, &plan->sites.at[i]);
    return count;
}

vaddr_t plan_lane_guard(const struct plan *plan, vaddr_t addr) {
    size_t i = SEARCH(k, plan->sites.count, plan->sites.at[k].start < addr);
    while (i < plan->sites.count && !lane_guard_is_at(plan, &plan->sites.at[i]))
        i++;
    return i < plan->sites.count ? plan->sites.at[i].start : 0;
}

bool plan_is_past_lane_guard(const struct plan *plan, vaddr_t addr) {
    uint32_t function = plan->lane_write ? plan_function_at(plan, addr) : NO_FUNCTION;
    return is_writer(plan, function) && !plan_is_before_entry(plan, function, addr);
}
