/*
 * Symbols in flat form: a head, the symbols, the hash table by name (lookup.c), the names. A name
 * is a place among the names + 1, in the member that is else a pointer.
 */
#include <errno.h>

#include "elf/internal.h"

struct head {
    uint64_t count, index_size, names_size;
};

static void write_symbols(const struct module *module, struct flat_writer *w,
                          const uint32_t *places) {
    for (size_t i = 0; i < module->symbol_count; i++) {
        const struct symbol *s = &module->symbols[i];
        struct symbol flat;
        memset(&flat, 0, sizeof flat);
        flat.addr = s->addr;
        flat.size = s->size;
        flat.type = s->type;
        flat.global = s->global;
        flat.hidden = s->hidden;
        flat.name = (const char *)(uintptr_t)places[i]; // NOLINT(performance-no-int-to-ptr)
        flat_put(w, &flat, sizeof flat);
    }
    flat_align(w);
}

void flat_symbols_write(const struct module *module, struct flat_writer *w, uint32_t **ret_names) {
    size_t index_size, n = module->symbol_count;
    const uint32_t *index = lookup_index(module, &index_size);
    uint32_t *places = mem_alloc((n + 1) * sizeof *places);
    uint64_t names = 0;
    for (size_t i = 0; i < n; i++) {
        places[i] = (uint32_t)(names + 1);
        names += strlen(module->symbols[i].name) + 1;
    }
    if (names >= UINT32_MAX)
        w->failed = w->failed ? w->failed : -EFBIG;
    struct head head = {n, index_size, names};
    flat_put(w, &head, sizeof head);
    flat_align(w);
    write_symbols(module, w, places);
    flat_put(w, index, index_size * sizeof *index);
    flat_align(w);
    for (size_t i = 0; i < n; i++)
        flat_put(w, module->symbols[i].name, strlen(module->symbols[i].name) + 1);
    flat_align(w);
    *ret_names = places;
}

bool flat_symbols_read(struct module *module, struct flat_reader *r, void *pages, size_t size) {
    struct module_private *priv = module->priv;
    struct head *head = flat_take(r, 1, sizeof *head);
    if (!head)
        return false;
    AUTO_FREE struct symbol *symbols = flat_take_copy(r, head->count, sizeof *symbols);
    uint32_t *index = flat_take(r, head->index_size, sizeof *index);
    const uint8_t *names = flat_take(r, head->names_size, 1);
    if (!index || (head->count && (!symbols || !names || names[head->names_size - 1])))
        return false;
    for (size_t i = 0; i < head->count; i++) {
        size_t place = (uintptr_t)symbols[i].name - 1;
        if (place >= head->names_size)
            return false;
        symbols[i].name = (const char *)names + place;
    }
    priv->flat = pages;
    priv->flat_size = size;
    priv->flat_names = (struct strings){(const char *)names, head->names_size};
    module->symbols = steal(symbols);
    module->symbol_count = head->count;
    priv->index = index;
    priv->index_size = head->index_size;
    return true;
}

const char *flat_symbols_name(const struct module *module, uint64_t place) {
    return place ? strings_at(&module->priv->flat_names, place - 1) : NULL;
}
