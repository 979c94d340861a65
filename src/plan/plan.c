#include "plan/plan.h"

#include <errno.h>

#include "elf/demangle.h"
#include "plan/depth/depth.h"
#include "plan/internal.h"

static const char *const tiers[TIER_COUNT] = {"none", "pad", "jump", "hop", "pun", "trap"};

const char *tier_name(enum tier tier) { return tiers[tier]; }

uint64_t plan_reach(const struct plan *plan) {
    uint64_t reach = plan->arch->reach;
    for (size_t i = 0; i < plan->spans.count; i++) {
        const struct arch *arch = plan->spans.at[i].arch;
        reach = arch && arch->reach < reach ? arch->reach : reach;
    }
    return reach;
}

/* Trampolines take up to three times as much room as code. A program at a fixed address has most
 * room behind all that is its own. */
static bool is_large(const struct analysis *a) {
    const struct module *m = a->module;
    const struct arch *arch = a->arch, *other = arch->other;
    uint64_t reach = other && other->reach < arch->reach ? other->reach : arch->reach;
    uint64_t size = m->position_independent ? m->text_high - m->text_low : m->high - m->low;
    return arch->far_jump && size > reach / 4;
}

static void analyse(struct plan *plan, struct analysis *a) {
    a->large = is_large(a);
    states_find(a);
    sleds_find(a);
    functions_find(a);
    controls_find_twice(a);
    text_decode(a);
    literals_settle(a);
    sleds_lock(a);
    targets_note(a);
    transfers_resolve(a);
    depths_find(a);
    groups_join(a);
    tables_decode(a);
    targets_take(a);
    groups_find_entries(a);
    exits_find(a);
    targets_note_labels(a);
    controls_find(a);
    AUTO_FREE uint8_t *refused = mem_alloc(a->func_count + 1);
    catalog_refusals(a, refused);
    returns_note(a);
    windows_choose(a, refused);
    catalog_build(plan, a, refused);
    sites_build(plan, a);
    plan->takes_lane = text_takes_lane(a);
    go_stacks_find(plan);
}

/* Keeps which state code is in. */
static void keep_states(struct plan *plan, const struct analysis *a) {
    for (size_t i = 0; i < a->texts.count; i++) {
        const struct text *t = &a->texts.at[i];
        const vaddr_t end = t->start + t->size;
        for (vaddr_t at = t->start; t->states && at < end; at = text_state_end(t, at, end)) {
            const struct arch *arch = text_is_data(t, at) ? NULL : text_arch(a, t, at);
            ARRAY_PUSH(&plan->spans, ((struct span_of_code){at, arch}));
        }
    }
}

void analysis_done(struct analysis *a) {
    text_close(a);
    free(a->funcs);
    ARRAY_FREE(&a->starts);
    ARRAY_FREE(&a->jumps);
    ARRAY_FREE(&a->labels);
    ARRAY_FREE(&a->table_readers);
    ARRAY_FREE(&a->sleds);
    ARRAY_FREE(&a->rows);
    ARRAY_FREE(&a->frame_returns);
    ARRAY_FREE(&a->switches);
    ARRAY_FREE(&a->data_starts);
    ARRAY_FREE(&a->inner_ways);
    ARRAY_FREE(&a->literals);
    ARRAY_FREE(&a->odd_words);
    ARRAY_FREE(&a->transfers);
    ARRAY_FREE(&a->loads);
    ARRAY_FREE(&a->answers);
    ARRAY_FREE(&a->bases);
    ARRAY_FREE(&a->switch_words);
    ARRAY_FREE(&a->exits);
    ARRAY_FREE(&a->to_returns);
    ARRAY_FREE(&a->twice);
    ARRAY_FREE(&a->poppers);
    ARRAY_FREE(&a->controls);
    ARRAY_FREE(&a->windows);
}

int plan_new(const struct module *module, struct plan **ret, struct err *err) {
    return plan_new_by(module, TIER_NONE, ret, err);
}

int plan_new_by(const struct module *module, enum tier only, struct plan **ret, struct err *err) {
    const struct arch *arch = arch_for_machine(module->machine);
    if (!arch)
        return err_set(err, ENOTSUP, "foreign-machine",
                       "%s: code for machine %u, which is not supported", module->name,
                       module->machine);
    struct analysis a = {.module = module, .arch = arch, .only = only};
    int r = text_open(&a, err);
    if (!r) {
        struct plan *plan = mem_alloc(sizeof *plan);
        plan->module = module;
        plan->arch = arch;
        plan->arena = arena_new();
        analyse(plan, &a);
        keep_states(plan, &a);
        *ret = plan;
    }
    analysis_done(&a);
    return r;
}

void plan_free(struct plan *plan) {
    if (!plan)
        return;
    arena_free(plan->arena);
    ARRAY_FREE(&plan->spans);
    ARRAY_FREE(&plan->functions);
    ARRAY_FREE(&plan->groups);
    ARRAY_FREE(&plan->parts);
    ARRAY_FREE(&plan->sites);
    ARRAY_FREE(&plan->steps);
    ARRAY_FREE(&plan->exits);
    free(plan->named);
    free(plan->named_group);
    free(plan);
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
    size_t low = 0;
    for (size_t high = plan->spans.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (plan->spans.at[middle].start <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? plan->spans.at[low - 1].arch : plan->arch;
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

bool plan_takes_lane(const struct plan *plan) { return plan->takes_lane; }

bool plan_has_controls(const struct plan *plan) {
    for (size_t i = 0; i < plan->sites.count; i++)
        if (plan->sites.at[i].control)
            return true;
    for (size_t i = 0; i < plan->steps.count; i++)
        if (plan->steps.at[i].exit && plan->steps.at[i].event == EVENT_CONTROL)
            return true;
    return false;
}

uint32_t plan_index_at(const struct plan *plan, vaddr_t addr) {
    size_t low = 0, high = plan->functions.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (plan->functions.at[middle].addr < addr)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < plan->functions.count && plan->functions.at[low].addr == addr;
    return found ? (uint32_t)low : UINT32_MAX;
}

char *plan_function_shown(const struct plan_function *f, const char *module) {
    return f->name ? demangle(f->name) : mem_printf("%s+0x%jx", module, f->addr);
}
