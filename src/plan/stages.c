/*
 * The stages of planning, in order. Each stage takes the results of earlier stages and returns its
 * own result, which does not change afterwards. The header of a stage is its contract.
 */
#include <errno.h>

#include "plan/code/code.h"
#include "plan/depth/depth.h"
#include "plan/emit/planned.h"
#include "plan/plan.h"
#include "plan/stripped/stripped.h"
#include "plan/window/windows.h"

static bool is_stripped(const struct texts *texts) {
    return texts->arch->other && !texts->module->marks_complete;
}

static struct plan *plan_windows(const struct code *code, enum tier only) {
    struct depths depths = depths_find(code);
    struct groups groups = groups_find(&depths);
    struct exits exits = exits_find(&groups);
    struct controls controls = controls_find(code);
    struct arrivals arrivals = arrivals_find(&exits);
    struct windows windows = windows_choose(&exits, &controls, &arrivals, only);
    arrivals_done(&arrivals);
    struct plan *plan = planned_new(&windows);
    controls_done(&controls);
    windows_done(&windows);
    exits_done(&exits);
    groups_done(&groups);
    depths_done(&depths);
    return plan;
}

static struct plan *plan_texts(const struct texts *texts, enum tier only) {
    struct states states = is_stripped(texts) ? states_infer(texts) : states_by_symbols(texts);
    struct sleds sleds = sleds_find(&states);
    struct functions functions = functions_find(&states, &sleds);
    struct code code = code_read(&functions);
    struct plan *plan = plan_windows(&code, only);
    code_done(&code);
    functions_done(&functions);
    sleds_done(&sleds);
    states_done(&states);
    return plan;
}

int plan_new_with_tier(const struct module *module, enum tier only, struct plan **ret,
                       struct err *err) {
    const struct arch *arch = arch_for_machine(module->machine);
    struct texts texts;
    if (!arch)
        return err_set(err, ENOTSUP, "foreign-machine",
                       "%s: code for machine %u, which is not supported", module->name,
                       module->machine);
    int r = texts_open(module, arch, &texts, err);
    if (r)
        return r;
    *ret = plan_texts(&texts, only);
    texts_done(&texts);
    return 0;
}

int plan_new(const struct module *module, struct plan **ret, struct err *err) {
    return plan_new_with_tier(module, TIER_NONE, ret, err);
}
