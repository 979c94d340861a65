/*
 * Names with their scopes. DWARF's entries know no parents. So the scopes of a unit are listed once
 * by the bytes that they span, and those around an entry are its parents.
 */
#include <string.h>

#include "base/search.h"
#include "base/spelling.h"
#include "types/dwarf_reader.h"

/* ---- scopes ---- */

static bool is_scope(int tag) {
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
    bool scope = is_scope(tag);
    if ((!scope && tag != DW_TAG_subprogram && tag != DW_TAG_lexical_block) ||
        dwarf_haschildren(die) != 1)
        return;
    struct around inner = {scope ? unit->scopes.count : around.scope, end, around.depth + 1};
    if (scope)
        ARRAY_PUSH(&unit->scopes, ((struct dwarf_scope){die->addr, end, around.scope, *die}));
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

static struct dwarf_unit *unit_with_scopes(struct debug_types *d, Dwarf_Die *die) {
    struct dwarf_unit *unit = dwarf_unit_of(d, die);
    Dwarf_Die top;
    if (!unit->has_scopes && dwarf_diecu(die, &top, NULL, NULL))
        add_scopes(unit, &top, (struct around){NO_SCOPE, (const uint8_t *)UINTPTR_MAX, 0});
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

static const char *name_of(Dwarf_Die *die) {
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
        place = unit->scopes.at[scope].die;
        const char *own = name_of(&place);
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
    char *name = mem_strdup(name_of(die));
    if (!*name || language == SOURCE_C || language == SOURCE_GO ||
        dwarf_tag(die) == DW_TAG_base_type)
        return name;
    name = qualify(d, die, name);
    char *folded = language == SOURCE_CXX ? spelling_fold(name) : NULL;
    if (folded)
        free(name);
    return folded ? folded : name;
}

/* ---- definitions ---- */

/* Of what stands before template arguments, which have several spellings. */
static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261; /* FNV-1a */
    for (; *name && *name != '<'; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619;
    return hash;
}

static bool defines_type(Dwarf_Die *die, int tag) {
    switch (tag) {
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return !dwarf_hasattr(die, DW_AT_declaration);
    default:
        return tag == DW_TAG_typedef || tag == DW_TAG_base_type;
    }
}

static void add_definitions(struct debug_types *d, Dwarf_Die *die, unsigned depth) {
    Dwarf_Die child;
    if (depth == DWARF_DEEPEST || dwarf_child(die, &child) != 0)
        return;
    do {
        int tag = dwarf_tag(&child);
        const char *name = defines_type(&child, tag) ? name_of(&child) : "";
        if (*name)
            ARRAY_PUSH(&d->definitions, ((struct dwarf_definition){hash_of(name), child}));
        if (is_scope(tag) && tag != DW_TAG_enumeration_type)
            add_definitions(d, &child, depth + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
}

/* In order of the file for equal hashes: the sort is made stable by the entries' order. */
static int compare_definitions(const void *a, const void *b) {
    const struct dwarf_definition *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->die.addr > y->die.addr) - (x->die.addr < y->die.addr);
}

static void add_units(struct debug_types *d, Dwarf *dwarf) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, whole;
    while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        dwarf_whole_unit(&die, &whole);
        add_definitions(d, &whole, 0);
    }
}

static void read_definitions(struct debug_types *d) {
    d->has_definitions = true;
    add_units(d, d->file.dwarf);
    if (d->alt.dwarf)
        add_units(d, d->alt.dwarf);
    if (d->definitions.count)
        qsort(d->definitions.at, d->definitions.count, sizeof *d->definitions.at,
              compare_definitions);
}

static bool same_kind(int tag, int other) {
    bool class_like = tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
    bool other_like = other == DW_TAG_class_type || other == DW_TAG_structure_type;
    return !tag || tag == other || (class_like && other_like);
}

/* The begin of the last part of NAME: behind the last "::" that is not within brackets. */
static const char *last_part(const char *name) {
    const char *last = name;
    for (const char *p = name; *p;) {
        if (strchr("(<[{", *p) && p != name && spelling_group_end(p) > p) {
            p = spelling_group_end(p);
            continue;
        }
        if (p[0] == ':' && p[1] == ':')
            last = p + 2;
        p++;
    }
    return last;
}

/* Entries whose own name may be the end of NAME. */
static type_id define_by(struct debug_types *d, const char *name, const char *last, int tag) {
    uint32_t hash = hash_of(last);
    size_t i = SEARCH(k, d->definitions.count, d->definitions.at[k].hash < hash);
    for (; i < d->definitions.count && d->definitions.at[i].hash == hash; i++) {
        Dwarf_Die die = d->definitions.at[i].die;
        if (!same_kind(tag, dwarf_tag(&die)))
            continue;
        enum source_language language = dwarf_language_of(&die, d->language);
        AUTO_FREE char *full = dwarf_full_name(d, &die, language);
        if (strcmp(full, name) == 0)
            return dwarf_type_id(d, &die, language);
    }
    return 0;
}

type_id dwarf_define(struct debug_types *d, const char *name, int tag) {
    if (!d->has_definitions)
        read_definitions(d);
    return *name ? define_by(d, name, last_part(name), tag) : 0;
}

/* ---- asked by name ---- */

type_id debug_types_find(struct debug_types *d, const char *name) {
    static const struct {
        const char *word;
        int tag;
    } words[] = {{"struct ", DW_TAG_structure_type},
                 {"class ", DW_TAG_class_type},
                 {"union ", DW_TAG_union_type},
                 {"enum ", DW_TAG_enumeration_type}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].word);
        if (strncmp(name, words[i].word, size) == 0)
            return dwarf_define(d, name + size, words[i].tag);
    }
    return dwarf_define(d, name, 0);
}

void debug_types_all(struct debug_types *d, bool (*see)(void *ctx, type_id id), void *ctx) {
    if (!d->has_definitions)
        read_definitions(d);
    for (size_t i = 0; i < d->definitions.count; i++) {
        Dwarf_Die die = d->definitions.at[i].die;
        type_id id = dwarf_type_id(d, &die, dwarf_language_of(&die, d->language));
        if (id && !see(ctx, id))
            return;
    }
}
