/*
 * Reads the compiler's list of nops for patching (-fpatchable-function-entry). The entries are
 * hints: linkers keep entries of dropped functions, and files are untrusted. The planner checks the
 * bytes.
 */
#include "base/search.h"
#include "elf/internal.h"
#include "elf/sort.h"

void patchable_read(const struct module *module, struct patchable_words *ret) {
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *s = module->sections + i;
        if (!s->bytes || strcmp(s->name, "__patchable_function_entries") != 0)
            continue;
        const struct image *file = &module->priv->file;
        for (uint64_t at = 0; s->size - at >= module->word_bytes; at += module->word_bytes)
            ARRAY_PUSH(&ret->list,
                       ((struct patchable_word){s->start + at, image_word(file, s->bytes + at)}));
    }
}

void patchable_relocate(struct patchable_words *words, vaddr_t at, vaddr_t value) {
    size_t i = SEARCH(k, words->list.count, words->list.at[k].at < at);
    if (i < words->list.count && words->list.at[i].at == at)
        words->list.at[i].value = value;
}

void patchable_write(struct module *module, struct patchable_words *words) {
    ARRAY(struct patchable) list = {0};
    for (size_t i = 0; i < words->list.count; i++) {
        if (module_is_text(module, words->list.at[i].value))
            ARRAY_PUSH(&list, (struct patchable){words->list.at[i].value});
    }
    sort_by_address(list.at, list.count, sizeof *list.at);
    size_t kept = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (!kept || list.at[i].addr != list.at[kept - 1].addr)
            list.at[kept++] = list.at[i];
    }
    module->patchables = list.at;
    module->patchable_count = kept;
    ARRAY_FREE(&words->list);
}
