/* Units: which has code where, and the functions of one. */
#include "base/search.h"
#include "types/dwarf_reader.h"

/* A linker that discards a function leaves its description, at 0 or 1. */
enum { DISCARDED = 1 };

static int compare_spans(const void *a, const void *b) {
    const struct span_unit *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

static void add_spans(struct debug_types *d, Dwarf_Die *unit) {
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0;)
        if (end > start && start > DISCARDED)
            ARRAY_PUSH(&d->spans, ((struct span_unit){start, end, dwarf_dieoffset(unit)}));
}

void dwarf_read_spans(struct debug_types *d) {
    enum { UNITS = 32 }; /* whose heads are looked at before their pages are let go of */
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    for (size_t n = 0; dwarf_get_units(d->file.dwarf, unit, &unit, NULL, &type, &die, NULL) == 0;
         n++) {
        if (n % UNITS == UNITS - 1)
            dwarf_let_go(&d->file);
        if (type == DW_UT_compile || type == DW_UT_skeleton) {
            add_spans(d, &die);
            d->language = d->language ? d->language : dwarf_language_of(&die, SOURCE_OTHER);
        }
    }
    if (d->spans.count)
        qsort(d->spans.at, d->spans.count, sizeof *d->spans.at, compare_spans);
}

bool dwarf_whole_unit(Dwarf_Die *unit, Dwarf_Die *ret) {
    Dwarf_Die die, split = {0};
    uint8_t type;
    *ret = *unit;
    if (dwarf_cu_info(unit->cu, NULL, &type, &die, &split, NULL, NULL, NULL) != 0)
        return false;
    if (type == DW_UT_skeleton && split.addr)
        *ret = split;
    return type != DW_UT_skeleton || split.addr;
}

static struct dwarf_unit *find_unit(struct debug_types *d, Dwarf_CU *cu) {
    for (size_t i = d->units.count; i-- > 0;)
        if (d->units.at[i]->cu == cu)
            return d->units.at[i];
    struct dwarf_unit *unit = mem_alloc(sizeof *unit);
    unit->cu = cu;
    ARRAY_PUSH(&d->units, unit);
    return unit;
}

struct dwarf_unit *dwarf_unit_of(struct debug_types *d, const Dwarf_Die *die) {
    if (!d->last_unit || d->last_unit->cu != die->cu)
        d->last_unit = find_unit(d, die->cu);
    return d->last_unit;
}

/* ---- functions ---- */

/* A function in several pieces, as GCC parts hot code from cold, begins where the first one does
 * (DWARF 5, 2.17 and 2.18); libdw does not know that. */
static bool entry_of(Dwarf_Die *die, Dwarf_Addr *ret) {
    Dwarf_Addr base, end;
    if (dwarf_entrypc(die, ret) == 0)
        return true;
    return dwarf_hasattr(die, DW_AT_ranges) && dwarf_ranges(die, 0, &base, ret, &end) > 0;
}

static void add_function(struct dwarf_unit *unit, Dwarf_Die *die) {
    Dwarf_Addr low_pc;
    if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
        return;
    if (entry_of(die, &low_pc) && low_pc > DISCARDED)
        ARRAY_PUSH(&unit->functions, ((struct dwarf_function){low_pc, *die}));
}

static bool is_scope(int tag, bool deep) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return true;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return deep;
    default:
        return false;
    }
}

