#include "analyze/places.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "elf/demangle.h"

struct other { /* a function that is not among the names */
    char *function, *module;
};

struct places {
    const struct trace_reader *reader;
    struct names *names;
    uint32_t *numbers;    /* by place */
    struct other *others; /* from names_count() on */
    uint32_t other_count;
};

/* The function of M at ADDRESS; m->function_count: none begins there. */
static uint32_t function_at(const struct trace_module *m, uint64_t address) {
    size_t i = SEARCH(k, m->function_count, m->functions[k].address < address);
    bool found = i < m->function_count && m->functions[i].address == address;
    return found ? (uint32_t)i : m->function_count;
}

/* Its number among the names; names_count(): it has none. */
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

/* A name, else where it is. */
static struct other describe(const struct trace_place *place) {
    const char *module = place->module && *place->module ? place->module : "<unknown>";
    bool named = place->function && *place->function;
    char *function =
        named ? demangle(place->function) : mem_printf("%s+0x%jx", module, place->address);
    return (struct other){readable(function), readable(mem_strdup(module))};
}

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
    free(p->numbers);
    free(p);
}

uint32_t places_count(const struct places *p) { return names_count(p->names) + p->other_count; }

const char *places_function(struct places *p, uint32_t function) {
    uint32_t known = names_count(p->names);
    return function < known ? names_function(p->names, function)
                            : p->others[function - known].function;
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
