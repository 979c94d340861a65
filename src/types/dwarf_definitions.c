/*
 * Definitions of types: a walk through all units, and a table of names. A file may have tens of
 * millions, and be larger than memory.
 */
#include <string.h>

#include "base/search.h"
#include "base/spelling.h"
#include "elf/sort.h"
#include "types/dwarf_reader.h"

/* ---- walk ---- */

struct walk {
    const struct dwarf_file *file;
    uintptr_t passed; /* pages of entries before it were let go of */
    bool (*see)(void *ctx, Dwarf_Die *die, const char *name); /* false: no more */
    void *ctx;
};

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

static void pass(struct walk *w, const Dwarf_Die *die) {
    enum { KEPT_BYTES = 8 << 20 };
    uintptr_t addr = (uintptr_t)die->addr;
    if (addr >= w->passed && addr - w->passed < KEPT_BYTES)
        return;
    dwarf_let_go(w->file);
    w->passed = addr;
}

/* Sees what DIE defines that has a name. False: no more is wanted. */
static bool walk_within(struct walk *w, Dwarf_Die *die, unsigned depth) {
    Dwarf_Die child;
    if (depth == DWARF_DEEPEST || dwarf_child(die, &child) != 0)
        return true;
    do {
        int tag = dwarf_tag(&child);
        const char *name = defines_type(&child, tag) ? dwarf_own_name(&child) : "";
        pass(w, &child);
        if (*name && !w->see(w->ctx, &child, name))
            return false;
        if (dwarf_is_scope(tag) && tag != DW_TAG_enumeration_type &&
            !walk_within(w, &child, depth + 1))
            return false;
    } while (dwarf_siblingof(&child, &child) == 0);
    return true;
}

static bool walk_units(struct walk *w) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, whole;
    while (dwarf_get_units(w->file->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        dwarf_whole_unit(&die, &whole);
        if (!walk_within(w, &whole, 0))
            return false;
    }
    return true;
}

/* Calls SEE for all definitions that have a name of their own, in the order of the file. */
static void walk_all(struct debug_types *d,
                     bool (*see)(void *ctx, Dwarf_Die *die, const char *name), void *ctx) {
    struct walk main = {.file = &d->file, .see = see, .ctx = ctx};
    struct walk alt = {.file = &d->alt, .see = see, .ctx = ctx};
    if (walk_units(&main) && d->alt.dwarf)
        walk_units(&alt);
}

/* ---- table ---- */

#define BASIC "basic_" /* begins names of templates, as basic_string, which have a shorter one */

enum { POSITION_BITS = 40 };
#define MOST_POSITIONS (UINT64_C(1) << POSITION_BITS)

/* The hash of NAME up to its template arguments, which have several spellings; only the highest
 * bits, as in the table. */