static void add_functions(struct dwarf_unit *unit, Dwarf_Die *die, unsigned depth) {
    Dwarf_Die child;
    if (depth == DWARF_DEEPEST || dwarf_child(die, &child) != 0)
        return;
    do {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram)
            add_function(unit, &child);
        if (is_scope(tag, unit->deep))
            add_functions(unit, &child, depth + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
}

static int compare_functions(const void *a, const void *b) {
    const struct dwarf_function *x = a, *y = b;
    if (x->low_pc != y->low_pc)
        return x->low_pc < y->low_pc ? -1 : 1;
    return (x->die.addr > y->die.addr) - (x->die.addr < y->die.addr);
}

static bool find_in(struct dwarf_unit *unit, vaddr_t low_pc, Dwarf_Die *ret) {
    size_t above = SEARCH(k, unit->functions.count, unit->functions.at[k].low_pc < low_pc);
    if (above == unit->functions.count || unit->functions.at[above].low_pc != low_pc)
        return false;
    *ret = unit->functions.at[above].die;
    return true;
}

static void read_functions(struct dwarf_unit *unit, Dwarf_Die *whole, bool deep) {
    unit->functions.count = 0;
    unit->deep = deep;
    add_functions(unit, whole, 0);
    if (unit->functions.count)
        qsort(unit->functions.at, unit->functions.count, sizeof *unit->functions.at,
              compare_functions);
}

static bool find_in_unit(struct debug_types *d, Dwarf_Die *unit, vaddr_t low_pc, Dwarf_Die *ret) {
    Dwarf_Die whole;
    dwarf_whole_unit(unit, &whole);
    struct dwarf_unit *known = dwarf_unit_of(d, &whole);
    if (!known->functions.count && !known->deep)
        read_functions(known, &whole, false);
    if (find_in(known, low_pc, ret))
        return true;
    if (known->deep)
        return false;
    read_functions(known, &whole, true);
    return find_in(known, low_pc, ret);
}

/* One unit's code may lie within another's: the innermost first. */
bool dwarf_find_function(struct debug_types *d, vaddr_t low_pc, Dwarf_Die *ret) {
    enum { NESTED = 64 };
    size_t above = SEARCH(k, d->spans.count, d->spans.at[k].start <= low_pc);
    for (size_t i = above, looked = 0; i-- > 0 && looked < NESTED; looked++) {
        Dwarf_Die unit;
        if (d->spans.at[i].end > low_pc &&
            dwarf_offdie(d->file.dwarf, d->spans.at[i].unit, &unit) &&
            find_in_unit(d, &unit, low_pc, ret))
            return true;
    }
    return false;
}

void debug_types_functions(struct debug_types *d, bool (*see)(void *ctx, vaddr_t low_pc),
                           void *ctx) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, whole;
    uint8_t type;
    while (dwarf_get_units(d->file.dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        dwarf_whole_unit(&die, &whole);
        struct dwarf_unit *known = dwarf_unit_of(d, &whole);
        if (!known->deep)
            read_functions(known, &whole, true);
        for (size_t i = 0; i < known->functions.count; i++)
            if (!see(ctx, known->functions.at[i].low_pc))
                return;
        ARRAY_FREE(&known->functions); /* those of all units take gigabytes */
        known->deep = false;
        dwarf_let_go(&d->file);
    }
}

/* ---- variables ---- */

static bool is_defined_variable(Dwarf_Die *die) {
    return dwarf_tag(die) == DW_TAG_variable && !dwarf_hasattr(die, DW_AT_declaration) &&
           (dwarf_hasattr(die, DW_AT_location) || dwarf_hasattr(die, DW_AT_const_value));
}

/* False: SEE does not want more. */
static bool see_variables(struct debug_types *d, Dwarf_Die *unit,
                          bool (*see)(void *ctx, const char *name, type_id type), void *ctx) {
    Dwarf_Attribute found;
    Dwarf_Die child;
    for (int rc = dwarf_child(unit, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        if (!is_defined_variable(&child))
            continue;
        const char *name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &found));
        type_id type = dwarf_type_at(d, &child, DW_AT_type, dwarf_language_of(&child, d->language));
        if (name && *name && type && !see(ctx, name, type))
            return false;
    }
    return true;
}

void debug_types_variables(struct debug_types *d,
                           bool (*see)(void *ctx, const char *name, type_id type), void *ctx) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, whole;
    while (dwarf_get_units(d->file.dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        dwarf_whole_unit(&die, &whole);
        if (!see_variables(d, &whole, see, ctx))
            return;
        dwarf_let_go(&d->file);
    }
}

/* ---- languages ---- */

static enum source_language language_of(int lang) {
    switch (lang) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C17:
    case DW_LANG_ObjC:
        return SOURCE_C;
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_C_plus_plus_17:
    case DW_LANG_C_plus_plus_20:
    case DW_LANG_ObjC_plus_plus:
        return SOURCE_CXX;
    case DW_LANG_Rust:
        return SOURCE_RUST;
    case DW_LANG_Go:
        return SOURCE_GO;
    case DW_LANG_D:
        return SOURCE_D;
    default:
        return SOURCE_OTHER;
    }
}

enum source_language dwarf_language_of(const Dwarf_Die *die, enum source_language fallback) {
    Dwarf_Die unit;
    Dwarf_Die copy = *die;
    if (!dwarf_diecu(&copy, &unit, NULL, NULL))
        return fallback;
    int lang = dwarf_srclang(&unit);
    return lang > 0 ? language_of(lang) : fallback;
}
