/*
 * Go's runtime makes goroutines' stacks, side by side, and moves them when they are too small or
 * too large. Open calls then return with other stack pointers. Three functions do all this
 * (runtime/stack.go; arguments are in registers since Go 1.17):
 *
 *     func stackalloc(n uint32) stack               returns the ends of a new stack
 *     func stackfree(stk stack)                     gets the ends of a stack that is freed
 *     func copystack(gp *g, newsize uintptr)        calls stackalloc, then stackfree, on success
 *
 * They run on a thread's system stack, in the order of what they do. So events at stackalloc's
 * returns and at stackfree's and copystack's entries suffice (enum stack_event). They are recorded
 * whatever functions are selected: all of them, or none if one cannot be patched.
 */
#include <string.h>

#include "plan/emit/planned.h"

static uint32_t find_patched(const struct plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->functions.count; i++) {
        const struct plan_function *f = &plan->functions.at[i];
        if (f->name && strcmp(f->name, name) == 0)
            return f->entry != TIER_NONE && f->entry != TIER_TRAP ? i : UINT32_MAX;
    }
    return UINT32_MAX;
}

/* True if the runtime passes arguments in registers. Since then, functions with the older
 * convention, on the stack, are marked by a suffix. */
static bool passes_in_registers(const struct module *m) {
    for (size_t i = 0; i < m->symbol_count; i++)
        if (strcmp(m->symbols[i].name, "runtime.gogo.abi0") == 0)
            return true;
    return false;
}

/* True if FUNCTION ends by return instructions only, and each has a window. */
static bool returns_plainly(const struct plan *plan, uint32_t function) {
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *s = &plan->steps.at[i];
        bool plain = s->insn.kind == INSN_RETURN && !s->before_sled && !s->return_bytes;
        if (s->exit && s->function == function && !s->loops && !plain)
            return false;
    }
    return plan->functions.at[function].exact && !plan->functions.at[function].exits[TIER_TRAP];
}

static bool has_event(const struct plan *plan, const struct site *site) {
    if (go_stacks_entry(plan, site))
        return true;
    for (uint32_t i = 0; i < site->step_count; i++)
        if (go_stacks_step(plan, &plan->steps.at[site->first_step + i]))
            return true;
    return false;
}

void go_stacks_find(struct plan *plan) {
    enum { STUBS = 2 };
    plan->go = (struct go_stacks){UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct go_stacks go = {find_patched(plan, "runtime.stackalloc"),
                           find_patched(plan, "runtime.stackfree"),
                           find_patched(plan, "runtime.copystack")};
    if (go.maker == UINT32_MAX || go.freer == UINT32_MAX || go.mover == UINT32_MAX ||
        !passes_in_registers(plan->module) || !returns_plainly(plan, go.maker))
        return;
    plan->go = go;
    uint32_t room = STUBS * sites_stub_room(plan, STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE);
    for (size_t i = 0; i < plan->sites.count; i++) {
        struct site *site = &plan->sites.at[i];
        uint32_t more = has_event(plan, site) ? room * (site->step_count + 1) : 0;
        site->room += more;
        plan->area_size += more;
    }
}

bool go_stacks_entry(const struct plan *plan, const struct site *site) {
    return site->entry && (site->function == plan->go.freer || site->function == plan->go.mover);
}

bool go_stacks_step(const struct plan *plan, const struct step *s) {
    return s->exit && !s->loops && s->function == plan->go.maker;
}

bool plan_stack_functions(const struct plan *plan, struct span ret[PLAN_STACK_FUNCTIONS]) {
    const uint32_t numbers[PLAN_STACK_FUNCTIONS] = {plan->go.maker, plan->go.freer, plan->go.mover};
    for (size_t i = 0; i < PLAN_STACK_FUNCTIONS; i++) {
        if (numbers[i] == UINT32_MAX)
            return false;
        const struct plan_function *f = &plan->functions.at[numbers[i]];
        ret[i] = (struct span){f->addr, f->addr + f->size};
    }
    return true;
}
