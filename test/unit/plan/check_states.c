/* Reads the states of code from mapping symbols or from the look of code, and compares the plan. */
#include "check_states.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/mem.h"

enum { HALF = 2, WORD = 4 };

/* ---- symbols of a file ---- */

/* A mapping symbol, or a function's symbol. */
enum { FUNCTION = 'f' };
struct mapping {
    vaddr_t at;
    char state; /* a, t, d; a also for AArch64's only state ($x) */
};
typedef ARRAY(struct mapping) mapping_array;

static int compare_mapping(const void *x, const void *y) {
    const struct mapping *a = x, *b = y;
    return (a->at > b->at) - (a->at < b->at);
}

struct symbols {
    mapping_array mapping, functions;
};

static void note_function(const GElf_Sym *symbol, struct symbols *ret) {
    const vaddr_t thumb = 1; /* AAELF32, 5.5.3; functions of AArch64 are at multiples of 4 */
    if (GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size)
        ARRAY_PUSH(&ret->functions, ((struct mapping){symbol->st_value & ~thumb, FUNCTION}));
}

static void read_table(Elf *elf, Elf_Scn *scn, const GElf_Shdr *head, struct symbols *ret) {
    Elf_Data *data = elf_getdata(scn, NULL);
    for (size_t i = 0; data && i < head->sh_size / head->sh_entsize; i++) {
        GElf_Sym symbol;
        GElf_Shdr section;
        if (!gelf_getsym(data, (int)i, &symbol) ||
            !gelf_getshdr(elf_getscn(elf, symbol.st_shndx), &section))
            continue;
        const char *name = elf_strptr(elf, head->sh_link, symbol.st_name);
        bool maps = name && name[0] == '$' && name[1] && strchr("atdx", name[1]) &&
                    (!name[2] || name[2] == '.');
        if (section.sh_flags & SHF_EXECINSTR)
            note_function(&symbol, ret);
        if (maps && section.sh_flags & SHF_EXECINSTR)
            ARRAY_PUSH(&ret->mapping,
                       ((struct mapping){symbol.st_value, name[1] == 'x' ? 'a' : name[1]}));
    }
}

static void sort(mapping_array *mapping) {
    if (mapping->count)
        qsort(mapping->at, mapping->count, sizeof *mapping->at, compare_mapping);
}

static void read_file(const char *path, struct symbols *ret) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf =
        fd < 0 || elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr head;
        if (gelf_getshdr(scn, &head) && head.sh_type == SHT_SYMTAB && head.sh_entsize)
            read_table(elf, scn, &head, ret);
    }
    elf_end(elf);
    if (fd >= 0)
        (void)close(fd);
    sort(&ret->mapping);
    sort(&ret->functions);
}

