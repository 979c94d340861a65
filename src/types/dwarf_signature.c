/*
 * Signatures. A function's entry may be a concrete instance: then names, types and the order of the
 * parameters are those of its abstract origin, some of which the instance may have lost.
 */
#include <string.h>

#include "base/search.h"
#include "types/dwarf_reader.h"

struct reading {
    struct debug_types *d;
    Dwarf_Die *function;
    vaddr_t low_pc;
    struct signature *ret;
    ARRAY(struct parameter) parameters;
    ARRAY(const void *) seen; /* the abstract origins of these parameters */
    bool has_list;
    bool llvm;
    bool plain; /* surely compiled without optimisation */
};

/* ---- the function ---- */

/* The abstract instance, and its own; *DIE: the last of them. */
static bool step_to_origin(Dwarf_Die *die) {
    Dwarf_Attribute found;
    Dwarf_Die origin;
    if (!dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &found), &origin))
        return false;
    *die = origin;
    return true;
}

static Dwarf_Die origin_of(const Dwarf_Die *die) {
    Dwarf_Die origin = *die;
    for (int i = 0; i < 8 && step_to_origin(&origin); i++)
        ;
    return origin;
}

/* A clone's symbol tells what was done to it; its entry in DWARF has the original's name. Only
 * constants that callers pass leave a clone its result. */
enum clone { NO_CLONE, CLONE_WITH_RESULT, CLONE };

static enum clone clone_by_name(const char *name) {
    if (strstr(name, ".isra") || strstr(name, ".part") || strstr(name, ".specialized"))
        return CLONE;
    return strstr(name, ".constprop") ? CLONE_WITH_RESULT : NO_CLONE;
}

static size_t first_symbol(const struct module *m, vaddr_t low_pc) {
    return SEARCH(k, m->symbol_count, m->symbols[k].addr < low_pc);
}

static enum clone clone_at(const struct module *m, vaddr_t low_pc) {
    size_t count = m->symbol_count;
    const struct symbol *s = m->symbols;
    enum clone most = NO_CLONE;
    for (size_t i = first_symbol(m, low_pc); i < count && s[i].addr == low_pc; i++) {
        if (s[i].type != SYMBOL_FUNCTION)
            continue;
        enum clone this = clone_by_name(s[i].name);
        if (this == NO_CLONE) /* A folded function has the names of both. */
            return NO_CLONE;
        most = this > most ? this : most;
    }
    return most;
}

/* LLVM makes functions local when it optimises a whole program; DWARF still calls them external. */
static bool was_made_local(const struct module *m, vaddr_t low_pc) {
    bool any = false;
    for (size_t i = first_symbol(m, low_pc); i < m->symbol_count && m->symbols[i].addr == low_pc;
         i++) {
        if (m->symbols[i].type != SYMBOL_FUNCTION)
            continue;
        if (m->symbols[i].global || m->symbols[i].hidden)
            return false;
        any = true;
    }
    return any;
}

/* Clang has LLVM describe all calls of functions that it optimises, from DWARF 4 on. Other
 * compilers do not. */
static bool is_optimized_by_llvm(struct debug_types *d, Dwarf_Die *function,
                                 enum source_language language) {
    Dwarf_Half version = 0;
    if (language != SOURCE_C && language != SOURCE_CXX)
        return !dwarf_unit_is_plain(d, function);
    dwarf_cu_info(function->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
    return version < 4 || dwarf_hasattr(function, DW_AT_call_all_calls) ||
           dwarf_hasattr(function, DW_AT_GNU_all_call_sites);
}

static bool is_by_llvm(const char *producer) {
    return strstr(producer, "clang") || strstr(producer, "LLVM");
}

static bool is_by_gcc(const char *producer) { return strncmp(producer, "GNU ", 4) == 0; }

static const char *producer_of(struct debug_types *d, Dwarf_Die *die) {
    Dwarf_Die unit;
    const char *text =
        dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_string_at(&unit, DW_AT_producer) : NULL;
    return types_name(d->graph, text ? text : "");
}

/* ---- parameters ---- */

static void add_parameter(struct reading *r, Dwarf_Die *die, const struct place *place,
                          const struct home *home) {
    Dwarf_Attribute found;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &found));
    bool is_result = false;
    if (r->parameters.count == DWARF_MOST_MEMBERS)
        return;
    struct parameter p = {
        .name = types_name(r->d->graph, name ? name : ""), .place = *place, .home = *home};
    p.type = dwarf_type_at(r->d, die, DW_AT_type, r->ret->language);
    if (dwarf_hasattr_integrate(die, DW_AT_artificial))
        p.flags |= PARAMETER_ARTIFICIAL;
    if (r->ret->language == SOURCE_GO &&
        dwarf_formflag(dwarf_attr_integrate(die, DW_AT_variable_parameter, &found), &is_result) ==
            0 &&
        is_result)
        p.flags |= PARAMETER_RESULT;
    ARRAY_PUSH(&r->parameters, p);
}

static bool is_unknown(const struct place *place) {
    return place->kind == PLACE_BY_ABI || place->kind == PLACE_MISSING;
}

static void add_own(struct reading *r, Dwarf_Die *die) {
    Dwarf_Attribute found;
    Dwarf_Die origin = origin_of(die);
    struct place place = dwarf_place_of(r->d, r->function, die, r->low_pc, r->ret->changed);
    bool has_list = dwarf_attr(die, DW_AT_location, &found) && dwarf_is_list(&found);
    r->has_list |= has_list;
    /* Without optimisation, a list may begin behind the prologue. */
    if (has_list && r->plain && place.kind == PLACE_MISSING)
        place.kind = PLACE_BY_ABI;
    struct home home = {.kind = HOME_NONE};
    if ((r->plain && place.kind == PLACE_BY_ABI) || (r->llvm && !r->plain && is_unknown(&place)))
        home = dwarf_home_of(r->function, die, r->low_pc);
    add_parameter(r, die, &place, &home);
    ARRAY_PUSH(&r->seen, (const void *)origin.addr);
}

