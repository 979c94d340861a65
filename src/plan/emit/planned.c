/* Makes the plan from the stages' results, and answers simple questions about it. */
#include "plan/emit/planned.h"

#include "base/search.h"
#include "elf/demangle.h"
#include "plan/window/windows.h"

/* Fills plan->spans. */
static void keep_states(struct plan *plan, const struct states *states) {
    for (size_t i = 0; states->at && i < states->texts->count; i++) {
        const struct text *t = &states->texts->at[i];
        const vaddr_t end = text_end(t);
        for (vaddr_t at = t->start; at < end; at = state_end(states, t, at, end)) {
            bool data = state_is_data(states, t, at);
            uint8_t kind = plan_kind_of(plan, data ? NULL : state_arch(states, t, at));
            ARRAY_PUSH(&plan->spans, ((struct span_of_code){at, kind}));
        }
    }
}

static void keep_sleds(struct plan *plan, const struct sleds *sleds) {
    for (size_t i = 0; i < sleds->count; i++)
        ARRAY_PUSH(&plan->sleds, ((struct span){sleds->at[i].start, sleds->at[i].end}));
}

struct plan *planned_new(const struct windows *windows) {
    const struct code *code = windows->code;
    struct plan *plan = mem_alloc(sizeof *plan);
    plan->module = code->module;
    plan->arch = code->arch;
    plan->arena = arena_new();
    AUTO_FREE uint32_t *numbers = function_list_build(plan, windows);
    sites_build(plan, windows, numbers);
    plan->lane_write = windows->lane_write;
    plan->lane_open = windows->lane_open;
    go_stacks_find(plan);
    keep_states(plan, code->states);
    keep_sleds(plan, code->sleds);
    lookup_build(plan);
    return plan;
}

static void free_arrays(struct plan *plan) {
    arena_free(plan->arena);
    ARRAY_FREE(&plan->spans);
    ARRAY_FREE(&plan->functions);
    ARRAY_FREE(&plan->groups);
    ARRAY_FREE(&plan->parts);
    ARRAY_FREE(&plan->sleds);
    ARRAY_FREE(&plan->sites);
    ARRAY_FREE(&plan->steps);
    ARRAY_FREE(&plan->exits);
    ARRAY_FREE(&plan->blocks);
}

void plan_free(struct plan *plan) {
    if (!plan)
        return;
    if (plan->flat)
        ARRAY_FREE(&plan->functions);
    else
        free_arrays(plan);
    free(plan->aliases);
    free(plan->named);
    free(plan->named_group);
    free(plan);
}

uint64_t plan_reach(const struct plan *plan) {
    uint64_t reach = plan->arch->reach;
    for (size_t i = 0; i < plan->spans.count; i++) {
        const struct arch *arch = plan_arch_of(plan, plan->spans.at[i].kind);
        reach = arch && arch->reach < reach ? arch->reach : reach;
    }
    return reach;
}

size_t plan_function_count(const struct plan *plan) { return plan->functions.count; }

const struct plan_function *plan_function(const struct plan *plan, size_t index) {
    return &plan->functions.at[index];
}

size_t plan_area_size(const struct plan *plan) { return plan->area_size; }

size_t plan_slices_size(const struct plan *plan) {
    size_t entries = 0;
    for (size_t i = 0; i < plan->sites.count; i++)
        entries += plan->sites.at[i].entry;
    return entries * plan->slice_room;
}

const struct arch *plan_arch_at(const struct plan *plan, vaddr_t addr) {
    size_t low = SEARCH(i, plan->spans.count, plan->spans.at[i].start <= addr);
    return low ? plan_arch_of(plan, plan->spans.at[low - 1].kind) : plan->arch;
}

bool plan_decode(const struct plan *plan, vaddr_t addr, struct trail *trail, struct insn *ret,
                 struct insn_constants *constants) {
    const struct module *m = plan->module;
    const struct arch *arch = plan_arch_at(plan, addr);
    const struct segment *segment = module_segment_at(m, addr);
    const uint8_t *bytes = module_bytes(m, addr, 1);
    uint8_t step = arch ? arch->insn_bytes : STATE_BYTES;
    *ret = (struct insn){.addr = addr, .size = step, .kind = INSN_BAD};
    if (!arch || !segment || !bytes ||
        !arch->decode(bytes, segment->start + segment->file_size - addr, addr, ret, constants))
        return false;
    bool memory = ret->operand == OPERAND_PC_MEMORY;
    trail->literal = memory ? module_constant(m, ret->target, arch->word_bytes) : NULL;
    arch_complete(arch, trail, bytes, ret);
    return true;
}

bool plan_has_controls(const struct plan *plan) {
    for (size_t i = 0; i < plan->sites.count; i++)
        if (plan->sites.at[i].control)
            return true;
    for (size_t i = 0; i < plan->steps.count; i++)
        if (plan->steps.at[i].exit && plan->steps.at[i].event == EVENT_CONTROL)
            return true;
    return false;
}

enum tier plan_probe_tier(const struct plan *plan, vaddr_t addr) {
    const size_t i = SEARCH(k, plan->sites.count, plan->sites.at[k].start <= addr);
    const struct site *s = i ? &plan->sites.at[i - 1] : NULL;
    for (uint32_t k = 0; s && k < s->step_count; k++) {
        const struct step *step = &plan->steps.at[s->first_step + k];
        if (step->probe && step->insn.addr == addr && s->function < plan->functions.count)
            return (enum tier)s->tier;
    }
    return TIER_NONE;
}

uint32_t plan_index_at(const struct plan *plan, vaddr_t addr) {
    size_t low = SEARCH(i, plan->functions.count, plan->functions.at[i].addr < addr);
    bool found = low < plan->functions.count && plan->functions.at[low].addr == addr;
    return found ? (uint32_t)low : UINT32_MAX;
}

char *plan_function_shown(const struct plan_function *f, const char *module) {
    return f->name ? demangle(f->name) : mem_printf("%s+0x%jx", module, f->addr);
}
