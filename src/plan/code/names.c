/* Chooses the name of a function among the symbols at its address, and collects the aliases. */
#include "plan/code/names.h"

#include <string.h>

#include "plan/code/roles.h"

static bool is_function(const struct symbol *s) {
    return s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
}

/* An IFUNC symbol's code is its resolver, which may have a name of its own. */
static int type_rank(const struct symbol *s) {
    return s->type == SYMBOL_FUNCTION ? 2 : s->type == SYMBOL_IFUNC ? 1 : 0;
}

static size_t underscores(const char *name) { return strspn(name, "_"); }

/* Which of two names of one body people know better: a function's, an exported one, one with fewer
 * underscores, a shorter one. The order is total: symbols' order does not matter. */
static int compare_names(const void *x, const void *y) {
    const struct symbol *a = *(const struct symbol *const *)x,
                        *b = *(const struct symbol *const *)y;
    if (type_rank(a) != type_rank(b))
        return type_rank(b) - type_rank(a);
    if (a->global != b->global)
        return b->global - a->global;
    size_t ua = underscores(a->name), ub = underscores(b->name);
    if (ua != ub)
        return ua < ub ? -1 : 1;
    size_t la = strlen(a->name), lb = strlen(b->name);
    if (la != lb)
        return la < lb ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void fill(struct names *names, const struct symbol **found, size_t count,
                 struct arena *arena) {
    qsort(found, count, sizeof(*found), compare_names);
    names->name = found[0]->name;
    names->aliases = count > 1 ? arena_alloc(arena, count * sizeof(char *)) : NULL;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        enum refusal special = role_refusal(found[i]->name);
        names->special = special ? special : names->special;
        if (found[i]->size > names->size)
            names->size = found[i]->size;
        bool alias = i && is_function(found[i]) &&
                     strcmp(found[i]->name, found[i - 1]->name) != 0 &&
                     strcmp(found[i]->name, names->name) != 0;
        if (alias)
            names->aliases[n++] = found[i]->name;
    }
    if (!n)
        names->aliases = NULL;
}

struct names names_at(const struct module *m, vaddr_t addr, size_t *first, struct arena *arena) {
    enum { MAX_NAMES = 64 };
    const struct symbol *found[MAX_NAMES];
    struct names names = {0};
    size_t i = *first, count = 0;
    while (i < m->symbol_count && m->symbols[i].addr < addr)
        i++;
    for (; i < m->symbol_count && m->symbols[i].addr == addr; i++) {
        const struct symbol *s = &m->symbols[i];
        if (s->type != SYMBOL_OBJECT && s->name[0] && count < MAX_NAMES)
            found[count++] = s;
    }
    *first = i;
    if (count)
        fill(&names, found, count, arena);
    return names;
}
