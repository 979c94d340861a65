#include "select/trap_limit.h"

#include <time.h>

bool trap_limit_passed(const struct traced_module *e, uint32_t number) {
    return e->without_traps && e->without_traps[number / 8] >> (number % 8) & 1;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool trap_limit_count(const struct record_options *o, struct traced_module *e, uint32_t number) {
    enum { SECOND_NS = 1000000000 };
    size_t n = plan_function_count(e->plan);
    if (!e->trap_loads)
        e->trap_loads = mem_alloc(n * sizeof *e->trap_loads);
    struct trap_load *load = &e->trap_loads[number];
    load->all++;
    if (trap_limit_passed(e, number))
        return true; /* patches of this process are older than that */
    int64_t now = now_ns();
    if (now - load->since_ns >= SECOND_NS)
        *load = (struct trap_load){now, 0, load->all};
    if (++load->hits <= o->trap_limit)
        return false;
    if (!e->without_traps)
        e->without_traps = mem_alloc(n / 8 + 1);
    e->without_traps[number / 8] |= (uint8_t)(1u << number % 8);
    return true;
}

static void tell_function(const struct record_options *o, const struct traced_module *e,
                          uint32_t i) {
    const struct plan_function *f = plan_function(e->plan, i);
    AUTO_FREE char *name = plan_function_shown(f, e->module->name);
    bool only_ends = f->entry != TIER_TRAP && f->exits[TIER_TRAP];
    const char *loss =
        only_ends ? "the ends of its later calls are inferred" : "its later calls were not seen";
    AUTO_FREE char *text = mem_printf(
        "%s: its breakpoints were withdrawn, as they were hit more than %u times within a second "
        "(%ju in all): %s: --trap-limit allows more",
        name, o->trap_limit, e->trap_loads[i].all, loss);
    report_warn(&o->report, text);
}

void trap_limit_report(const struct record_options *o, const struct traced_module *m) {
    for (uint32_t i = 0; m->without_traps && i < plan_function_count(m->plan); i++)
        if (trap_limit_passed(m, i))
            tell_function(o, m, i);
}
