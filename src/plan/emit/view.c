/* Lists all windows and sites of a plan by address, for display and checks. */
#include "elf/sort.h"
#include "plan/emit/planned.h"
#include "plan/plan.h"

const char *place_name(enum plan_place_kind kind) {
    static const char *const names[] = {"entry", "return", "tail", "control", "loop"};
    return names[kind];
}

static enum plan_place_kind kind_of(uint8_t event, bool loops) {
    if (loops)
        return PLACE_LOOP;
    return event == EVENT_RETURN ? PLACE_RETURN : event == EVENT_TAIL ? PLACE_TAIL : PLACE_CONTROL;
}

static void add(struct plan_view *v, const struct site *s, vaddr_t at, enum plan_place_kind kind,
                uint32_t function) {
    struct plan_place place = {.at = at,
                               .kind = kind,
                               .tier = (enum tier)s->tier,
                               .function = function,
                               .window = (uint32_t)v->windows.count - 1};
    ARRAY_PUSH(&v->places, place);
}

static void add_site(struct plan_view *v, const struct plan *plan, const struct site *s) {
    const struct arch *arch = site_arch(plan, s);
    struct plan_window w = {.start = s->start,
                            .end = s->end,
                            .hole = s->hole,
                            .tier = (enum tier)s->tier,
                            .function = s->function};
    w.hole_bytes = !s->hole ? 0 : s->far ? arch->far_bytes : arch->jump_bytes;
    w.written = s->hole                                                 ? arch->hop_bytes
                : s->tier == TIER_PUN || s->tier == TIER_TRAP || s->far ? s->owned
                                                                        : arch->jump_bytes;
    ARRAY_PUSH(&v->windows, w);
    if (s->entry && (s->tier != TIER_TRAP || trap_permits_entry(plan, s->function)))
        add(v, s, s->start, PLACE_ENTRY, s->function);
    if (s->control)
        add(v, s, s->start, PLACE_CONTROL, s->function);
    for (uint32_t i = 0; i < s->step_count; i++) {
        const struct step *step = &plan->steps.at[s->first_step + i];
        if (step->exit)
            add(v, s, step->insn.addr, kind_of(step->event, step->loops), step->function);
    }
}

/* By address, then by kind. */
static void sort_places(struct plan_place *places, size_t count) {
    sort_by_address(places, count, sizeof *places);
    for (size_t i = 1; i < count; i++) {
        struct plan_place place = places[i];
        size_t at = i;
        for (; at && places[at - 1].at == place.at && places[at - 1].kind > place.kind; at--)
            places[at] = places[at - 1];
        places[at] = place;
    }
}

void plan_view_init(struct plan_view *view, const struct plan *plan) {
    *view = (struct plan_view){0};
    for (size_t i = 0; i < plan->sites.count; i++) {
        if (trap_permits_site(plan, &plan->sites.at[i]))
            add_site(view, plan, &plan->sites.at[i]);
    }
    for (size_t i = 0; i < plan->exits.count; i++) {
        const struct function_exit *x = &plan->exits.at[i];
        struct plan_place place = {.at = x->at,
                                   .kind = kind_of(x->event, x->loops),
                                   .refused = (enum refusal)x->refused,
                                   .function = x->function,
                                   .window = UINT32_MAX};
        if (x->inferred)
            ARRAY_PUSH(&view->places, place);
    }
    for (size_t i = 0; i < plan->functions.count; i++) {
        const struct plan_function *f = &plan->functions.at[i];
        struct plan_place place = {.at = f->addr,
                                   .kind = PLACE_ENTRY,
                                   .refused = f->refused,
                                   .function = (uint32_t)i,
                                   .window = UINT32_MAX};
        if (f->entry == TIER_NONE)
            ARRAY_PUSH(&view->places, place);
    }
    sort_places(view->places.at, view->places.count);
}

void plan_view_done(struct plan_view *view) {
    ARRAY_FREE(&view->windows);
    ARRAY_FREE(&view->places);
}
