/*
 * The list of functions as users see it: every entered range, traced or not, and function symbols
 * that begin no unwind range. Parts of functions (.cold) and the linker's stubs are not in it.
 */
#include <string.h>

#include "elf/sort.h"
#include "plan/code/names.h"
#include "plan/code/roles.h"
#include "plan/emit/planned.h"
#include "plan/window/windows.h"

/* True if users would call range I a function. */
static bool is_listed(const struct windows *ws, uint32_t i) {
    const struct func *f = &ws->code->funcs[i];
    bool shaped = ws->groups->by_func[i].entry || (f->range && f->range->signal_frame) ||
                  (!f->entry_depth && f->name);
    return shaped && !f->plt && !ws->groups->depths->by_func[i].cold;
}

static uint32_t add(struct plan *plan, vaddr_t addr, uint64_t size, const struct names *names) {
    struct plan_function f = {
        .addr = addr, .size = size, .name = names->name, .aliases = names->aliases};
    ARRAY_PUSH(&plan->functions, f);
    ARRAY_PUSH(&plan->groups, UINT32_MAX);
    return (uint32_t)(plan->functions.count - 1);
}

/* True if a symbol at ADDR names the range F. The range of a signal frame begins one byte before
 * its code: unwinders look up the byte before a return address, and no call stands there. */
static bool names_range(const struct func *f, vaddr_t addr) {
    return addr == f->start || (f->range && f->range->signal_frame && addr == f->start + 1);
}

/* True for a function symbol that names no range. */
static bool names_no_range(const struct code *code, const struct symbol *s) {
    const struct section *section = text_section_at(code->texts, s->addr);
    bool function = s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
    if (!function || !section || section->plt || role_is_part(s->name))
        return false;
    uint32_t i = code_func_at(code, s->addr);
    return i == NO_FUNC || !names_range(&code->funcs[i], s->addr);
}

/* Adds those of symbols[*NEXT …] below LIMIT that name no range. */
static void add_symbols(struct plan *plan, const struct code *code, size_t *next, vaddr_t limit) {
    const struct module *m = code->module;
    while (*next < m->symbol_count && m->symbols[*next].addr < limit) {
        const struct symbol *s = &m->symbols[*next];
        if (!names_no_range(code, s)) {
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

/* Adds range I. Returns its number as a function. */
static uint32_t add_range(struct plan *plan, const struct windows *ws, uint32_t i, size_t *next) {
    const struct func *f = &ws->code->funcs[i];
    const struct func_window *w = &ws->by_func[i];
    struct names names = names_at(plan->module, f->start, next, plan->arena);
    if (!names.name && names_range(f, f->start + 1))
        names = names_at(plan->module, f->start + 1, next, plan->arena);
    uint32_t number = add(plan, f->start, f->end - f->start, &names);
    struct plan_function *p = &plan->functions.at[number];
    p->refused = (enum refusal)w->refused;
    p->entry = w->refused ? TIER_NONE : (enum tier)w->tier;
    p->trap = w->trap;
    return number;
}

/* Numbers groups. Parts of functions get the number of their group's first function. */
static void number_groups(struct plan *plan, const struct groups *groups, uint32_t *numbers) {
    const struct code *code = groups->code;
    AUTO_FREE uint32_t *first = mem_alloc((code->func_count + 1) * sizeof *first);
    memset(first, 0xff, code->func_count * sizeof *first);
    for (uint32_t i = 0; i < code->func_count; i++) {
        uint32_t root = group_of(groups, i), number = numbers[i];
        if (number == NO_FUNC)
            continue;
        if (first[root] == NO_FUNC) {
            first[root] = number;
            plan->groups.at[number] = plan->group_count++;
        } else {
            plan->groups.at[number] = plan->groups.at[first[root]];
        }
    }
    for (uint32_t i = 0; i < code->func_count; i++) {
        const struct func *f = &code->funcs[i];
        if (numbers[i] != NO_FUNC)
            continue;
        numbers[i] = first[group_of(groups, i)];
        if (numbers[i] != NO_FUNC)
            ARRAY_PUSH(&plan->parts, ((struct part){f->start, f->end, numbers[i]}));
    }
    for (size_t i = 0; i < plan->groups.count; i++) {
        if (plan->groups.at[i] == UINT32_MAX)
            plan->groups.at[i] = plan->group_count++;
    }
}

static void add_exits(struct plan *plan, const struct windows *ws, const uint32_t *numbers) {
    for (size_t i = 0; i < ws->exits->count; i++) {
        const struct exit_site *x = &ws->exits->at[i];
        const struct exit_window *w = &ws->by_exit[i];
        struct function_exit e = {.at = x->addr,
                                  .function = numbers[x->func],
                                  .event = x->event,
                                  .tier = w->tier,
                                  .refused = w->refused,
                                  .loops = x->loops,
                                  .trap = w->trap};
        if (e.function != NO_FUNC && e.event != EVENT_CONTROL)
            ARRAY_PUSH(&plan->exits, e);
    }
    for (size_t i = 0; i < ws->exits->open_ends.count; i++) {
        const struct open_end *o = &ws->exits->open_ends.at[i];
        struct function_exit e = {.at = o->addr,
                                  .function = numbers[o->func],
                                  .event = EVENT_TAIL,
                                  .refused = REFUSED_UNSEEN,
                                  .open = true};
        if (e.function != NO_FUNC)
            ARRAY_PUSH(&plan->exits, e);
    }
    sort_by_address(plan->exits.at, plan->exits.count, sizeof *plan->exits.at);
}

void function_list_count_exits(struct plan *plan) {
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

uint32_t *function_list_build(struct plan *plan, const struct windows *windows) {
    const struct code *code = windows->code;
    uint32_t *numbers = mem_alloc((code->func_count + 1) * sizeof *numbers);
    size_t symbol = 0, alone = 0;
    for (uint32_t i = 0; i < code->func_count; i++) {
        add_symbols(plan, code, &alone, code->funcs[i].start);
        numbers[i] = is_listed(windows, i) ? add_range(plan, windows, i, &symbol) : NO_FUNC;
    }
    add_symbols(plan, code, &alone, UINT64_MAX);
    number_groups(plan, windows->groups, numbers);
    add_exits(plan, windows, numbers);
    function_list_count_exits(plan);
    return numbers;
}
