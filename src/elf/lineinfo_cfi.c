/*
 * Call-frame information of an image, by libdw.
 *
 * .debug_frame still describes functions that the linker discarded, at address 0 (see
 * lineinfo_dwarf.c). libdw would find these first, so they are removed from its copy of the section
 * before the first lookup.
 */
#include <gelf.h>
#include <string.h>

#include "elf/lineinfo_internal.h"

static Elf_Data *find_section(Elf *elf, const char *name) {
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        const char *found =
            gelf_getshdr(s, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (found && header.sh_type != SHT_NOBITS && strcmp(found, name) == 0)
            return elf_rawdata(s, NULL);
    }
    return NULL;
}

/* AT: LEFT bytes of an FDE, from its start address and length on. If the code was discarded, sets
 * an empty range, which libdw never finds. */
static void clear_fde(const struct lineinfo *info, uint8_t *at, uint64_t left) {
    size_t size = info->is_64bit ? 8 : 4;
    uint64_t start = 0;
    if (left < 2 * size)
        return;
    memcpy(&start, at, size);
    if (!lineinfo_is_discarded(info, start))
        return;
    memset(at, 0xff, size);
    memset(at + size, 0, size);
}

/* Entries (DWARF 5, 6.4.1) have a length and the offset of a CIE. The length has 32 bits, or 64
 * bits behind a mark of 32 ones. The offset is all ones in a CIE. */
static void drop_discarded_fdes(const struct lineinfo *info, uint8_t *at, uint64_t left) {
    while (left > 4) {
        uint64_t length = 0, cie = 0;
        memcpy(&length, at, 4);
        size_t wide = length == UINT32_MAX ? 8 : 4, head = wide == 8 ? 12 : 4;
        if (left < head + wide)
            return;
        if (wide == 8)
            memcpy(&length, at + 4, 8);
        if (length < wide || length > left - head)
            return;
        memcpy(&cie, at + head, wide);
        if (cie != (wide == 8 ? UINT64_MAX : UINT32_MAX))
            clear_fde(info, at + head + wide, length - wide);
        at += head + length;
        left -= head + length;
    }
}

/* The bytes may be changed: libelf has a private copy, or maps the file privately
 * (ELF_C_READ_MMAP_PRIVATE, by libdwfl). */
static Dwarf_CFI *second_cfi(struct lineinfo *info) {
    GElf_Addr bias;
    Dwarf *dwarf = dwfl_module_getdwarf(info->module, &bias);
    Elf_Data *frames = dwarf ? find_section(dwarf_getelf(dwarf), ".debug_frame") : NULL;
    if (!frames || !frames->d_buf)
        return NULL;
    if (!info->is_filtered)
        drop_discarded_fdes(info, frames->d_buf, frames->d_size);
    info->is_filtered = true;
    return dwfl_module_dwarf_cfi(info->module, &bias);
}

Dwarf_CFI *lineinfo_cfi(struct lineinfo *info, bool second) {
    GElf_Addr bias;
    return second ? second_cfi(info) : dwfl_module_eh_cfi(info->module, &bias);
}
