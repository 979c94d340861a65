/* Lists the libraries that a file names (DT_NEEDED). */
#include "elf/internal.h"

typedef ARRAY(const char *) name_array;

static void add_names(const struct image *file, const uint8_t *bytes, uint64_t size,
                      const struct strings *strings, name_array *ret) {
    const size_t step = file->sizes->dynamic;
    for (uint64_t at = 0; at + step <= size; at += step) {
        Elf64_Dyn entry = image_dynamic(file, bytes + at);
        const char *name = entry.d_tag == DT_NEEDED ? strings_at(strings, entry.d_un.d_val) : NULL;
        if (entry.d_tag == DT_NULL)
            break;
        if (name)
            ARRAY_PUSH(ret, name);
    }
}

const char **module_needed(const struct module *module, size_t *ret_count) {
    const struct dynamic *d = &module->priv->dynamic;
    const struct image *file = &module->priv->file;
    const uint8_t *text = module_bytes(module, d->strings.addr, d->strings.size);
    struct strings strings = strings_of(text, d->strings.size);
    name_array names = {0};
    for (uint32_t i = 0; text && i < file->segment_count; i++) {
        Elf64_Phdr ph = image_segment(file, i);
        const uint8_t *bytes = image_at(file, ph.p_offset, ph.p_filesz);
        if (ph.p_type == PT_DYNAMIC && bytes)
            add_names(file, bytes, ph.p_filesz, &strings, &names);
    }
    *ret_count = names.count;
    return names.at;
}
