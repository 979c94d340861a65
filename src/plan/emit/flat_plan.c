/*
 * Plans in flat form: a head with numbers, and the arrays as they are in memory. Names become
 * numbers of flat_symbols_write(); lists of aliases, numbers of their first alias + 1. Records are
 * copied member by member, so that no padding with old memory gets into a file.
 */
#include <errno.h>
#include <string.h>

#include "base/flat.h"
#include "base/search.h"
#include "elf/files.h"
#include "plan/emit/planned.h"

/* NOLINTBEGIN(performance-no-int-to-ptr): numbers take the place of pointers */

struct names {
    const struct module *module;
    const uint32_t *places; /* by symbol */
    bool unknown;           /* a name is no symbol's */
};

/* The number of NAME, a symbol at ADDR or one byte behind it. */
static uintptr_t place_of(struct names *n, vaddr_t addr, const char *name) {
    const struct module *m = n->module;
    size_t i = SEARCH(k, m->symbol_count, m->symbols[k].addr < addr);
    for (; i < m->symbol_count && m->symbols[i].addr <= addr + 1; i++)
        if (m->symbols[i].name == name)
            return n->places[i];
    n->unknown = true;
    return 0;
}

static uint64_t count_aliases(const struct plan *plan) {
    uint64_t count = 0;
    for (size_t i = 0; i < plan->functions.count; i++) {
        const char **alias = plan->functions.at[i].aliases;
        for (; alias && *alias; alias++)
            count++;
        count += plan->functions.at[i].aliases != NULL; /* the end of the list */
    }
    return count;
}

static void put_aliases(const struct plan *plan, struct flat_writer *w, struct names *names) {
    for (size_t i = 0; i < plan->functions.count; i++) {
        const struct plan_function *f = &plan->functions.at[i];
        for (const char **alias = f->aliases; alias; alias++) {
            uintptr_t place = *alias ? place_of(names, f->addr, *alias) : 0;
            flat_put(w, &place, sizeof place);
            if (!*alias)
                break;
        }
    }
    flat_align(w);
}

static void put_functions(const struct plan *plan, struct flat_writer *w, struct names *names) {
    uintptr_t aliases = 1;
    for (size_t i = 0; i < plan->functions.count; i++) {
        const struct plan_function *f = &plan->functions.at[i];
        struct plan_function flat;
        memset(&flat, 0, sizeof flat);
        flat.addr = f->addr;
        flat.size = f->size;
        flat.name = (const char *)(f->name ? place_of(names, f->addr, f->name) : 0);
        flat.aliases = (const char **)(f->aliases ? aliases : 0);
        flat.entry = f->entry;
        flat.refused = f->refused;
        memcpy(flat.exits, f->exits, sizeof flat.exits);
        flat.exact = f->exact;
        flat.trap = f->trap;
        flat_put(w, &flat, sizeof flat);
        for (const char **alias = f->aliases; alias && *alias; alias++)
            aliases++;
        aliases += f->aliases != NULL;
    }
    flat_align(w);
}

/* These records are made from zeroed memory (struct site, struct step, function_exit …). */
#define PUT(w, array)                                                                              \
    do {                                                                                           \
        flat_put((w), (array).at, (array).count * sizeof *(array).at);                             \
        flat_align(w);                                                                             \
    } while (0)

void plan_write_flat(const struct plan *plan, struct flat_writer *w, const uint32_t *places) {
    struct names names = {.module = plan->module, .places = places};
    struct flat_plan head;
    memset(&head, 0, sizeof head);
    head.aliases = count_aliases(plan);
    head.spans = plan->spans.count;
    head.functions = plan->functions.count;
    head.groups = plan->groups.count;
    head.parts = plan->parts.count;
    head.sleds = plan->sleds.count;
    head.sites = plan->sites.count;
    head.steps = plan->steps.count;
    head.exits = plan->exits.count;
    head.blocks = plan->blocks.count;
    head.go = plan->go;
    head.area_size = plan->area_size;
    head.lane_write = plan->lane_write;
    head.lane_open = plan->lane_open;
    head.group_count = plan->group_count;
    head.hook_room = plan->hook_room;
    head.slice_room = plan->slice_room;
    flat_put(w, &head, sizeof head);
    flat_align(w);
    put_aliases(plan, w, &names);
    PUT(w, plan->spans);
    put_functions(plan, w, &names);
    PUT(w, plan->groups);
    PUT(w, plan->parts);
    PUT(w, plan->sleds);
    PUT(w, plan->sites);
    PUT(w, plan->steps);
    PUT(w, plan->exits);
    PUT(w, plan->blocks);
    if (names.unknown && !w->failed)
        w->failed = -EINVAL;
}

/* ---- reading ---- */

#define TAKE(r, array, n)                                                                          \
    ((array).count = (size_t)(n), (array).at = flat_take((r), (n), sizeof *(array).at),            \
     (array).at || !(n))

/* Turns numbers into pointers. False: a number is impossible. */
static bool resolve(struct plan *plan, const char **aliases, uint64_t alias_count) {
    const struct module *m = plan->module;
    for (uint64_t i = 0; i < alias_count; i++)
        aliases[i] = flat_symbols_name(m, (uintptr_t)aliases[i]);
    if (alias_count && aliases[alias_count - 1])
        return false;
    for (size_t i = 0; i < plan->functions.count; i++) {
        struct plan_function *f = &plan->functions.at[i];
        f->name = flat_symbols_name(m, (uintptr_t)f->name);
        uint64_t first = (uintptr_t)f->aliases;
        if (first > alias_count)
            return false;
        f->aliases = first ? aliases + first - 1 : NULL;
    }
    return true;
}

static bool read_functions(struct plan *plan, const struct flat_plan *head, struct flat_reader *r) {
    plan->functions.at = flat_take_copy(r, head->functions, sizeof *plan->functions.at);
    plan->functions.count = plan->functions.at ? (size_t)head->functions : 0;
    return plan->functions.at || !head->functions;
}

static bool read_arrays(struct plan *plan, const struct flat_plan *head, struct flat_reader *r) {
    const char **aliases = flat_take_copy(r, head->aliases, sizeof *aliases);
    plan->aliases = aliases;
    return (aliases || !head->aliases) && TAKE(r, plan->spans, head->spans) &&
           read_functions(plan, head, r) && TAKE(r, plan->groups, head->groups) &&
           TAKE(r, plan->parts, head->parts) && TAKE(r, plan->sleds, head->sleds) &&
           TAKE(r, plan->sites, head->sites) && TAKE(r, plan->steps, head->steps) &&
           TAKE(r, plan->exits, head->exits) && TAKE(r, plan->blocks, head->blocks) &&
           resolve(plan, aliases, head->aliases);
}

bool plan_read_flat(const struct module *module, struct flat_reader *r, struct plan **ret) {
    const struct arch *arch = arch_for_machine(module->machine);
    struct flat_plan *head = flat_take(r, 1, sizeof *head);
    if (!arch || !head)
        return false;
    struct plan *plan = mem_alloc(sizeof *plan);
    *plan = (struct plan){.module = module,
                          .arch = arch,
                          .flat = true,
                          .go = head->go,
                          .area_size = (size_t)head->area_size,
                          .lane_write = head->lane_write,
                          .lane_open = head->lane_open,
                          .group_count = head->group_count,
                          .hook_room = head->hook_room,
                          .slice_room = head->slice_room};
    if (!read_arrays(plan, head, r)) {
        plan_free(plan);
        return false;
    }
    *ret = plan;
    return true;
}

/* NOLINTEND(performance-no-int-to-ptr) */
