/*
 * Merges .symtab of the file, of its debug file, and the dynamic symbols. Names of one address are
 * neighbours; the best known comes first.
 */
#include "elf/internal.h"
#include "elf/sort.h"

typedef ARRAY(struct symbol) symbol_list;

struct symbol_table {
    const struct image *image; /* st_shndx is an index of its sections; NULL: do not use st_shndx */
    const uint8_t *entries;
    size_t count;
    struct strings names;
};

/* Mapping symbols (ELF for the Arm Architecture, 5.5.5); RISC-V has them, too. */
static bool is_mapping_symbol(uint16_t machine, const char *name) {
    if (name[0] != '$' || (machine != EM_ARM && machine != EM_AARCH64 && machine != EM_RISCV))
        return false;
    return name[1] && strchr("adtx", name[1]) && (name[2] == '\0' || name[2] == '.');
}

static bool symbol_type_of(unsigned elf_type, enum symbol_type *ret) {
    switch (elf_type) {
    case STT_NOTYPE:
        *ret = SYMBOL_NOTYPE;
        return true;
    case STT_FUNC:
        *ret = SYMBOL_FUNCTION;
        return true;
    case STT_GNU_IFUNC:
        *ret = SYMBOL_IFUNC;
        return true;
    case STT_OBJECT:
    case STT_COMMON:
        *ret = SYMBOL_OBJECT;
        return true;
    default:
        return false;
    }
}

static bool is_function(enum symbol_type type) {
    return type == SYMBOL_FUNCTION || type == SYMBOL_IFUNC;
}

/* Whether the symbol's value is an address of loaded memory. */
static bool is_allocated(const struct symbol_table *table, const Elf64_Sym *sym) {
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
        return false;
    if (!table->image || sym->st_shndx >= table->image->section_count)
        return true; /* the caller checks the segments */
    return image_section(table->image, sym->st_shndx).sh_flags & SHF_ALLOC;
}

static void add_symbol(struct module *module, const struct symbol_table *table,
                       const Elf64_Sym *sym, symbol_list *list) {
    struct symbol symbol = {.addr = sym->st_value, .size = sym->st_size};
    const char *name = strings_at(&table->names, sym->st_name);
    if (!name || !*name || !symbol_type_of(ELF64_ST_TYPE(sym->st_info), &symbol.type) ||
        !is_allocated(table, sym) || !module_segment_at(module, symbol.addr))
        return;
    if (is_mapping_symbol(module->machine, name)) {
        marks_note_mapping(module, symbol.addr, name);
        return;
    }
    if (is_function(symbol.type))
        symbol.addr = marks_note(module, symbol.addr, true);
    if (!module_segment_at(module, symbol.addr))
        return;
    symbol.global = ELF64_ST_BIND(sym->st_info) != STB_LOCAL;
    symbol.hidden = ELF64_ST_VISIBILITY(sym->st_other) != STV_DEFAULT;
    symbol.name = name;
    const char *version = strchr(name + 1, '@');
    if (version) {
        size_t length = (size_t)(version - name);
        char *copy = arena_alloc(module->priv->names, length + 1);
        symbol.name = memcpy(copy, name, length);
    }
    ARRAY_PUSH(list, symbol);
}

static void add_table(struct module *module, const struct symbol_table *table, symbol_list *list) {
    const struct image *file = &module->priv->file; /* a debug file's class is the same */
    for (size_t i = 1; i < table->count; i++) {
        Elf64_Sym sym = image_symbol(file, table->entries + i * file->sizes->symbol);
        add_symbol(module, table, &sym, list);
    }
}

static void add_static(struct module *module, const struct image *image, symbol_list *list) {
    uint32_t index = image_find_section(image, NULL, SHT_SYMTAB);
    if (!index)
        return;
    Elf64_Shdr sh = image_section(image, index);
    if (sh.sh_entsize != image->sizes->symbol || sh.sh_link >= image->section_count)
        return;
    struct symbol_table table = {.image = image, .entries = image_section_bytes(image, &sh)};
    if (!table.entries)
        return;
    table.count = sh.sh_size / image->sizes->symbol;
    Elf64_Shdr names = image_section(image, sh.sh_link);
    table.names = strings_of(image_section_bytes(image, &names), names.sh_size);
    add_table(module, &table, list);
}

/*
 * The end of the symbols by DT_GNU_HASH: behind the chain that starts last. The table is {buckets,
 * first symbol, bloom words, shift}, the bloom filter (words of address size), buckets, chains.
 * 0: the table is empty, as in programs without exports; then it does not tell the number of
 * undefined symbols.
 */
