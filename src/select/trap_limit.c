/* Counts hits within a second; warns of functions that have lost their breakpoints. */
#include "select/trap_limit.h"

#include "base/bitmap.h"
#include "base/clock.h"

bool trap_limit_passed(const struct traced_module *m, uint32_t number) {
    return m->without_traps && bitmap_test(m->without_traps, number);
}

bool function_load_count(struct function_load *load, uint32_t most) {
    enum { SECOND_NS = 1000000000 };
    const int64_t now = (int64_t)clock_monotonic_ns();
    if (now - load->since_ns >= SECOND_NS)
        *load = (struct function_load){now, 0, load->all};
    load->all++;
    return ++load->hits > most;
}

bool trap_limit_count(const struct record_options *o, struct traced_module *m, uint32_t number) {
    size_t n = plan_function_count(m->plan);
    if (!m->trap_loads)
        m->trap_loads = mem_alloc(n * sizeof *m->trap_loads);
    const bool often = function_load_count(&m->trap_loads[number], o->trap_limit);
    if (trap_limit_passed(m, number))
        return true; /* the breakpoint is still in this process */
    if (!often)
        return false;
    if (!m->without_traps)
        m->without_traps = mem_alloc(n / 8 + 1);
    bitmap_set(m->without_traps, number);
    return true;
}

static void report_function(const struct record_options *o, const struct traced_module *m,
                            uint32_t i) {
    const struct plan_function *f = plan_function(m->plan, i);
    AUTO_FREE char *name = plan_function_shown(f, m->module->name);
    bool only_ends = f->entry != TIER_TRAP && f->exits[TIER_TRAP];
    const char *loss =
        only_ends ? "the ends of its later calls are inferred" : "its later calls were not seen";
    AUTO_FREE char *text = mem_printf(
        "%s: its breakpoints were withdrawn, as they were hit more than %u times within a second "
        "(%ju in all): %s: --trap-limit allows more",
        name, o->trap_limit, m->trap_loads[i].all, loss);
    report_warn(&o->report, text);
}

void trap_limit_report(const struct record_options *o, const struct traced_module *m) {
    for (uint32_t i = 0; m->without_traps && i < plan_function_count(m->plan); i++)
        if (trap_limit_passed(m, i))
            report_function(o, m, i);
}
