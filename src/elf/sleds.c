/*
 * Reads Clang's list of sleds for XRay: xray_instr_map. An entry (compiler-rt's XRaySledEntry) has
 * a sled's address and kind. From version 2 on the address is relative to its own word; before, it
 * is relocated. Entries are hints, as in patchable.c.
 */
#include "elf/internal.h"
#include "elf/sort.h"

enum { RELATIVE_VERSION = 2 };
/* In words: the length of an entry, and the offset of the kind. In bytes: the version behind it. */
enum { ENTRY_WORDS = 4, KIND_WORDS = 2, AT_VERSION = 2 };

void sleds_read(const struct module *module, struct patchable_words *ret) {
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *s = module->sections + i;
        if (!s->bytes || strcmp(s->name, "xray_instr_map") != 0)
            continue;
        const uint64_t word = module->word_bytes;
        for (uint64_t at = 0; s->size - at >= ENTRY_WORDS * word; at += ENTRY_WORDS * word) {
            vaddr_t value = image_word(&module->priv->file, s->bytes + at);
            if (s->bytes[at + KIND_WORDS * word + AT_VERSION] >= RELATIVE_VERSION)
                value += s->start + at;
            if (word == sizeof(uint32_t))
                value = (uint32_t)value; /* the distance may be negative */
            ARRAY_PUSH(&ret->list, ((struct patchable_word){s->start + at, value}));
        }
    }
}

void sleds_write(struct module *module, struct patchable_words *words) {
    ARRAY(struct sled) list = {0};
    for (size_t i = 0; i < words->list.count; i++) {
        const struct patchable_word *w = &words->list.at[i];
        const uint8_t *kind = module_bytes(module, w->at + KIND_WORDS * module->word_bytes, 1);
        if (kind && module_is_text(module, w->value))
            ARRAY_PUSH(&list, ((struct sled){w->value, *kind}));
    }
    sort_by_address(list.at, list.count, sizeof *list.at);
    module->sleds = list.at;
    module->sled_count = list.count;
    ARRAY_FREE(&words->list);
}
