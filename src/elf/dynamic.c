/*
 * Reads PT_DYNAMIC. The dynamic linker needs it, so it is present and correct even in files without
 * section headers.
 */
#include "elf/internal.h"

/* Entries whose value is copied. */
static const struct {
    int64_t tag;
    size_t offset; /* of a 64-bit member of struct dynamic */
} members[] = {
    {DT_SYMTAB, offsetof(struct dynamic, symbols)},
    {DT_STRTAB, offsetof(struct dynamic, strings.addr)},
    {DT_STRSZ, offsetof(struct dynamic, strings.size)},
    {DT_HASH, offsetof(struct dynamic, hash)},
    {DT_GNU_HASH, offsetof(struct dynamic, gnu_hash)},
    {DT_PLTGOT, offsetof(struct dynamic, got)},
    {DT_RELA, offsetof(struct dynamic, rela.addr)},
    {DT_RELASZ, offsetof(struct dynamic, rela.size)},
    {DT_REL, offsetof(struct dynamic, rel.addr)},
    {DT_RELSZ, offsetof(struct dynamic, rel.size)},
    {DT_RELR, offsetof(struct dynamic, relr.addr)},
    {DT_RELRSZ, offsetof(struct dynamic, relr.size)},
    {DT_JMPREL, offsetof(struct dynamic, plt.addr)},
    {DT_PLTRELSZ, offsetof(struct dynamic, plt.size)},
    {DT_PREINIT_ARRAY, offsetof(struct dynamic, init_arrays[0].addr)},
    {DT_PREINIT_ARRAYSZ, offsetof(struct dynamic, init_arrays[0].size)},
    {DT_INIT_ARRAY, offsetof(struct dynamic, init_arrays[1].addr)},
    {DT_INIT_ARRAYSZ, offsetof(struct dynamic, init_arrays[1].size)},
    {DT_FINI_ARRAY, offsetof(struct dynamic, init_arrays[2].addr)},
    {DT_FINI_ARRAYSZ, offsetof(struct dynamic, init_arrays[2].size)},
};

static void read_entry(struct dynamic *d, const Elf64_Dyn *entry) {
    uint64_t value = entry->d_un.d_val;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].tag == entry->d_tag)
            memcpy((char *)d + members[i].offset, &value, sizeof value);
    if (entry->d_tag == DT_PLTREL)
        d->plt_has_addends = value == DT_RELA;
    if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (value & DF_TEXTREL)))
        d->text_relocations = true;
}

void dynamic_read(struct module *module) {
    const struct image *file = &module->priv->file;
    struct dynamic *d = &module->priv->dynamic;
    for (uint32_t i = 0; i < file->segment_count && !d->present; i++) {
        Elf64_Phdr ph = image_segment(file, i);
        const uint8_t *bytes = image_at(file, ph.p_offset, ph.p_filesz);
        if (ph.p_type != PT_DYNAMIC || !bytes)
            continue;
        d->present = true;
        const size_t size = file->sizes->dynamic;
        for (uint64_t at = 0; at + size <= ph.p_filesz; at += size) {
            Elf64_Dyn entry = image_dynamic(file, bytes + at);
            if (entry.d_tag == DT_NULL)
                break;
            read_entry(d, &entry);
            if (entry.d_tag == DT_INIT || entry.d_tag == DT_FINI)
                d->init_fini[entry.d_tag == DT_FINI] = ph.p_vaddr + at + size / 2;
        }
    }
    module->text_relocations = d->text_relocations;
}