static uint64_t gnu_hash_end(const struct module *module, vaddr_t addr) {
    const uint8_t *head = module_bytes(module, addr, 16);
    if (!head)
        return 0;
    uint64_t buckets = LOAD(uint32_t, head), first = LOAD(uint32_t, head + 4);
    vaddr_t bucket_addr = addr + 16 + module->word_bytes * (uint64_t)LOAD(uint32_t, head + 8);
    const uint8_t *bucket = module_bytes(module, bucket_addr, buckets * 4);
    uint64_t last = 0;
    for (uint64_t i = 0; bucket && i < buckets; i++) {
        uint32_t start = LOAD(uint32_t, bucket + i * 4);
        last = start > last ? start : last;
    }
    if (last < first)
        return 0;
    uint64_t left;
    const uint8_t *chain =
        module_bytes_from(module, bucket_addr + (buckets + last - first) * 4, &left);
    for (; left >= 4; chain += 4, left -= 4, last++)
        if (LOAD(uint32_t, chain) & 1)
            return last + 1;
    return 0;
}

size_t symbols_dynamic_max(const struct module *module) {
    const struct dynamic *d = &module->priv->dynamic;
    uint64_t room;
    if (!d->symbols || !module_bytes_from(module, d->symbols, &room))
        return 0;
    return room / module->priv->file.sizes->symbol;
}

/* The number by section headers; 0: unknown. */
static uint64_t count_of_section(const struct module *module) {
    const struct image *file = &module->priv->file;
    for (uint32_t i = 1; i < file->section_count; i++) {
        Elf64_Shdr sh = image_section(file, i);
        if (sh.sh_type == SHT_DYNSYM && sh.sh_addr == module->priv->dynamic.symbols)
            return sh.sh_size / file->sizes->symbol;
    }
    return 0;
}

size_t symbols_dynamic_count(const struct module *module) {
    const struct dynamic *d = &module->priv->dynamic;
    const size_t size = module->priv->file.sizes->symbol;
    uint64_t room = symbols_dynamic_max(module), count = 0;
    const uint8_t *hash = d->hash ? module_bytes(module, d->hash, 8) : NULL;
    if (hash)
        count = LOAD(uint32_t, hash + 4); /* nchain: the number of symbols */
    else if (d->gnu_hash)
        count = gnu_hash_end(module, d->gnu_hash);
    if (!count)
        count = count_of_section(module);
    if (!count && !d->gnu_hash && d->strings.addr > d->symbols) /* names are often right behind */
        count = (d->strings.addr - d->symbols) / size;
    return count < room ? count : room;
}

static void add_dynamic(struct module *module, symbol_list *list) {
    const struct dynamic *d = &module->priv->dynamic;
    struct symbol_table table = {.count = symbols_dynamic_count(module)};
    if (!table.count)
        return;
    const size_t size = module->priv->file.sizes->symbol;
    table.entries = module_bytes(module, d->symbols, table.count * size);
    const uint8_t *names = module_bytes(module, d->strings.addr, d->strings.size);
    table.names = strings_of(names, d->strings.size);
    add_table(module, &table, list);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const struct symbol *)a)->name, ((const struct symbol *)b)->name);
}

/* Names with lower ranks are better to show. */
static unsigned rank(const struct symbol *symbol) {
    static const uint8_t by_type[] = {
        [SYMBOL_FUNCTION] = 0, [SYMBOL_IFUNC] = 1, [SYMBOL_NOTYPE] = 2, [SYMBOL_OBJECT] = 2};
    unsigned underscores = 0;
    while (underscores < 3 && symbol->name[underscores] == '_')
        underscores++;
    if (symbol->name[0] == '_' && symbol->name[1] == 'Z')
        underscores = 0;
    return by_type[symbol->type] * 8u + !symbol->global * 4u + underscores;
}

static int compare_ranks(const void *a, const void *b) {
    unsigned rank_a = rank(a), rank_b = rank(b);
    return rank_a != rank_b ? (rank_a > rank_b) - (rank_a < rank_b) : compare_names(a, b);
}

/* Orders the names of one address and drops repeated ones. Returns how many are left. */
static size_t order_names(struct symbol *symbols, size_t count) {
    qsort(symbols, count, sizeof *symbols, compare_names);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++) {
        if (strcmp(symbols[i].name, symbols[kept - 1].name) != 0)
            symbols[kept++] = symbols[i];
        else if (symbols[i].size > symbols[kept - 1].size)
            symbols[kept - 1] = symbols[i];
    }
    qsort(symbols, kept, sizeof *symbols, compare_ranks);
    return kept;
}

void symbols_read(struct module *module) {
    symbol_list list = {0};
    add_static(module, &module->priv->file, &list);
    add_static(module, &module->priv->debug, &list);
    add_dynamic(module, &list);
    sort_by_address(list.at, list.count, sizeof *list.at);
    size_t kept = 0;
    for (size_t i = 0, run; i < list.count; i += run) {
        for (run = 1; i + run < list.count && list.at[i + run].addr == list.at[i].addr;)
            run++;
        size_t left = run > 1 ? order_names(list.at + i, run) : 1;
        memmove(list.at + kept, list.at + i, left * sizeof *list.at);
        kept += left;
    }
    if (module->priv->flat) {
        ARRAY_FREE(&list);
        return;
    }
    module->symbols = list.at;
    module->symbol_count = kept;
}