static void read_own(struct reading *r) {
    Dwarf_Die child;
    for (int rc = dwarf_child(r->function, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter)
            add_own(r, &child);
        if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
            r->ret->varargs = true;
    }
}

/* The index of the parameter that is an instance of ORIGIN; the count if there is none. */
static size_t instance_of(const struct reading *r, const void *origin) {
    size_t i = 0;
    while (i < r->seen.count && r->seen.at[i] != origin)
        i++;
    return i;
}

/* Puts the parameters in the order of ORIGIN's; those that the instance has lost are missing. (The
 * artificial ones of constructors, VTT and __in_chrg, are those of other instances: this one takes
 * none.) */
static void read_origin(struct reading *r, Dwarf_Die *origin) {
    const struct place missing = {.kind = PLACE_MISSING};
    const struct home none = {.kind = HOME_NONE};
    struct reading whole = *r;
    Dwarf_Die child;
    whole.parameters.at = NULL;
    whole.parameters.count = whole.parameters.room = 0;
    for (int rc = dwarf_child(origin, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
            r->ret->varargs = true;
        if (dwarf_tag(&child) != DW_TAG_formal_parameter)
            continue;
        size_t i = instance_of(r, child.addr);
        if (i == r->seen.count && !dwarf_flag(&child, DW_AT_artificial))
            add_parameter(&whole, &child, &missing, &none);
        else if (i < r->seen.count && whole.parameters.count < DWARF_MOST_MEMBERS)
            ARRAY_PUSH(&whole.parameters, r->parameters.at[i]);
    }
    if (whole.parameters.count < r->parameters.count) { /* not those of this origin */
        ARRAY_FREE(&whole.parameters);
        return;
    }
    ARRAY_FREE(&r->parameters);
    r->parameters.at = whole.parameters.at;
    r->parameters.count = whole.parameters.count;
}

/* ---- all of it ---- */

static void read_head(struct reading *r, Dwarf_Die *origin) {
    struct signature *s = r->ret;
    Dwarf_Attribute found;
    const char *name = dwarf_formstring(dwarf_attr_integrate(r->function, DW_AT_name, &found));
    uint64_t convention = 0;
    *s = (struct signature){.machine = r->d->module->machine, .has_places = true};
    s->language = dwarf_language_of(origin, dwarf_language_of(r->function, SOURCE_OTHER));
    s->producer = producer_of(r->d, origin);
    s->name = types_name(r->d->graph, name ? name : "");
    s->result = dwarf_type_at(r->d, r->function, DW_AT_type, s->language);
    s->prototyped =
        s->language != SOURCE_C || dwarf_hasattr_integrate(r->function, DW_AT_prototyped);
    dwarf_number(r->function, DW_AT_calling_convention, &convention);
    bool llvm = is_by_llvm(s->producer);
    s->optimized = llvm && is_optimized_by_llvm(r->d, r->function, s->language);
    r->llvm = llvm;
    r->plain = llvm && !s->optimized;
    enum clone clone = clone_at(r->d->module, r->low_pc);
    s->keeps_result = clone == CLONE_WITH_RESULT && is_by_gcc(s->producer);
    s->changed = convention == DW_CC_nocall || clone ||
                 /* LLVM gives functions that nobody else can call other parameters, but no other
                  * name. */
                 (llvm && s->optimized &&
                  (!dwarf_hasattr_integrate(r->function, DW_AT_external) ||
                   was_made_local(r->d->module, r->low_pc)));
}

/* Assemblers describe where a function is, and not what it takes. */
static bool is_assembly(Dwarf_Die *function) {
    Dwarf_Die unit;
    return dwarf_diecu(function, &unit, NULL, NULL) &&
           dwarf_srclang(&unit) == DW_LANG_Mips_Assembler;
}

/* Go names some results twice, if it has split them. */
static void drop_twins(struct reading *r) {
    size_t kept = 0;
    for (size_t i = 0; i < r->parameters.count; i++) {
        const struct parameter *p = &r->parameters.at[i];
        size_t k = 0;
        while (k < kept && strcmp(r->parameters.at[k].name, p->name) != 0)
            k++;
        if (k == kept || !(p->flags & PARAMETER_RESULT))
            r->parameters.at[kept++] = *p;
    }
    r->parameters.count = kept;
}

bool debug_types_signature(struct debug_types *d, vaddr_t low_pc, struct signature *ret) {
    Dwarf_Die function;
    if (!dwarf_find_function(d, low_pc, &function) || is_assembly(&function))
        return false;
    Dwarf_Die origin = origin_of(&function);
    struct reading r = {.d = d, .function = &function, .low_pc = low_pc, .ret = ret};
    read_head(&r, &origin);
    read_own(&r);
    ret->inlined = origin.addr != function.addr;
    if (ret->inlined)
        read_origin(&r, &origin);
    drop_twins(&r);
    ret->optimized = r.plain ? false : ret->optimized || r.has_list;
    ret->parameters = r.parameters.at;
    ret->count = r.parameters.count;
    ret->member = dwarf_hasattr_integrate(&function, DW_AT_object_pointer) ||
                  (ret->count && ret->parameters[0].flags & PARAMETER_ARTIFICIAL &&
                   strcmp(ret->parameters[0].name, "this") == 0);
    ARRAY_FREE(&r.seen);
    return true;
}
