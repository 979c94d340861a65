/*
 * Names with their scopes. DWARF's entries know no parents. So the scopes of a unit are listed once
 * by the bytes that they span, and those around an entry are its parents.
 */
#include <string.h>

#include "base/search.h"
#include "base/spelling.h"
#include "types/dwarf_reader.h"

/* ---- scopes ---- */

bool dwarf_is_scope(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_enumeration_type || tag == DW_TAG_interface_type;
}

struct around { /* the entry whose children are looked at */
    size_t scope;
    const uint8_t *end;
    unsigned depth;
};

static void add_scopes(struct dwarf_unit *unit, Dwarf_Die *die, struct around around);

static void add_scope(struct dwarf_unit *unit, Dwarf_Die *die, const uint8_t *end,
                      struct around around) {
    int tag = dwarf_tag(die);
    bool scope = dwarf_is_scope(tag);
    if ((!scope && tag != DW_TAG_subprogram && tag != DW_TAG_lexical_block) ||
        dwarf_haschildren(die) != 1)
        return;
    struct around inner = {scope ? unit->scopes.count : around.scope, end, around.depth + 1};
    if (scope)
        ARRAY_PUSH(&unit->scopes, ((struct dwarf_scope){die->addr, end, around.scope}));
    add_scopes(unit, die, inner);
}

static void add_scopes(struct dwarf_unit *unit, Dwarf_Die *die, struct around around) {
    Dwarf_Die child, next;
    if (around.depth == DWARF_DEEPEST || dwarf_child(die, &child) != 0)
        return;
    while (dwarf_siblingof(&child, &next) == 0) {
        add_scope(unit, &child, next.addr, around);
        child = next;
    }
    add_scope(unit, &child, around.end, around);
}

static void forget_scopes(struct debug_types *d) {
    for (size_t i = 0; i < d->units.count; i++) {
        ARRAY_FREE(&d->units.at[i]->scopes);
        d->units.at[i]->has_scopes = false;
    }
    d->scope_count = 0;
}

/* Scopes of all units might take more memory than there is. */
static struct dwarf_unit *unit_with_scopes(struct debug_types *d, Dwarf_Die *die) {
    enum { MOST_KEPT = 1 << 20 };
    struct dwarf_unit *unit = dwarf_unit_of(d, die);
    Dwarf_Die top;
    if (unit->has_scopes)
        return unit;
    if (d->scope_count > MOST_KEPT)
        forget_scopes(d);
    if (dwarf_diecu(die, &top, NULL, NULL))
        add_scopes(unit, &top, (struct around){NO_SCOPE, (const uint8_t *)UINTPTR_MAX, 0});
    d->scope_count += unit->scopes.count;
    unit->has_scopes = true;
    return unit;
}

/* The innermost scope around DIE. The last one that begins before it is that, or within that. */
static size_t scope_around(const struct dwarf_unit *unit, const Dwarf_Die *die) {
    const uint8_t *addr = die->addr;
    size_t above = SEARCH(k, unit->scopes.count, unit->scopes.at[k].start < addr);
    size_t scope = above ? above - 1 : NO_SCOPE;
    while (scope != NO_SCOPE && unit->scopes.at[scope].end <= addr)
        scope = unit->scopes.at[scope].parent;
    return scope;
}

/* ---- names ---- */

const char *dwarf_own_name(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
    if (name && *name)
        return name;
    return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "";
}

/* The entry that says where DIE belongs: a definition outside its class refers to it. */
static Dwarf_Die declaration_of(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    Dwarf_Die found;
    if (dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attribute), &found))
        return found;
    return *die;
}

/* The scope itself, if DIE only stands for one that is described in a type unit. */
static bool follow_signature(Dwarf_Die *die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_formref_die(dwarf_attr(die, DW_AT_signature, &attribute), &type))
        return false;
    *die = type;
    return true;
}

/* NAME with the names of the scopes around DIE. Frees NAME. */
static char *qualify(struct debug_types *d, Dwarf_Die *die, char *name) {
    Dwarf_Die place = declaration_of(die);
    for (unsigned depth = 0; depth < DWARF_DEEPEST; depth++) {
        struct dwarf_unit *unit = unit_with_scopes(d, &place);
        size_t scope = scope_around(unit, &place);
        if (scope == NO_SCOPE)
            break;
        place = (Dwarf_Die){.addr = (void *)unit->scopes.at[scope].start, .cu = unit->cu};
        const char *own = dwarf_own_name(&place);
        follow_signature(&place);
        place = declaration_of(&place);
        if (!*own)
            continue;
        char *longer = mem_printf("%s::%s", own, name);
        free(name);
        name = longer;
    }
    return name;
}

char *dwarf_full_name(struct debug_types *d, Dwarf_Die *die, enum source_language language) {
    char *name = mem_strdup(dwarf_own_name(die));
    if (!*name || language == SOURCE_C || language == SOURCE_GO ||
        dwarf_tag(die) == DW_TAG_base_type)
        return name;
    name = qualify(d, die, name);
    char *folded = language == SOURCE_CXX ? spelling_fold(name) : NULL;
    if (folded)
        free(name);
    return folded ? folded : name;
}