static uint64_t hash_of(const char *name) {
    uint32_t hash = 2166136261; /* FNV-1a */
    for (; *name && *name != '<'; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619;
    return (uint64_t)hash << 32 >> POSITION_BITS << POSITION_BITS;
}

/* The hash of the name by which spoor spells basic_NAME of std. */
static uint64_t hash_of_folded(const char *own) {
    static const char scope[] = "std::";
    if (strncmp(own, BASIC, sizeof BASIC - 1) != 0)
        return hash_of(own);
    AUTO_FREE char *whole = mem_printf("%s%s", scope, own);
    AUTO_FREE char *folded = spelling_fold(whole);
    return hash_of((folded ? folded : whole) + sizeof scope - 1);
}

static bool add_definition(void *ctx, Dwarf_Die *die, const char *name) {
    struct debug_types *d = ctx;
    const uint8_t *addr = die->addr;
    if (!d->defining.count || d->defining.at[d->defining.count - 1].cu != die->cu)
        ARRAY_PUSH(&d->defining, ((struct dwarf_defining){d->next_position, addr, die->cu}));
    const struct dwarf_defining *unit = &d->defining.at[d->defining.count - 1];
    if (addr < unit->addr)
        return true;
    uint64_t position = unit->position + (uint64_t)(addr - unit->addr);
    if (position >= MOST_POSITIONS)
        return false;
    if (position >= d->next_position)
        d->next_position = position + 1;
    uint64_t hash = hash_of(name), other = hash_of_folded(name);
    ARRAY_PUSH(&d->definitions, hash | position);
    if (other != hash)
        ARRAY_PUSH(&d->definitions, other | position);
    return true;
}

static void read_definitions(struct debug_types *d) {
    d->has_definitions = true;
    walk_all(d, add_definition, d);
    sort_words(d->definitions.at, d->definitions.count);
}

static Dwarf_Die definition_at(const struct debug_types *d, uint64_t position) {
    size_t above = SEARCH(k, d->defining.count, d->defining.at[k].position <= position);
    const struct dwarf_defining *unit = &d->defining.at[above - 1];
    return (Dwarf_Die){.addr = (void *)(unit->addr + (position - unit->position)), .cu = unit->cu};
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
    uint64_t hash = hash_of(last);
    size_t i = SEARCH(k, d->definitions.count, d->definitions.at[k] < hash);
    for (; i < d->definitions.count && d->definitions.at[i] - hash < MOST_POSITIONS; i++) {
        Dwarf_Die die = definition_at(d, d->definitions.at[i] - hash);
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

static const struct {
    const char *word;
    int tag;
} words[] = {{"struct ", DW_TAG_structure_type},
             {"class ", DW_TAG_class_type},
             {"union ", DW_TAG_union_type},
             {"enum ", DW_TAG_enumeration_type}};

/* NAME without a word of `words`, whose tag is in *RET_TAG; 0: it has none. */
static const char *without_word(const char *name, int *ret_tag) {
    *ret_tag = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].word);
        if (strncmp(name, words[i].word, size) != 0)
            continue;
        *ret_tag = words[i].tag;
        return name + size;
    }
    return name;
}

type_id debug_types_find(struct debug_types *d, const char *name) {
    int tag;
    name = without_word(name, &tag);
    return dwarf_define(d, name, tag);
}

/* ---- all ---- */

struct all {
    struct debug_types *d;
    const char *wanted, *bare; /* with and without the word; NULL: all are */
    bool (*see)(void *ctx, type_id id);
    bool (*see_name)(void *ctx, const char *name);
    void *ctx;
};

/* Whether a type with this OWN name may have WANTED as its whole name. WANTED has scopes before it,
 * other template arguments, and another name for basic_string. */
static bool may_be(const char *own, const char *wanted) {
    size_t stem = strcspn(own, "<"), size = strlen(wanted);
    if (strncmp(own, BASIC, sizeof BASIC - 1) == 0)
        return true;
    if (own[stem])
        return memmem(wanted, size, own, stem);
    return stem <= size && memcmp(wanted + size - stem, own, stem) == 0;
}

static bool is_wanted(const struct all *all, Dwarf_Die *die, const char *own,
                      enum source_language language) {
    if (!all->wanted)
        return true;
    if (!may_be(own, all->wanted))
        return false;
    AUTO_FREE char *full = dwarf_full_name(all->d, die, language);
    return strcmp(full, all->wanted) == 0 || strcmp(full, all->bare) == 0;
}

static bool see_type(void *ctx, Dwarf_Die *die, const char *own) {
    const struct all *all = ctx;
    enum source_language language = dwarf_language_of(die, all->d->language);
    if (!is_wanted(all, die, own, language))
        return true;
    type_id id = dwarf_type_id(all->d, die, language);
    return !id || all->see(all->ctx, id);
}

static bool see_name(void *ctx, Dwarf_Die *die, const char *own) {
    (void)own;
    const struct all *all = ctx;
    AUTO_FREE char *full = dwarf_full_name(all->d, die, dwarf_language_of(die, all->d->language));
    return all->see_name(all->ctx, full);
}

void debug_types_all(struct debug_types *d, const char *name, bool (*see)(void *ctx, type_id id),
                     void *ctx) {
    int tag;
    struct all all = {.d = d, .wanted = name, .see = see, .ctx = ctx};
    all.bare = name ? without_word(name, &tag) : NULL;
    walk_all(d, see_type, &all);
}

void debug_types_names(struct debug_types *d, bool (*see)(void *ctx, const char *name), void *ctx) {
    struct all all = {.d = d, .see_name = see, .ctx = ctx};
    walk_all(d, see_name, &all);
}
