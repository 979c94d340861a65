/* Lookups in a loaded module: binary searches by address, and a hash table of symbol names. */
#include "base/search.h"
#include "elf/internal.h"

/* Index of the last of COUNT records of SIZE bytes that starts at or before ADDR; COUNT: none. Each
 * record begins with its vaddr_t. */
static size_t last_at_or_before(const void *records, size_t count, size_t size, vaddr_t addr) {
    size_t above = SEARCH(k, count, LOAD(vaddr_t, (const uint8_t *)records + k * size) <= addr);
    return above ? above - 1 : count;
}

const struct segment *module_segment_at(const struct module *module, vaddr_t addr) {
    size_t i =
        last_at_or_before(module->segments, module->segment_count, sizeof *module->segments, addr);
    const struct segment *s = module->segments + i;
    return i < module->segment_count && addr - s->start < s->size ? s : NULL;
}

const struct section *module_section_at(const struct module *module, vaddr_t addr) {
    size_t i =
        last_at_or_before(module->sections, module->section_count, sizeof *module->sections, addr);
    const struct section *s = module->sections + i;
    return i < module->section_count && addr - s->start < s->size ? s : NULL;
}

const struct unwind_range *module_range_at(const struct module *module, vaddr_t addr) {
    size_t i = last_at_or_before(module->ranges, module->range_count, sizeof *module->ranges, addr);
    const struct unwind_range *range = module->ranges + i;
    return i < module->range_count && addr < range->end ? range : NULL;
}

const struct cfa_row *module_row_at(const struct module *module, const struct unwind_range *range,
                                    vaddr_t addr) {
    if (addr < range->start || addr >= range->end)
        return NULL;
    const struct cfa_row *rows = module->rows + range->first_row;
    size_t i = last_at_or_before(rows, range->row_count, sizeof *rows, addr);
    return i < range->row_count ? rows + i : NULL;
}

const uint8_t *module_bytes_from(const struct module *module, vaddr_t addr, uint64_t *ret_size) {
    const struct segment *s = module_segment_at(module, addr);
    if (!s || addr - s->start >= s->file_size) {
        *ret_size = 0;
        return NULL;
    }
    *ret_size = s->file_size - (addr - s->start);
    return s->bytes + (addr - s->start);
}

const uint8_t *module_bytes(const struct module *module, vaddr_t addr, uint64_t size) {
    uint64_t there;
    const uint8_t *bytes = module_bytes_from(module, addr, &there);
    return size <= there ? bytes : NULL;
}

const uint8_t *module_constant(const struct module *module, vaddr_t addr, uint64_t size) {
    const struct segment *s = module_segment_at(module, addr);
    return s && !s->writable ? module_bytes(module, addr, size) : NULL;
}

bool module_is_text(const struct module *module, vaddr_t addr) {
    if (addr < module->text_low || addr >= module->text_high)
        return false;
    const struct segment *s = module_segment_at(module, addr);
    return s && s->executable;
}

const char *module_import_at(const struct module *module, vaddr_t slot) {
    size_t i = SEARCH(k, module->import_count, module->imports[k].slot < slot);
    return i < module->import_count && module->imports[i].slot == slot ? module->imports[i].name
                                                                       : NULL;
}

/* FNV-1a. */
static uint64_t hash_name(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

/* Open addressing, at most half full; a slot holds a symbol's number + 1, or 0. */
static void build_index(const struct module *module) {
    struct module_private *priv = module->priv;
    size_t size = 16;
    while (size < module->symbol_count * 2)
        size *= 2;
    priv->index = mem_alloc(size * sizeof *priv->index);
    priv->index_size = size;
    for (size_t i = 0; i < module->symbol_count; i++) {
        size_t slot = hash_name(module->symbols[i].name) & (size - 1);
        while (priv->index[slot])
            slot = (slot + 1) & (size - 1);
        priv->index[slot] = (uint32_t)i + 1;
    }
}

const uint32_t *lookup_index(const struct module *module, size_t *ret_size) {
    struct module_private *priv = module->priv;
    pthread_mutex_lock(&priv->index_lock);
    if (!priv->index)
        build_index(module);
    pthread_mutex_unlock(&priv->index_lock);
    *ret_size = priv->index_size;
    return priv->index;
}

const struct symbol *module_symbol_named(const struct module *module, const char *name) {
    const struct module_private *priv = module->priv;
    size_t size, mask = (lookup_index(module, &size), size - 1);
    for (size_t slot = hash_name(name) & mask; priv->index[slot]; slot = (slot + 1) & mask) {
        const struct symbol *symbol = module->symbols + priv->index[slot] - 1;
        if (strcmp(symbol->name, name) == 0)
            return symbol;
    }
    return NULL;
}
