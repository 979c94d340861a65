/* Counts faults within a second; warns of functions that have lost reads. */
#include "select/read_limit.h"

#include "base/bitmap.h"
#include "base/clock.h"

enum { MOST_FAULTS = 100 }; /* within a second: less than a hundredth of a processor */

static bool has_passed(const struct traced_module *m, uint32_t number) {
    return m->without_reads && bitmap_test(m->without_reads, number);
}

bool read_limit_count(struct traced_module *m, uint32_t number) {
    if (!m->read_loads)
        m->read_loads = mem_alloc(plan_function_count(m->plan) * sizeof *m->read_loads);
    m->faulting += !m->read_loads[number].all;
    const bool often = function_load_count(&m->read_loads[number], MOST_FAULTS);
    return often || has_passed(m, number); /* passed: another read of it, or in another process */
}

void read_limit_withdrawn(struct traced_module *m, uint32_t number) {
    if (has_passed(m, number))
        return;
    if (!m->without_reads)
        m->without_reads = mem_alloc(plan_function_count(m->plan) / 8 + 1);
    bitmap_set(m->without_reads, number);
    m->faulting--;
}

void read_limit_report(const struct record_options *o, const struct traced_module *m) {
    for (uint32_t i = 0; m->without_reads && i < plan_function_count(m->plan); i++) {
        if (!has_passed(m, i))
            continue;
        AUTO_FREE char *name = plan_function_shown(plan_function(m->plan, i), m->module->name);
        AUTO_FREE char *text = mem_printf(
            "%s: reads of its values were withdrawn, as pointers led nowhere more than %u times "
            "within a second (%ju in all): these values are '?' from then on",
            name, MOST_FAULTS, m->read_loads[i].all);
        report_warn(&o->report, text);
    }
}
