/* Names of functions, from the symbol tables of the image and its debug file. */
#include <gelf.h>
#include <string.h>

#include "base/search.h"
#include "elf/lineinfo_internal.h"

/* Mapping symbols (ELF for the Arm Architecture, 5.5.5); RISC-V has them, too. */
static bool is_mark(const char *name) {
    return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

static bool in_code(const struct lineinfo *info, vaddr_t addr) {
    for (size_t i = 0; i < info->code.count; i++)
        if (addr >= info->code.at[i].start && addr < info->code.at[i].end)
            return true;
    return false;
}

/* The same order as in symbols.c: functions first, then global names, then few underscores. */
static uint8_t rank_of(const GElf_Sym *sym, const char *name) {
    unsigned underscores = 0;
    while (underscores < 3 && name[underscores] == '_')
        underscores++;
    if (name[0] == '_' && name[1] == 'Z')
        underscores = 0;
    bool function = GELF_ST_TYPE(sym->st_info) != STT_NOTYPE;
    return (uint8_t)((function ? 0 : 8) + (GELF_ST_BIND(sym->st_info) == STB_LOCAL ? 4 : 0) +
                     underscores);
}

static void add(struct lineinfo *info, const GElf_Sym *sym, vaddr_t addr, const char *name) {
    unsigned type = GELF_ST_TYPE(sym->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return;
    bool thumb = info->machine == EM_ARM && type != STT_NOTYPE && addr & 1;
    addr -= thumb;
    if (!name || !*name || is_mark(name) || !in_code(info, addr))
        return;
    vaddr_t end = addr + sym->st_size < addr ? addr : addr + sym->st_size;
    struct named symbol = {addr, end, .name = name, .rank = rank_of(sym, name), .thumb = thumb};
    ARRAY_PUSH(&info->symbols, symbol);
}

static int compare(const void *a, const void *b) {
    const struct named *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    return x->rank != y->rank ? x->rank - y->rank : strcmp(x->name, y->name);
}

void lineinfo_read_symbols(struct lineinfo *info) {
    int count = dwfl_module_getsymtab(info->module);
    for (int i = 1; i < count; i++) {
        GElf_Sym sym;
        GElf_Addr addr;
        GElf_Word section;
        const char *name =
            dwfl_module_getsym_info(info->module, i, &sym, &addr, &section, NULL, NULL);
        if (name && section != SHN_UNDEF && section != SHN_ABS && section != SHN_COMMON)
            add(info, &sym, addr, name);
    }
    if (info->symbols.count)
        qsort(info->symbols.at, info->symbols.count, sizeof *info->symbols.at, compare);
    vaddr_t max_end = 0;
    for (size_t i = 0; i < info->symbols.count; i++) {
        struct named *s = &info->symbols.at[i];
        s->max_end = max_end = s->end > max_end ? s->end : max_end;
    }
}

static bool same_section(const struct lineinfo *info, vaddr_t a, vaddr_t b) {
    for (size_t i = 0; i < info->code.count; i++)
        if (a >= info->code.at[i].start && a < info->code.at[i].end)
            return b >= info->code.at[i].start && b < info->code.at[i].end;
    return false;
}

/* The best symbol at the address of symbol I. */
static const struct named *best_at(const struct lineinfo *info, size_t i) {
    while (i && info->symbols.at[i - 1].addr == info->symbols.at[i].addr)
        i--;
    return &info->symbols.at[i];
}

/* The innermost symbol whose size covers ADDR. Else the last symbol before ADDR, if no symbol at
 * its address has a size (assembly). */
const struct named *lineinfo_symbol(const struct lineinfo *info, vaddr_t addr) {
    const struct named *at = info->symbols.at;
    size_t above = SEARCH(k, info->symbols.count, at[k].addr <= addr);
    if (!above)
        return NULL;
    for (size_t i = above; i-- > 0 && at[i].max_end > addr;)
        if (at[i].end > addr)
            return best_at(info, i);
    const struct named *before = best_at(info, above - 1);
    for (const struct named *s = before; s < at + above; s++)
        if (s->end > s->addr)
            return NULL;
    return same_section(info, before->addr, addr) ? before : NULL;
}

vaddr_t lineinfo_function_start(const struct lineinfo *info, vaddr_t addr) {
    const struct named *symbol = lineinfo_symbol(info, addr);
    return symbol && symbol->end > symbol->addr ? symbol->addr + symbol->thumb : 0;
}
