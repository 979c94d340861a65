/* Opens a file by its path and searches its symbols or its code. */
#include "elf/file_checks.h"

#include <fcntl.h>

#include "base/mem.h"
#include "elf/image.h"

static bool is_dynamic(const struct image *image) {
    for (uint32_t i = 0; i < image->segment_count; i++)
        if (image_segment(image, i).p_type == PT_INTERP)
            return true;
    return false;
}

/* Whether section TABLE has symbol NAME; UNDEFINED: as an undefined one. Symbol 0 is none. */
static bool has_symbol(const struct image *image, uint32_t table, const char *name,
                       bool undefined) {
    Elf64_Shdr section = image_section(image, table);
    const uint8_t *symbols = image_section_bytes(image, &section);
    if (!symbols || section.sh_link >= image->section_count)
        return false;
    Elf64_Shdr names = image_section(image, section.sh_link);
    const uint8_t *name_bytes = image_section_bytes(image, &names);
    struct strings strings = strings_of(name_bytes, name_bytes ? names.sh_size : 0);
    const size_t size = image->sizes->symbol;
    for (uint64_t at = size; at + size <= section.sh_size; at += size) {
        Elf64_Sym symbol = image_symbol(image, symbols + at);
        const char *found = strings_at(&strings, symbol.st_name);
        if (found && strcmp(found, name) == 0 && (!undefined || symbol.st_shndx == SHN_UNDEF))
            return true;
    }
    return false;
}

static bool open_image(const char *path, struct image *ret) {
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret = (struct image){0};
    return fd >= 0 && image_open(ret, fd, path, NULL) == 0;
}

bool elf_program_uses(const char *path, const char *function) {
    struct image image;
    if (!open_image(path, &image))
        return false;
    uint32_t type = is_dynamic(&image) ? SHT_DYNSYM : SHT_SYMTAB;
    uint32_t table = image_find_section(&image, NULL, type);
    bool uses = table && has_symbol(&image, table, function, false);
    image_close(&image);
    return uses;
}

bool elf_imports(const char *path, const char *function) {
    struct image image;
    if (!open_image(path, &image))
        return false;
    uint32_t dynamic = image_find_section(&image, NULL, SHT_DYNSYM);
    uint32_t table = dynamic ? dynamic : image_find_section(&image, NULL, SHT_SYMTAB);
    bool needs = table && has_symbol(&image, table, function, dynamic);
    image_close(&image);
    return needs;
}

bool elf_has_code(const char *path, bool (*is)(const uint8_t *bytes, size_t size)) {
    struct image image;
    bool has = false;
    if (!open_image(path, &image))
        return false;
    for (uint32_t i = 0; i < image.segment_count && !has; i++) {
        Elf64_Phdr s = image_segment(&image, i);
        const uint8_t *bytes = s.p_type == PT_LOAD && s.p_flags & PF_X
                                   ? image_at(&image, s.p_offset, s.p_filesz)
                                   : NULL;
        has = bytes && is(bytes, s.p_filesz);
    }
    image_close(&image);
    return has;
}
