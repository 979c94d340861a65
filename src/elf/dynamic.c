/*
 * PT_DYNAMIC: what the dynamic linker itself goes by, so it is there and true even where section
 * headers are not.
 */
#include "elf/internal.h"

static void read_entry(struct dynamic *d, const Elf64_Dyn *entry) {
    uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
    case DT_SYMTAB:
        d->symbols = value;
        break;
    case DT_STRTAB:
        d->strings.addr = value;
        break;
    case DT_STRSZ:
        d->strings.size = value;
        break;
    case DT_HASH:
        d->hash = value;
        break;
    case DT_GNU_HASH:
        d->gnu_hash = value;
        break;
    case DT_PLTGOT:
        d->got = value;
        break;
    case DT_RELA:
        d->rela.addr = value;
        break;
    case DT_RELASZ:
        d->rela.size = value;
        break;
    case DT_REL:
        d->rel.addr = value;
        break;
    case DT_RELSZ:
        d->rel.size = value;
        break;
    case DT_RELR:
        d->relr.addr = value;
        break;
    case DT_RELRSZ:
        d->relr.size = value;
        break;
    case DT_JMPREL:
        d->plt.addr = value;
        break;
    case DT_PLTRELSZ:
        d->plt.size = value;
        break;
    case DT_PLTREL:
        d->plt_has_addends = value == DT_RELA;
        break;
    case DT_TEXTREL:
        d->text_relocations = true;
        break;
    case DT_FLAGS:
        d->text_relocations |= (value & DF_TEXTREL) != 0;
        break;
    }
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
        for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= ph.p_filesz; at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn entry = LOAD(Elf64_Dyn, bytes + at);
            if (entry.d_tag == DT_NULL)
                break;
            read_entry(d, &entry);
        }
    }
    module->text_relocations = d->text_relocations;
}
