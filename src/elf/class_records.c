/*
 * Reads records of 32-bit and 64-bit files as 64-bit ones (gABI, chapters 4 and 5). All are
 * little-endian. Arm, the only 32-bit machine here, does not sign-extend addresses.
 */
#include "elf/image.h"

static const struct record_sizes records64 = {
    sizeof(uint64_t),   sizeof(Elf64_Ehdr), sizeof(Elf64_Phdr),
    sizeof(Elf64_Shdr), sizeof(Elf64_Sym),  sizeof(Elf64_Dyn),
    sizeof(Elf64_Rel),  sizeof(Elf64_Rela), sizeof(Elf64_Chdr)};
static const struct record_sizes records32 = {
    sizeof(uint32_t),   sizeof(Elf32_Ehdr), sizeof(Elf32_Phdr),
    sizeof(Elf32_Shdr), sizeof(Elf32_Sym),  sizeof(Elf32_Dyn),
    sizeof(Elf32_Rel),  sizeof(Elf32_Rela), sizeof(Elf32_Chdr)};

const struct record_sizes *record_sizes_of(uint8_t elf_class) {
    return elf_class == ELFCLASS64 ? &records64 : elf_class == ELFCLASS32 ? &records32 : NULL;
}

Elf64_Ehdr image_header(const struct image *image, const uint8_t *bytes) {
    if (!image_is_32bit(image))
        return LOAD(Elf64_Ehdr, bytes);
    Elf32_Ehdr h = LOAD(Elf32_Ehdr, bytes);
    Elf64_Ehdr header = {.e_type = h.e_type,
                         .e_machine = h.e_machine,
                         .e_version = h.e_version,
                         .e_entry = h.e_entry,
                         .e_phoff = h.e_phoff,
                         .e_shoff = h.e_shoff,
                         .e_flags = h.e_flags,
                         .e_ehsize = h.e_ehsize,
                         .e_phentsize = h.e_phentsize,
                         .e_phnum = h.e_phnum,
                         .e_shentsize = h.e_shentsize,
                         .e_shnum = h.e_shnum,
                         .e_shstrndx = h.e_shstrndx};
    memcpy(header.e_ident, h.e_ident, sizeof header.e_ident);
    return header;
}

Elf64_Phdr image_segment(const struct image *image, uint32_t index) {
    const uint8_t *at =
        image->bytes + image->header.e_phoff + (size_t)index * image->sizes->segment;
    if (!image_is_32bit(image))
        return LOAD(Elf64_Phdr, at);
    Elf32_Phdr h = LOAD(Elf32_Phdr, at);
    return (Elf64_Phdr){.p_type = h.p_type,
                        .p_flags = h.p_flags,
                        .p_offset = h.p_offset,
                        .p_vaddr = h.p_vaddr,
                        .p_paddr = h.p_paddr,
                        .p_filesz = h.p_filesz,
                        .p_memsz = h.p_memsz,
                        .p_align = h.p_align};
}

Elf64_Shdr image_section(const struct image *image, uint32_t index) {
    const uint8_t *at =
        image->bytes + image->header.e_shoff + (size_t)index * image->sizes->section;
    if (!image_is_32bit(image))
        return LOAD(Elf64_Shdr, at);
    Elf32_Shdr h = LOAD(Elf32_Shdr, at);
    return (Elf64_Shdr){.sh_name = h.sh_name,
                        .sh_type = h.sh_type,
                        .sh_flags = h.sh_flags,
                        .sh_addr = h.sh_addr,
                        .sh_offset = h.sh_offset,
                        .sh_size = h.sh_size,
                        .sh_link = h.sh_link,
                        .sh_info = h.sh_info,
                        .sh_addralign = h.sh_addralign,
                        .sh_entsize = h.sh_entsize};
}

Elf64_Sym image_symbol(const struct image *image, const uint8_t *bytes) {
    if (!image_is_32bit(image))
        return LOAD(Elf64_Sym, bytes);
    Elf32_Sym s = LOAD(Elf32_Sym, bytes);
    return (Elf64_Sym){.st_name = s.st_name,
                       .st_info = s.st_info,
                       .st_other = s.st_other,
                       .st_shndx = s.st_shndx,
                       .st_value = s.st_value,
                       .st_size = s.st_size};
}

Elf64_Dyn image_dynamic(const struct image *image, const uint8_t *bytes) {
    if (!image_is_32bit(image))
        return LOAD(Elf64_Dyn, bytes);
    Elf32_Dyn d = LOAD(Elf32_Dyn, bytes);
    return (Elf64_Dyn){.d_tag = d.d_tag, .d_un = {.d_val = d.d_un.d_val}};
}

Elf64_Rela image_relocation(const struct image *image, const uint8_t *bytes, bool addends) {
    Elf64_Rela rela = {0};
    if (!image_is_32bit(image)) {
        memcpy(&rela, bytes, addends ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel));
        return rela;
    }
    Elf32_Rela r = {0};
    memcpy(&r, bytes, addends ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel));
    rela.r_offset = r.r_offset;
    rela.r_info = ELF64_R_INFO((uint64_t)ELF32_R_SYM(r.r_info), ELF32_R_TYPE(r.r_info));
    rela.r_addend = r.r_addend;
    return rela;
}

Elf64_Chdr image_compression(const struct image *image, const uint8_t *bytes) {
    if (!image_is_32bit(image))
        return LOAD(Elf64_Chdr, bytes);
    Elf32_Chdr h = LOAD(Elf32_Chdr, bytes);
    return (Elf64_Chdr){.ch_type = h.ch_type, .ch_size = h.ch_size, .ch_addralign = h.ch_addralign};
}

uint64_t image_word(const struct image *image, const uint8_t *bytes) {
    return image_is_32bit(image) ? LOAD(uint32_t, bytes) : LOAD(uint64_t, bytes);
}

int64_t image_signed_word(const struct image *image, const uint8_t *bytes) {
    return image_is_32bit(image) ? LOAD(int32_t, bytes) : LOAD(int64_t, bytes);
}
