/*
 * The list of functions as users see it: every entered range, whether it can
 * be traced or not, and function symbols that no unwind range begins at. Parts
 * of functions (.cold) and the linker's stubs are not in it.
 */
#include <string.h>

#include "plan/internal.h"
#include "plan/code/names.h"

static enum refusal refusal_of(const struct analysis *a, uint32_t i, const struct names *names) {
    const struct func *f = &a->funcs[i];
    if (a->module->text_relocations)
        return REFUSED_TEXT_RELOCATIONS;
    if (f->range && f->range->signal_frame)
        return REFUSED_SIGNAL_FRAME;
    if (names->special)
        return names->special;
    if (!f->entry_depth || group_root(a, i)->pops || f->start == a->module->entry)
        return REFUSED_OWN_ABI;
    if (group_root(a, i)->bad)
        return REFUSED_UNDECODABLE;
    if (group_root(a, i)->loose)
        return REFUSED_LOOSE;
    if (group_root(a, i)->unproven)
        return REFUSED_DEPTH;
    return f->falls_through ? REFUSED_FALL_THROUGH : REFUSED_NOT;
}

void catalog_refusals(const struct analysis *a, uint8_t *refused) {
    struct arena *arena = arena_new();
    size_t symbol = 0;
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct names names = names_at(a->module, a->funcs[i].start, &symbol, arena);
        refused[i] = (uint8_t)refusal_of(a, i, &names);
    }
    arena_free(arena);
}

/* Is the range something that users call a function? */
static bool is_listed(const struct func *f) {
    bool shaped = f->entry || (f->range && f->range->signal_frame) || (!f->entry_depth && f->name);
    return shaped && !f->plt && !f->cold;
}

static uint32_t add(struct plan *plan, vaddr_t addr, uint64_t size, const struct names *names) {
    struct plan_function f = {
        .addr = addr, .size = size, .name = names->name, .aliases = names->aliases};
    ARRAY_PUSH(&plan->functions, f);
    ARRAY_PUSH(&plan->groups, UINT32_MAX);
    return (uint32_t)(plan->functions.count - 1);
}

/* Unwinders look for the range that holds the byte before a return address; so that of a signal
 * frame, which nothing has called, begins one byte before its code. */
static bool names_range(const struct func *f, vaddr_t addr) {
    return addr == f->start || (f->range && f->range->signal_frame && addr == f->start + 1);
}

/* A function symbol, other than of a range. */
static bool stands_alone(const struct analysis *a, const struct symbol *s) {
    const struct section *section = text_section_at(a, s->addr);
    bool function = s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
    if (!function || !section || section->plt || special_is_part(s->name))
        return false;
    uint32_t i = func_at(a, s->addr);
    return i == NO_FUNC || !names_range(&a->funcs[i], s->addr);
}

/* Adds symbols[*NEXT …] that stand alone before LIMIT. */
static void add_symbols(struct plan *plan, const struct analysis *a, size_t *next, vaddr_t limit) {
    const struct module *m = a->module;
    while (*next < m->symbol_count && m->symbols[*next].addr < limit) {
        const struct symbol *s = &m->symbols[*next];
        if (!stands_alone(a, s)) {
            ++*next;
            continue;
        }
        struct names names = names_at(m, s->addr, next, plan->arena);
        uint32_t i = add(plan, s->addr, names.size, &names);
        plan->functions.at[i].refused = names.special         ? names.special
                                        : m->text_relocations ? REFUSED_TEXT_RELOCATIONS
                                                              : REFUSED_NO_CFI;
    }
}

static void add_range(struct plan *plan, struct analysis *a, uint32_t i, enum refusal refused,
                      size_t *next) {
    struct func *f = &a->funcs[i];
    struct names names = names_at(a->module, f->start, next, plan->arena);
    if (!names.name && names_range(f, f->start + 1))
        names = names_at(a->module, f->start + 1, next, plan->arena);
    f->number = add(plan, f->start, f->end - f->start, &names);
    struct plan_function *p = &plan->functions.at[f->number];
    p->refused = refused;
    p->entry = refused ? TIER_NONE : (enum tier)f->tier;
    p->trap = f->trap;
}

/* Numbers groups, and gives parts of functions the number of their group's first function. */
static void number_groups(struct plan *plan, struct analysis *a) {
    uint32_t *first = mem_alloc((a->func_count + 1) * sizeof *first);
    memset(first, 0xff, a->func_count * sizeof *first);
    for (uint32_t i = 0; i < a->func_count; i++) {
        uint32_t root = group_of(a, i), number = a->funcs[i].number;
        if (number == NO_FUNC)
            continue;
        if (first[root] == NO_FUNC) {
            first[root] = number;
            plan->groups.at[number] = plan->group_count++;
        } else {
            plan->groups.at[number] = plan->groups.at[first[root]];
        }
    }
    for (uint32_t i = 0; i < a->func_count; i++) {
        struct func *f = &a->funcs[i];
        if (f->number != NO_FUNC)
            continue;
        f->number = first[group_of(a, i)];
        if (f->number != NO_FUNC)
            ARRAY_PUSH(&plan->parts, ((struct part){f->start, f->end, f->number}));
    }
    for (size_t i = 0; i < plan->groups.count; i++) {
        if (plan->groups.at[i] == UINT32_MAX)
            plan->groups.at[i] = plan->group_count++;
    }
    free(first);
}

static void add_exits(struct plan *plan, const struct analysis *a) {
    for (size_t i = 0; i < a->exits.count; i++) {
        const struct exit_site *x = &a->exits.at[i];
        struct function_exit e = {.at = x->addr,
                                  .function = a->funcs[x->func].number,
                                  .event = x->event,
                                  .tier = x->tier,
                                  .refused = x->refused,
                                  .loops = x->loops,
                                  .trap = x->trap};
        if (e.function != NO_FUNC && e.event != EVENT_CONTROL)
            ARRAY_PUSH(&plan->exits, e);
    }
}

void catalog_count_exits(struct plan *plan) {
    AUTO_FREE bool *missed = mem_alloc(plan->group_count * sizeof *missed + 1);
    AUTO_FREE bool *entered = mem_alloc(plan->group_count * sizeof *entered + 1);
    for (size_t i = 0; i < plan->functions.count; i++) {
        struct plan_function *f = &plan->functions.at[i];
        entered[plan->groups.at[i]] |= f->entry != TIER_NONE;
        memset(f->exits, 0, sizeof f->exits);
    }
    for (size_t i = 0; i < plan->exits.count; i++) {
        struct function_exit *x = &plan->exits.at[i];
        uint32_t group = plan->groups.at[x->function];
        x->inferred = entered[group] && x->tier == TIER_NONE;
        missed[group] |= x->inferred;
        plan->functions.at[x->function].exits[x->tier] += entered[group];
    }
    for (size_t i = 0; i < plan->functions.count; i++)
        plan->functions.at[i].exact = !missed[plan->groups.at[i]];
}

void catalog_build(struct plan *plan, struct analysis *a, const uint8_t *refused) {
    size_t symbol = 0, alone = 0;
    for (uint32_t i = 0; i < a->func_count; i++) {
        a->funcs[i].number = NO_FUNC;
        add_symbols(plan, a, &alone, a->funcs[i].start);
        if (is_listed(&a->funcs[i]))
            add_range(plan, a, i, refused[i], &symbol);
    }
    add_symbols(plan, a, &alone, UINT64_MAX);
    number_groups(plan, a);
    add_exits(plan, a);
    catalog_count_exits(plan);
}