/* The number of symbols at or before AT. */
static size_t up_to(const mapping_array *mapping, vaddr_t at) {
    size_t low = 0;
    for (size_t high = mapping->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (mapping->at[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* 0: no symbol says. */
static char mapped_state(const mapping_array *mapping, vaddr_t at) {
    size_t before = up_to(mapping, at);
    return before ? mapping->at[before - 1].state : 0;
}

static char planned_state(const struct plan *plan, vaddr_t at) {
    const struct arch *arch = plan_arch_at(plan, at);
    return !arch ? 'd' : arch->insn_bytes == HALF ? 't' : 'a';
}

/* Reads the symbols of the file itself, or of its debug file in DIRECTORY, laid out as
 * /usr/lib/debug, or of DIRECTORY if that is a file. */
static void find_symbols(const struct module *m, const char *directory, struct symbols *ret) {
    char path[4096];
    size_t at;
    read_file(m->path, ret);
    if (!ret->mapping.count && directory)
        read_file(directory, ret);
    if (ret->mapping.count || !directory || m->build_id_size < 2)
        return;
    at = (size_t)snprintf(path, sizeof path, "%s/.build-id/%02x/", directory, m->build_id[0]);
    for (size_t i = 1; i < m->build_id_size && at < sizeof path; i++)
        at += (size_t)snprintf(path + at, sizeof path - at, "%02x", m->build_id[i]);
    if (at < sizeof path)
        (void)snprintf(path + at, sizeof path - at, ".debug");
    read_file(path, ret);
}

/* ---- the look of code ---- */

/* Half of A32's words are unconditional arithmetic, loads and stores, with 0xe0 to 0xe7 at their
 * top. T32 code has these bytes there only if a short jump is in a word's upper half. A32 vector
 * instructions have 0xf2 to 0xf4 there, and nearly all others beside them are unconditional. T32
 * has some of these bytes (`movw`, `mov.w`), but not in its vector instructions. 0: undecided, or
 * too short. */
static char likely_state(const struct checked_states *c, vaddr_t start, vaddr_t end) {
    enum { FEWEST = 16, A32_LEAST = 40, T32_MOST = 10, WIDE_MOST = 50, PERCENT = 100 };
    enum { VECTOR_FIRST = 0xf2, VECTOR_LAST = 0xf4, VECTORS_LEAST = 80 };
    size_t words = 0, plain = 0, any = 0, vectors = 0;
    for (vaddr_t at = (start + WORD - 1) & ~(vaddr_t)(WORD - 1); at + WORD <= end; at += WORD) {
        const uint8_t *p = module_bytes(c->module, at, WORD);
        bool whole = planned_state(c->plan, at) != 'd' && planned_state(c->plan, at + HALF) != 'd';
        words += p && whole;
        plain += p && whole && p[WORD - 1] >> 3 == 0xe0 >> 3;
        any += p && whole && p[WORD - 1] >> 4 == 0xe;
        vectors += p && whole && p[WORD - 1] >= VECTOR_FIRST && p[WORD - 1] <= VECTOR_LAST;
    }
    if (words < FEWEST)
        return 0;
    const bool vector_code = (any + vectors) * PERCENT > words * VECTORS_LEAST;
    if ((plain + (vector_code ? vectors : 0)) * PERCENT > words * A32_LEAST)
        return 'a';
    bool t32 = plain * PERCENT < words * T32_MOST && (any + vectors) * PERCENT < words * WIDE_MOST;
    return t32 ? 't' : 0;
}

static void check_written(struct checked_states *c, const mapping_array *mapping, vaddr_t start,
                          unsigned bytes) {
    for (vaddr_t at = start; at < start + bytes; at++)
        if (mapped_state(mapping, at) == 'd') {
            c->wrong(c->ctx, "a mapping symbol tells data of what is written over", at);
            return;
        }
}

/* No function begins inside W or its hole, because other code may call it. */
static void check_functions(struct checked_states *c, const mapping_array *functions,
                            const struct plan_window *w) {
    vaddr_t end = w->start + w->written > w->end ? w->start + w->written : w->end;
    if (w->tier != TIER_TRAP && up_to(functions, end - 1) != up_to(functions, w->start))
        c->wrong(c->ctx, "a function of the file with symbols begins in a window", w->start);
    if (w->hole && up_to(functions, w->hole + w->hole_bytes - 1) != up_to(functions, w->hole - 1))
        c->wrong(c->ctx, "a function of the file with symbols begins in a hole", w->hole);
}

static void check_window(struct checked_states *c, const struct symbols *all,
                         const struct plan_window *w) {
    const mapping_array *mapping = &all->mapping;
    char mapped = mapped_state(mapping, w->start);
    check_functions(c, &all->functions, w);
    if (mapped && mapped != planned_state(c->plan, w->start))
        c->wrong(c->ctx, "a mapping symbol tells another state of a window", w->start);
    check_written(c, mapping, w->start, w->written);
    check_written(c, mapping, w->hole, w->hole_bytes);
}

void check_states(struct checked_states *c, const char *directory) {
    struct symbols all = {0};
    find_symbols(c->module, directory, &all);
    for (size_t i = 0; i < plan_function_count(c->plan); i++) {
        const struct plan_function *f = plan_function(c->plan, i);
        char mapped = mapped_state(&all.mapping, f->addr),
             planned = planned_state(c->plan, f->addr);
        char likely = 0;
        if (!mapped && c->module->machine == EM_ARM)
            likely = likely_state(c, f->addr, f->addr + f->size);
        c->mapped += mapped != 0;
        c->inferred += likely != 0;
        if (f->entry == TIER_NONE)
            continue;
        if (mapped && mapped != planned)
            c->wrong(c->ctx, "a mapping symbol tells another state", f->addr);
        if (likely && likely != planned)
            c->wrong(c->ctx, "code reads like that of the other state", f->addr);
    }
    for (size_t i = 0; i < c->view->windows.count; i++)
        check_window(c, &all, &c->view->windows.at[i]);
    ARRAY_FREE(&all.mapping);
    ARRAY_FREE(&all.functions);
}
