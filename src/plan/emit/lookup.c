/* Finds the function at an address, and if a thread there is before the entry or past an exit. */
#include "base/search.h"
#include "plan/emit/planned.h"

/* The number of elements of ARRAY, sorted by MEMBER, that begin at ADDR or before it. */
#define COUNT_UP_TO(addr, array, member) SEARCH(i_, (array).count, (array).at[i_].member <= (addr))

uint32_t plan_function_at(const struct plan *plan, vaddr_t addr) {
    size_t n = COUNT_UP_TO(addr, plan->parts, start);
    if (n && addr < plan->parts.at[n - 1].end)
        return plan->parts.at[n - 1].function;
    n = COUNT_UP_TO(addr, plan->functions, addr);
    if (!n || addr - plan->functions.at[n - 1].addr >= plan->functions.at[n - 1].size)
        return UINT32_MAX;
    return (uint32_t)(n - 1);
}

uint32_t plan_group(const struct plan *plan, uint32_t function) {
    return plan->groups.at[function];
}

bool plan_has_sleds(const struct plan *plan) { return plan->sleds.count; }

bool plan_is_in_sled(const struct plan *plan, vaddr_t addr) {
    size_t n = COUNT_UP_TO(addr, plan->sleds, start);
    return n && addr < plan->sleds.at[n - 1].end;
}

bool plan_part(const struct plan *plan, size_t number, struct span *ret) {
    if (number >= plan->parts.count)
        return false;
    *ret = (struct span){plan->parts.at[number].start, plan->parts.at[number].end};
    return true;
}

/* The patch is at the entry, or behind an instruction there that must stay. */
bool plan_is_before_entry(const struct plan *plan, uint32_t function, vaddr_t addr) {
    const struct plan_function *f = &plan->functions.at[function];
    for (size_t i = f->addr ? COUNT_UP_TO(f->addr - 1, plan->sites, start) : 0;
         i < plan->sites.count && plan->sites.at[i].start < f->addr + f->size; i++) {
        const struct site *s = &plan->sites.at[i];
        if (s->entry && s->function == function)
            return addr >= f->addr && addr <= s->start;
    }
    return addr == f->addr;
}

/* An exit without its own window is made by windows on the paths to it, or inferred. */
bool plan_is_past_exit(const struct plan *plan, vaddr_t addr) {
    size_t n = COUNT_UP_TO(addr, plan->exits, at);
    if (!n || plan->exits.at[n - 1].at != addr || plan->exits.at[n - 1].open)
        return false;
    size_t s = COUNT_UP_TO(addr, plan->sites, start);
    return !s || addr >= plan->sites.at[s - 1].end;
}
