/* Reads symbol tables by libelf. */
#include "elf/debug_symbols.h"

#include <gelf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"

struct place {
    vaddr_t addr;
    bool global;
    const char *name;
};

struct debug_symbols {
    Elf *elf;
    ARRAY(struct place) places; /* ascending; of one address, global names first */
};

static void add(struct debug_symbols *s, size_t strings, const GElf_Sym *symbol, bool thumb) {
    const char *name = elf_strptr(s->elf, strings, symbol->st_name);
    int type = GELF_ST_TYPE(symbol->st_info);
    if (!name || !*name || symbol->st_shndx == SHN_UNDEF ||
        (type != STT_FUNC && type != STT_GNU_IFUNC))
        return;
    vaddr_t addr = symbol->st_value & ~(vaddr_t)thumb;
    ARRAY_PUSH(&s->places,
               ((struct place){addr, GELF_ST_BIND(symbol->st_info) != STB_LOCAL, name}));
}

static int compare(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->addr != y->addr)
        return (x->addr > y->addr) - (x->addr < y->addr);
    return x->global != y->global ? y->global - x->global : strcmp(x->name, y->name);
}

static void read_tables(struct debug_symbols *s, bool thumb) {
    for (Elf_Scn *section = NULL; (section = elf_nextscn(s->elf, section));) {
        GElf_Shdr head;
        GElf_Sym symbol;
        if (!gelf_getshdr(section, &head) || head.sh_type != SHT_SYMTAB)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++)
            add(s, head.sh_link, &symbol, thumb);
    }
}

struct debug_symbols *debug_symbols_new(int fd) {
    struct debug_symbols *s = mem_alloc(sizeof *s);
    GElf_Ehdr head;
    elf_version(EV_CURRENT);
    s->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (s->elf && gelf_getehdr(s->elf, &head))
        read_tables(s, head.e_machine == EM_ARM);
    if (s->places.count) {
        qsort(s->places.at, s->places.count, sizeof *s->places.at, compare);
        return s;
    }
    debug_symbols_free(s);
    return NULL;
}

void debug_symbols_free(struct debug_symbols *s) {
    if (!s)
        return;
    elf_end(s->elf);
    ARRAY_FREE(&s->places);
    free(s);
}

const char *debug_symbols_at(const struct debug_symbols *s, vaddr_t addr) {
    size_t i = SEARCH(k, s->places.count, s->places.at[k].addr < addr);
    return i < s->places.count && s->places.at[i].addr == addr ? s->places.at[i].name : NULL;
}
