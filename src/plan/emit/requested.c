/*
 * What a request asks for: the function for which an exit or control site is recorded, and the
 * stub that records it.
 */
#include <string.h>

#include "base/bitmap.h"
#include "base/search.h"
#include "plan/emit/emitter.h"

static bool is_selected(const struct plan_request *r, uint32_t function) {
    return !r->selected || bitmap_test(r->selected, function);
}

bool request_has_traps(const struct plan_request *r, uint32_t function) {
    return !r->without_traps || !bitmap_test(r->without_traps, function);
}

bool request_traces(const struct emitter *e, uint32_t function) {
    enum tier tier = e->plan->functions.at[function].entry;
    return tier != TIER_NONE && is_selected(e->request, function) &&
           (tier != TIER_TRAP || request_has_traps(e->request, function));
}

/* True if only calls of FUNCTION from the request's caller count. */
static bool is_filtered(const struct plan_request *r, uint32_t function) {
    return r->filtered && bitmap_test(r->filtered, function);
}

bool request_slices(const struct emitter *e, uint32_t function) {
    const uint8_t *sliced = e->request->sliced;
    return sliced && bitmap_test(sliced, function);
}

static bool is_before(const struct plan_capture *c, uint32_t function, uint8_t event) {
    return c->function < function || (c->function == function && c->kind < event);
}

const struct plan_capture *request_capture(const struct emitter *e, uint32_t owner, uint8_t event) {
    const struct plan_request *r = e->request;
    const size_t i = r->capture_count
                         ? SEARCH(k, r->capture_count, is_before(&r->captures[k], owner, event))
                         : 0;
    const bool has = i < r->capture_count && r->captures[i].function == owner &&
                     (uint8_t)r->captures[i].kind == event && r->captures[i].bytes;
    return has ? &r->captures[i] : NULL;
}

static const struct predicate *predicate_of(const struct emitter *e, uint32_t function) {
    const struct plan_capture *c = request_capture(e, function, EVENT_ENTRY);
    return c ? c->predicate : NULL;
}

bool request_judges_exit(const struct emitter *e, uint32_t function) {
    return e->judged[e->plan->groups.at[function]];
}

const struct predicate *request_judge(const struct emitter *e, uint32_t function) {
    if (!request_judges_exit(e, function) || !request_traces(e, function))
        return NULL;
    const struct predicate *p = predicate_of(e, function);
    return p ? p : judge_always(e->plan->arch->sp_register);
}

static bool is_carried(const struct emitter *e, uint32_t function) {
    return bitmap_test(e->carried, function);
}

const struct plan_probe *request_probe(const struct emitter *e, const struct step *s) {
    const struct plan_request *r = e->request;
    if (!s->probe || !r->probe_count)
        return NULL;
    const size_t i = SEARCH(k, r->probe_count, r->probes[k].at < s->insn.addr);
    return i < r->probe_count && r->probes[i].at == s->insn.addr ? &r->probes[i] : NULL;
}

uint32_t event_owner(const struct emitter *e, uint32_t function, uint8_t event) {
    uint32_t owner =
        request_traces(e, function) ? function : e->first_traced[e->plan->groups.at[function]];
    bool forced = event == EVENT_CONTROL ? e->request->controls : is_carried(e, function);
    return owner == UINT32_MAX && forced ? function : owner;
}

uint8_t capture_variant(const struct emitter *e, const struct plan_capture *c) {
    const struct arch *arch = e->plan->arch;
    return arch->stub_capture_variant ? arch->stub_capture_variant(c->capture, e->request->overflow)
                                      : STUB_CAPTURE;
}

/* A return in shared code ends calls of each function: it is filtered only if all of them are. */
uint8_t event_variant(const struct emitter *e, uint8_t variant, uint32_t owner, uint8_t event) {
    bool shared = event != EVENT_ENTRY && e->unfiltered[e->plan->groups.at[owner]];
    bool filtered = is_filtered(e->request, owner) || is_carried(e, owner);
    const struct plan_capture *capture = request_capture(e, owner, event);
    if (capture)
        variant |= capture_variant(e, capture);
    return variant | (event != EVENT_CONTROL && filtered && !shared ? STUB_CALLER : 0);
}

uint32_t exit_owner(const struct emitter *e, const struct step *s) {
    uint32_t owner = s->exit ? event_owner(e, s->function, s->event) : UINT32_MAX;
    bool goes_on = owner != UINT32_MAX && event_variant(e, 0, owner, s->event) &&
                   carried_on(e->plan, e->carried, s);
    return goes_on ? UINT32_MAX : owner;
}

void request_resolve(struct emitter *e) {
    const struct plan *plan = e->plan;
    e->behind_entry = mem_alloc(plan->functions.count * sizeof *e->behind_entry + 1);
    e->first_traced = mem_alloc(plan->group_count * sizeof *e->first_traced + 1);
    e->carried = carried_find(plan, e->request);
    e->judged = mem_alloc(plan->group_count * sizeof *e->judged + 1);
    e->unfiltered = mem_alloc(plan->group_count * sizeof *e->unfiltered + 1);
    memset(e->first_traced, 0xff, plan->group_count * sizeof *e->first_traced);
    for (uint32_t i = (uint32_t)plan->functions.count; i-- > 0;) {
        if (!request_traces(e, i))
            continue;
        e->first_traced[plan->groups.at[i]] = i;
        e->unfiltered[plan->groups.at[i]] |= !is_filtered(e->request, i);
        e->judged[plan->groups.at[i]] |= predicate_of(e, i) != NULL;
    }
    if (e->request->capture_count)
        carried_join(plan, e->carried, e->judged);
}
