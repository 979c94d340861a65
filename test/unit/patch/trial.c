/* Records the reference of a call, sets the conditions of a disturbed one, and lists the calls. */
#include "trial.h"

#include <string.h>

const struct call trial_calls[TRIAL_CALLS] = {
    {"site_loop_flags", 5, 3, true},
    {"site_maybe", 5, 6, false},
    {"site_flags", 5, 6, true},
    {"site_tail", 5, 6, false},
    {"site_flags", 5, 6, false},
    {"site_plain", 5, 6, false},
    {"site_loop", 5, 3, false},
    {"site_popf", 5, 6, false},
    {"site_maybe", 4, 6, false},
    {"site_hop", 5, 3, false},
    {"site_through", 5, 6, false},
    {"site_sled", 5, 6, false},
    {"site_sled_head", 5, 6, false},
    {"site_sled_head", 4, 6, false},
    {"site_call", 5, 6, false},
    {"site_pad", 5, 6, true},
    {"site_pad_before", 5, 6, false},
    {"site_pun", 2, 0, false},
    {"site_pun_return", 2, 0, true},
    {"site_ways", 5, 1, false},
    {"site_ways", 5, 2, false},
    {"site_ways", 5, 3, false},
    {"site_falls", 5, 6, false},
    {"site_leap", 5, 6, false},
    {"site_leap_register", 5, 6, false},
    {"site_count", 5, 6, false},
    {"site_empty", 5, 6, false},
    {"site_thunk", 5, 6, false},
    {"site_if", 5, 6, true},
    {"site_if", 5, 6, false},
    {"site_load", 5, 6, false},
    {"site_load", 4, 6, true},
};

const struct call trial_hook_call = {"_dl_debug_state", 0, 0, true};

void trial_expect_tiers(const struct guest *g) {
    static const struct {
        const char *function;
        enum tier entry, exit;
    } all[] = {
        {"site_plain", TIER_JUMP, TIER_JUMP},     {"site_tail", TIER_JUMP, TIER_JUMP},
        {"site_hop", TIER_HOP, TIER_JUMP},        {"site_through", TIER_JUMP, TIER_JUMP},
        {"site_call", TIER_JUMP, TIER_JUMP},      {"site_pad", TIER_PAD, TIER_JUMP},
        {"site_pad_before", TIER_PAD, TIER_JUMP}, {"site_pun", TIER_PUN, TIER_JUMP},
        {"site_pun_return", TIER_JUMP, TIER_PUN}, {"site_ways", TIER_JUMP, TIER_JUMP},
        {"site_falls", TIER_JUMP, TIER_JUMP},     {"site_empty", TIER_JUMP, TIER_JUMP},
        {"site_thunk", TIER_JUMP, TIER_JUMP},     {"site_if", TIER_JUMP, TIER_JUMP},
        {"site_load", TIER_JUMP, TIER_JUMP},
    };
    enum { COUNT = sizeof all / sizeof *all };
    const struct traced_module *e = guest_sites(g)->traced_module;
    size_t right = 0;
    assert_int_equal(e->missed_count, 0);
    for (size_t i = 0; i < plan_function_count(e->plan); i++) {
        const struct plan_function *f = plan_function(e->plan, i);
        for (size_t k = 0; k < COUNT; k++)
            right += f->name && strcmp(f->name, all[k].function) == 0 && f->entry == all[k].entry &&
                     f->exits[all[k].exit];
    }
    assert_int_equal(right, COUNT);
}

static void step_through(struct guest *bare, const struct call *call, struct reference *r) {
    guest_enter(bare, call);
    do {
        assert_true(r->count < MOST_STATES);
        assert_int_equal(thread_get_regs(bare->pid, &r->states[r->count++]), 0);
    } while (guest_step(bare));
}

const struct event *events_of(const struct guest *g) {
    return (const struct event *)((const uint8_t *)g->handle->lane + LANE_RING);
}

size_t trial_events(const struct guest *g, uint64_t first, struct event *ret, size_t room) {
    size_t all = (g->handle->lane->head - first) / EVENT_BYTES, count = 0;
    assert_true(all <= GUEST_RING_BYTES / EVENT_BYTES);
    for (const struct event *e = events_of(g); e < events_of(g) + all; e++) {
        if (is_slice_event(e->site >> 2) || e->site >> 2 == WAIT_EVENT)
            continue;
        assert_true(count < room);
        ret[count++] = *e;
    }
    return count;
}

bool is_natural(const struct reference *r, const struct regs *regs, taddr_t at) {
    struct regs here = *regs;
    regs_set_pc(&here, at);
    for (size_t i = 0; i < r->count; i++)
        if (same_regs(&here, &r->states[i]))
            return true;
    return false;
}

bool is_at_end(const struct guest *g, const struct reference *r) {
    struct regs regs;
    assert_int_equal(thread_get_regs(g->pid, &regs), 0);
    return same_regs(&regs, &r->states[r->count - 1]);
}

void reference_record(struct guest *bare, struct guest *g, const struct call *call,
                      struct reference *r) {
    memset(r, 0, sizeof *r);
    step_through(bare, call, r);
    guest_enter(g, call);
    guest_finish(g);
    assert_true(is_at_end(g, r));
    r->event_count = trial_events(g, 0, r->events, sizeof r->events / sizeof *r->events);
    for (size_t i = 0; i < r->event_count; i++)
        r->lost += !is_part_slot(&r->events[i]);
}

void trial_change_conditions(const struct trial *t) {
    if (t->conditions->room_later)
        t->g->handle->lane->limit = 2 * GUEST_RING_BYTES;
    if (t->conditions->dies_later)
        *guest_owner(t->g) |= CONTROL_OWNER_DIED;
    if (t->g->handle->lane->hook)
        t->g->handle->lane->hook = t->g->handle->lane->wait_since = 0;
}

void trial_begin(const struct trial *t) {
    *guest_owner(t->g) &= ~(uint32_t)CONTROL_OWNER_DIED;
    guest_enter(t->g, t->call);
    t->g->handle->lane->head = t->conditions->full ? GUEST_RING_BYTES : 0;
}

void trial_fail(const struct trial *t, const char *what) {
    struct regs regs;
    thread_get_regs(t->g->pid, &regs);
    struct patched *p = space_area_at(t->g->space, regs_pc(&regs));
    fail_msg("%s, overflow %d%s, before instruction %u: %s (pc %#lx%s)", t->call->function,
             t->conditions->overflow, t->conditions->full ? ", full" : "", t->k, what,
             regs_pc(&regs), p ? ", in an area" : "");
}
