/* See places.h: gives functions of chains one number each, and chains that look alike one chain. */
#include "analyze/places.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tree.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/demangle.h"

struct other { /* a function that names.h does not know */
    char *function, *module;
    const char *symbol; /* of the trace; NULL: none */
};

struct places {
    const struct trace_reader *reader;
    struct names *names;
    uint32_t *numbers;    /* by place */
    struct other *others; /* numbered from names_count() on */
    uint32_t other_count;
    uint8_t *shared;  /* by number: see places_is_shared() */
    uint32_t *chains; /* by chain: the first chain that is shown alike */
    uint32_t chain_count;
};

/* The function of M that begins at ADDRESS; m->function_count: none does. */
static uint32_t function_at(const struct trace_module *m, uint64_t address) {
    size_t i = SEARCH(k, m->function_count, m->functions[k].address < address);
    bool found = i < m->function_count && m->functions[i].address == address;
    return found ? (uint32_t)i : m->function_count;
}

/* PLACE's number in names.h; names_count(): it has none. */
static uint32_t find_traced(const struct places *p, const struct trace_place *place) {
    for (size_t i = 0; i < trace_reader_module_count(p->reader); i++) {
        const struct trace_module *m = trace_reader_module(p->reader, i);
        uint32_t function = function_at(m, place->address);
        if (function < m->function_count && m->name && strcmp(m->name, place->module) == 0)
            return names_index(p->names, m->first_id + function);
    }
    return names_count(p->names);
}

static char *readable(char *text) {
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return text;
}

/* PLACE's name, or else its module and address. */
static struct other describe(const struct trace_place *place) {
    const char *module = place->module && *place->module ? place->module : "<unknown>";
    bool named = place->function && *place->function;
    char *function =
        named ? demangle(place->function) : mem_printf("%s+0x%jx", module, place->address);
    return (struct other){readable(function), readable(mem_strdup(module)),
                          named ? place->function : NULL};
}

/* ---- places with one name ---- */

static int compare_shown(struct places *p, uint32_t a, uint32_t b) {
    int rc = strcmp(places_function(p, a), places_function(p, b));
    return rc ? rc : strcmp(places_module(p, a), places_module(p, b));
}

static int compare_places(const void *a, const void *b, void *ctx) {
    struct places *p = ctx;
    uint32_t x = p->numbers[*(const uint32_t *)a], y = p->numbers[*(const uint32_t *)b];
    int rc = compare_shown(p, x, y);
    return rc ? rc : (x > y) - (x < y);
}

static void join_places(struct places *p, uint32_t count) {
    AUTO_FREE uint32_t *order = mem_alloc((count + 1) * sizeof *order);
    p->shared = mem_alloc(places_count(p));
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, compare_places, p);
    for (uint32_t i = 1; i < count; i++) {
        uint32_t before = p->numbers[order[i - 1]], *number = &p->numbers[order[i]];
        if (compare_shown(p, before, *number) == 0)
            *number = before;
        else if (strcmp(places_function(p, before), places_function(p, *number)) == 0)
            p->shared[before] = p->shared[*number] = 1;
    }
}

static bool is_end(uint32_t chain) { return chain <= CHAIN_MISSED; }

/* A chain is a path of functions in a tree, from its outermost function inwards. Chains that are
 * shown alike have the same node. */
static void join_chains(struct places *p) {
    uint32_t count = p->chain_count = trace_reader_chain_count(p->reader);
    AUTO_FREE uint32_t *nodes = mem_alloc((count + 1) * sizeof *nodes);
    AUTO_FREE uint32_t *first = mem_alloc((count + 1) * sizeof *first); /* by node; 0: none yet */
    struct tree paths;
    tree_init(&paths);
    p->chains = mem_alloc((count + 1) * sizeof *p->chains);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_chain chain;
        if (trace_reader_chain(p->reader, i, &chain))
            nodes[i] = tree_child(&paths, nodes[chain.callers], p->numbers[chain.place]);
        else
            nodes[i] = tree_child(&paths, 0, places_count(p) + (is_end(i) ? i : CHAIN_LOST));
        if (!first[nodes[i]])
            first[nodes[i]] = i + 1;
        p->chains[i] = first[nodes[i]] - 1;
    }
    tree_done(&paths);
}

uint32_t places_chain(const struct places *p, uint32_t chain) {
    if (chain < p->chain_count)
        return p->chains[chain];
    return is_end(chain) ? chain : CHAIN_LOST;
}

bool places_is_shared(const struct places *p, uint32_t function) { return p->shared[function]; }

struct places *places_new(const struct trace_reader *r, struct names *names) {
    struct places *p = mem_alloc(sizeof *p);
    uint32_t count = trace_reader_place_count(r), known = names_count(names);
    p->reader = r;
    p->names = names;
    p->numbers = mem_alloc(count * sizeof *p->numbers);
    p->others = mem_alloc(count * sizeof *p->others);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_place *place = trace_reader_place(r, i);
        p->numbers[i] = find_traced(p, place);
        if (p->numbers[i] < known)
            continue;
        p->others[p->other_count] = describe(place);
        p->numbers[i] = known + p->other_count++;
    }
    join_places(p, count);
    join_chains(p);
    return p;
}

void places_free(struct places *p) {
    if (!p)
        return;
    for (uint32_t i = 0; i < p->other_count; i++) {
        free(p->others[i].function);
        free(p->others[i].module);
    }
    free(p->others);
    free(p->shared);
    free(p->chains);
    free(p->numbers);
    free(p);
}

uint32_t places_count(const struct places *p) { return names_count(p->names) + p->other_count; }

const char *places_function(struct places *p, uint32_t function) {
    uint32_t known = names_count(p->names);
    return function < known ? names_function(p->names, function)
                            : p->others[function - known].function;
}

const char *places_symbol(struct places *p, uint32_t function) {
    uint32_t known = names_count(p->names);
    return function < known ? names_symbol(p->names, function) : p->others[function - known].symbol;
}

const char *places_module(struct places *p, uint32_t function) {
    uint32_t known = names_count(p->names);
    return function < known ? names_module_name(p->names, names_module(p->names, function))
                            : p->others[function - known].module;
}

bool places_next(const struct places *p, uint32_t *chain, uint32_t *ret_function) {
    struct trace_chain next;
    if (!trace_reader_chain(p->reader, *chain, &next))
        return false;
    *chain = next.callers;
    *ret_function = p->numbers[next.place];
    return true;
}

const char *places_end(uint32_t chain) {
    static const char *const ends[] = {
        [CHAIN_NONE] = "none",       [CHAIN_WHOLE] = "whole", [CHAIN_CUT] = "cut",
        [CHAIN_LIMITED] = "limited", [CHAIN_LOST] = "lost",   [CHAIN_MISSED] = "missed"};
    return chain < sizeof ends / sizeof *ends ? ends[chain] : ends[CHAIN_LOST];
}
