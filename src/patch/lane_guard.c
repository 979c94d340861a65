/* Checks guards of functions that write the lanes' register, and finds threads that wait there. */
#include "patch/lane_guard.h"

#include "patch/settle.h"

static const struct plan *plan_of(const struct patched *p) {
    return p->traced_module ? p->traced_module->plan : NULL;
}

static bool has_guards(const struct patched *p) {
    return p->lane_guards && !p->first && plan_of(p);
}

bool lane_guard_is_possible(const struct patched *p) { return !plan_lane_open(plan_of(p)); }

bool lane_guard_is_set(const struct patched *p) {
    const struct plan_code *c = p->code ? &p->code->emitted : NULL;
    const struct plan *plan = plan_of(p);
    for (vaddr_t at = plan_lane_guard(plan, 0); at; at = plan_lane_guard(plan, at + 1)) {
        size_t i = c ? patched_patch_at(c, at) : 0;
        if (!c || i == c->patch_count || c->patches[i].at != at || c->patches[i].yields ||
            patched_is_spared(p, i))
            return false;
    }
    return true;
}

bool lane_guards_are_set(const struct space *s) {
    bool all = true;
    for (size_t i = 0; i < s->modules.count; i++)
        all &= !has_guards(&s->modules.at[i]) || lane_guard_is_set(&s->modules.at[i]);
    return all;
}

bool lane_guards_exist(const struct space *s) {
    bool any = false;
    for (size_t i = 0; i < s->modules.count; i++)
        any |= has_guards(&s->modules.at[i]);
    for (size_t i = 0; i < s->prepared.count; i++)
        any |= has_guards(&s->prepared.at[i]);
    return any;
}

bool lane_guard_waits(const struct space *s, pid_t tid) {
    struct settle_hooked hooked;
    bool any = false;
    if (!settle_find_hooked(s, tid, &hooked))
        return false;
    for (size_t i = 0; i < s->modules.count; i++) {
        const struct patched *p = &s->modules.at[i];
        const vaddr_t at = hooked.site - p->bias;
        any |= has_guards(p) && plan_lane_guard(plan_of(p), at) == at;
    }
    return any;
}

static bool is_passed_in(const struct patched *p, taddr_t addr) {
    return has_guards(p) && plan_is_past_lane_guard(plan_of(p), addr - p->bias);
}

bool lane_guard_is_passed(const struct space *s, taddr_t addr) {
    bool any = false;
    for (size_t i = 0; i < s->modules.count; i++)
        any |= is_passed_in(&s->modules.at[i], addr);
    for (size_t i = 0; i < s->prepared.count; i++)
        any |= is_passed_in(&s->prepared.at[i], addr);
    return any;
}
