/*
 * Inlined functions and lines, from DWARF by libdw.
 *
 * A linker that discards a function (--gc-sections, groups) keeps its description, at address 0 or
 * 1. Firmware may have code there. So a description at 0 or 1 counts only if a symbol with a size
 * begins there, too.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "base/search.h"
#include "elf/demangle.h"
#include "elf/lineinfo_internal.h"

enum { DEEPEST = 200, DISCARDED = 1 };

/* ---- ranges ---- */

bool lineinfo_is_discarded(const struct lineinfo *info, vaddr_t start) {
    if (start > DISCARDED)
        return false;
    const struct named *first = info->symbols.at;
    return !info->symbols.count || first->addr != start || first->end == first->addr;
}

static int compare(const void *a, const void *b) {
    const struct unit_range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

static void add_unit(struct lineinfo *info, Dwarf_Die *unit) {
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &start, &end)) > 0;)
        if (end > start && !lineinfo_is_discarded(info, start))
            ARRAY_PUSH(&info->units, ((struct unit_range){start, end, dwarf_dieoffset(unit)}));
}

void lineinfo_read_units(struct lineinfo *info) {
    GElf_Addr bias;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    info->dwarf = dwfl_module_getdwarf(info->module, &bias);
    if (!info->dwarf)
        return;
    while (dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0)
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            add_unit(info, &die);
    if (info->units.count)
        qsort(info->units.at, info->units.count, sizeof *info->units.at, compare);
}

bool lineinfo_unit(const struct lineinfo *info, vaddr_t addr, Dwarf_Die *ret) {
    enum { NESTED = 64 };
    size_t above = SEARCH(k, info->units.count, info->units.at[k].start <= addr);
    for (size_t i = above, looked = 0; i-- > 0 && looked < NESTED; looked++)
        if (info->units.at[i].end > addr)
            return dwarf_offdie(info->dwarf, info->units.at[i].unit, ret);
    return false;
}

static bool covers(const struct lineinfo *info, Dwarf_Die *die, vaddr_t addr) {
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
        if (addr >= start && addr < end && !lineinfo_is_discarded(info, start))
            return true;
    return false;
}

/* ---- functions ---- */

/* The function at ADDR and the functions inlined there, the outermost first. */
struct path {
    const struct lineinfo *info;
    vaddr_t addr;
    bool nested; /* also search functions in functions, whose code is elsewhere */
    ARRAY(Dwarf_Die) functions;
};

static bool descend(struct path *p, Dwarf_Die *die, unsigned depth);

/* Whether ADDR is in DIE. Then adds DIE, if it is a function, and its inlined functions. */
static bool enter(struct path *p, Dwarf_Die *die, unsigned depth) {
    switch (dwarf_tag(die)) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return descend(p, die, depth);
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
        if (!covers(p->info, die, p->addr))
            return p->nested && descend(p, die, depth);
        ARRAY_PUSH(&p->functions, *die);
        descend(p, die, depth);
        return true;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        /* A block without addresses may still hold inlined functions. */
        if (dwarf_hasattr(die, DW_AT_ranges) || dwarf_hasattr(die, DW_AT_low_pc))
            return covers(p->info, die, p->addr) && descend(p, die, depth);
        return descend(p, die, depth);
    default:
        return false;
    }
}

static bool descend(struct path *p, Dwarf_Die *die, unsigned depth) {
    Dwarf_Die child;
    if (depth == DEEPEST || dwarf_child(die, &child) != 0)
        return false;
    do {
        if (enter(p, &child, depth + 1))
            return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

static void find_functions(struct path *p, Dwarf_Die *unit) {
    Dwarf_Die die, split = {0}, *whole = unit;
    uint8_t type;
    if (dwarf_cu_info(unit->cu, NULL, &type, &die, &split, NULL, NULL, NULL) == 0 &&
        type == DW_UT_skeleton && split.addr)
        whole = &split;
    descend(p, whole, 0);
    p->nested = !p->functions.count;
    if (p->nested)
        descend(p, whole, 0);
}

/* As in the debugging information: mangled, if it has that. */
static char *name_of(Dwarf_Die *die) {
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
        if (name && *name)
            return mem_strdup(name);
    }
    return NULL;
}

/* ---- lines ---- */

static unsigned number_of(Dwarf_Die *die, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(die, attribute, &found), &value) != 0 || value > UINT32_MAX)
        return 0;
    return (unsigned)value;
}

