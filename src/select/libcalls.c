/* Matches the imports of an executable with the symbols of libraries. */
#include "select/libcalls.h"

#include <string.h>

#include "base/bitmap.h"
#include "base/search.h"

struct libcalls {
    const char **names; /* sorted */
    size_t count;
    bool reaches_all;
};

static bool is_named(const struct libcalls *c, const char *name) {
    const size_t i = SEARCH(k, c->count, strcmp(c->names[k], name) < 0);
    return i < c->count && strcmp(c->names[i], name) == 0;
}

struct libcalls *libcalls_new(const struct module *program) {
    struct libcalls *c = mem_alloc(sizeof *c);
    c->names = module_undefined(program, &c->count);
    c->reaches_all = is_named(c, "dlsym") || is_named(c, "dlvsym");
    return c;
}

void libcalls_free(struct libcalls *c) {
    if (!c)
        return;
    free(c->names);
    free(c);
}

const char *const *libcalls_names(const struct libcalls *c, size_t *ret_count) {
    *ret_count = c->count;
    return c->names;
}

bool libcalls_reach_all(const struct libcalls *c) { return c->reaches_all; }

static bool is_called(const struct libcalls *c, const struct symbol *s) {
    bool function = s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
    return function && ((c->reaches_all && s->global) || is_named(c, s->name));
}

bool libcalls_defined_in(const struct libcalls *c, const struct module *library) {
    for (size_t i = 0; i < library->symbol_count; i++)
        if (is_called(c, &library->symbols[i]))
            return true;
    return false;
}

/* The search of one module. */
struct search {
    const struct libcalls *calls;
    struct selection *selection;
    struct traced_module *module;
    bool added; /* a function, or a name of one */
};

/* Notes the name SYMBOL of function I, unless the function has it alone and nobody imports it. */
static void note_called(struct search *s, size_t i, const struct symbol *symbol) {
    struct traced_module *m = s->module;
    const char *own = plan_function(m->plan, i)->name;
    struct called_name called = {(uint32_t)i, symbol->name, is_named(s->calls, symbol->name)};
    if (!called.imported && own && strcmp(own, symbol->name) == 0)
        return;
    for (size_t k = 0; k < m->called.count; k++)
        if (m->called.at[k].function == i && strcmp(m->called.at[k].name, symbol->name) == 0)
            return;
    ARRAY_PUSH(&m->called, called);
    s->added = true;
}

/* Selects function I, which may be called by the name of SYMBOL. */
static void choose(struct search *s, size_t i, const struct symbol *symbol) {
    struct traced_module *m = s->module;
    struct module_choice *choice = &m->choice;
    const struct plan_function *f = plan_function(m->plan, i);
    bool selected = bitmap_test(choice->selected, i);
    if (selected && is_named(s->calls, symbol->name))
        note_called(s, i, symbol);
    if (selected || !selection_takes_call(s->selection, m->module->name, f, symbol->name))
        return;
    if (f->entry == TIER_NONE) {
        if (is_named(s->calls, symbol->name))
            selection_note_refused(s->selection, symbol->name, f->refused);
        return;
    }
    bitmap_set(choice->selected, i);
    bitmap_set(choice->filtered, i);
    choice->selected_count++;
    s->selection->traceable++;
    s->added = true;
    note_called(s, i, symbol);
}

static void choose_implementations(struct search *s, const struct symbol *symbol) {
    const struct plan *plan = s->module->plan;
    size_t count = plan_function_count(plan);
    AUTO_FREE uint8_t *found = mem_alloc(count / 8 + 1);
    plan_implementations(plan, symbol->addr, found);
    for (size_t i = 0; i < count; i++)
        if (bitmap_test(found, i))
            choose(s, i, symbol);
}

/* Symbols and functions are both sorted by address. */
bool libcalls_select(const struct libcalls *c, struct selection *selection,
                     struct traced_module *m) {
    struct search s = {c, selection, m, false};
    const struct module *library = m->module;
    size_t f = 0, count = plan_function_count(m->plan);
    for (size_t i = 0; i < library->symbol_count; i++) {
        const struct symbol *symbol = &library->symbols[i];
        while (f < count && plan_function(m->plan, f)->addr < symbol->addr)
            f++;
        if (!is_called(c, symbol))
            continue;
        if (symbol->type == SYMBOL_IFUNC)
            choose_implementations(&s, symbol);
        else if (f < count && plan_function(m->plan, f)->addr == symbol->addr)
            choose(&s, f, symbol);
    }
    return s.added;
}
