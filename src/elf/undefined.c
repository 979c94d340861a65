/*
 * Lists the undefined functions of a file's dynamic symbol table. Unlike relocations of one kind
 * this is complete, whether the address goes into a GOT slot, a table of pointers or a stub.
 */
#include "elf/internal.h"

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t drop_repeated(const char **names, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || strcmp(names[i], names[kept - 1]) != 0)
            names[kept++] = names[i];
    return kept;
}

static bool may_be_function(const Elf64_Sym *sym) {
    unsigned type = ELF64_ST_TYPE(sym->st_info);
    return sym->st_shndx == SHN_UNDEF && type != STT_OBJECT && type != STT_TLS &&
           ELF64_ST_BIND(sym->st_info) != STB_LOCAL;
}

const char **module_undefined(const struct module *module, size_t *ret_count) {
    const struct dynamic *d = &module->priv->dynamic;
    const struct image *file = &module->priv->file;
    size_t count = symbols_dynamic_count(module);
    const uint8_t *text = module_bytes(module, d->strings.addr, d->strings.size);
    struct strings strings = strings_of(text, d->strings.size);
    ARRAY(const char *) names = {0};
    for (size_t i = 1; i < count; i++) {
        vaddr_t at = d->symbols + i * file->sizes->symbol;
        Elf64_Sym sym = image_symbol(file, module_bytes(module, at, file->sizes->symbol));
        const char *name = may_be_function(&sym) ? strings_at(&strings, sym.st_name) : NULL;
        if (name && *name)
            ARRAY_PUSH(&names, name);
    }
    if (names.count)
        qsort(names.at, names.count, sizeof *names.at, compare_names);
    *ret_count = drop_repeated(names.at, names.count);
    return names.at;
}