/* The place where DIE, an inlined function, was called. */
static void locate_call(Dwarf_Die *die, struct line_frame *frame) {
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    frame->line = number_of(die, DW_AT_call_line);
    frame->column = number_of(die, DW_AT_call_column);
    unsigned file = number_of(die, DW_AT_call_file);
    if (!dwarf_diecu(die, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count) < 0)
        return;
    const char *name = file < count ? dwarf_filesrc(files, file, NULL, NULL) : NULL;
    frame->file = name ? mem_strdup(name) : NULL;
}

/* The highest end of discarded functions of UNIT: lines below it may belong to these functions. */
static vaddr_t discarded_end(const struct lineinfo *info, Dwarf_Die *unit) {
    Dwarf_Die die;
    Dwarf_Addr start, end;
    vaddr_t max_end = 0;
    if (dwarf_child(unit, &die) != 0)
        return 0;
    do {
        if (dwarf_tag(&die) == DW_TAG_subprogram && dwarf_lowpc(&die, &start) == 0 &&
            lineinfo_is_discarded(info, start) && dwarf_highpc(&die, &end) == 0 && end > max_end)
            max_end = end;
    } while (dwarf_siblingof(&die, &die) == 0);
    return max_end;
}

static bool may_be_discarded(const struct lineinfo *info, Dwarf_Die *unit, vaddr_t addr,
                             struct line_cache *cache) {
    enum { NEAR_START = 1 << 20 }; /* no function is larger */
    if (addr >= NEAR_START)
        return false;
    if (!cache->known || cache->unit != dwarf_dieoffset(unit))
        *cache = (struct line_cache){dwarf_dieoffset(unit), discarded_end(info, unit), true};
    return addr < cache->discarded_end;
}

/* The line at ADDR, and the name of its file. NULL: not known. */
static Dwarf_Line *find_line(const struct lineinfo *info, Dwarf_Die *unit, vaddr_t addr,
                             struct line_cache *cache, const char **ret_file) {
    Dwarf_Line *line = NULL;
    int number = 0;
    if (!may_be_discarded(info, unit, addr, cache))
        line = dwarf_getsrc_die(unit, addr);
    if (!line || dwarf_lineno(line, &number) < 0 || number <= 0)
        return NULL;
    *ret_file = dwarf_linesrc(line, NULL, NULL);
    return *ret_file && **ret_file ? line : NULL;
}

static unsigned number_of_line(Dwarf_Line *line) {
    int number = 0;
    dwarf_lineno(line, &number);
    return (unsigned)number;
}

static void locate(const struct lineinfo *info, Dwarf_Die *unit, vaddr_t addr,
                   struct line_frame *frame) {
    struct line_cache cache = {0};
    const char *file;
    int column = 0;
    Dwarf_Line *line = find_line(info, unit, addr, &cache, &file);
    if (!line)
        return;
    frame->file = mem_strdup(file);
    frame->line = number_of_line(line);
    if (dwarf_linecol(line, &column) == 0 && column > 0)
        frame->column = (unsigned)column;
}

bool lineinfo_dwarf_line(const struct lineinfo *info, vaddr_t addr, struct line_cache *cache,
                         const char **ret_file, unsigned *ret_line) {
    Dwarf_Die unit;
    if (!info->dwarf || !lineinfo_unit(info, addr, &unit))
        return false;
    Dwarf_Line *line = find_line(info, &unit, addr, cache, ret_file);
    if (line)
        *ret_line = number_of_line(line);
    return line;
}

/* ---- both ---- */

void lineinfo_dwarf_frames(const struct lineinfo *info, vaddr_t addr, line_frames *ret,
                           vaddr_t *ret_start) {
    struct path p = {.info = info, .addr = addr};
    struct line_frame at = {0};
    Dwarf_Die unit;
    if (!info->dwarf || !lineinfo_unit(info, addr, &unit))
        return;
    locate(info, &unit, addr, &at);
    find_functions(&p, &unit);
    for (size_t i = p.functions.count; i-- > 0;) {
        Dwarf_Die *die = &p.functions.at[i];
        at.symbol = name_of(die);
        at.function = at.symbol ? demangle(at.symbol) : NULL;
        at.inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
        ARRAY_PUSH(ret, at);
        at = (struct line_frame){0};
        if (!ret->at[ret->count - 1].inlined) {
            dwarf_entrypc(die, ret_start);
            break;
        }
        locate_call(die, &at);
    }
    if (!ret->count || ret->at[ret->count - 1].inlined)
        ARRAY_PUSH(ret, at);
    ARRAY_FREE(&p.functions);
}
