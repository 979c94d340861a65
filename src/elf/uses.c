#include "elf/uses.h"

#include <fcntl.h>

#include "base/mem.h"
#include "elf/image.h"

static bool is_dynamic(const struct image *image) {
    for (uint32_t i = 0; i < image->segment_count; i++)
        if (image_segment(image, i).p_type == PT_INTERP)
            return true;
    return false;
}

/* The first symbol is none. */
static bool has_symbol(const struct image *image, uint32_t table, const char *name) {
    Elf64_Shdr section = image_section(image, table);
    const uint8_t *symbols = image_section_bytes(image, &section);
    if (!symbols || section.sh_link >= image->section_count)
        return false;
    Elf64_Shdr names = image_section(image, section.sh_link);
    const uint8_t *name_bytes = image_section_bytes(image, &names);
    struct strings strings = strings_of(name_bytes, name_bytes ? names.sh_size : 0);
    for (uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= section.sh_size;
         at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol = LOAD(Elf64_Sym, symbols + at);
        const char *its = strings_at(&strings, symbol.st_name);
        if (its && strcmp(its, name) == 0)
            return true;
    }
    return false;
}

bool elf_uses(const char *path, const char *function) {
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct image image = {0};
    if (fd < 0 || image_open(&image, fd, path, NULL) < 0)
        return false;
    uint32_t type = is_dynamic(&image) ? SHT_DYNSYM : SHT_SYMTAB;
    uint32_t table = image_find_section(&image, NULL, type);
    bool uses = table && has_symbol(&image, table, function);
    image_close(&image);
    return uses;
}
