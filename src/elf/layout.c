/*
 * Segments, sections and the build ID. The kernel maps segments, so these decide where bytes are. A
 * section that contradicts them is left out.
 */
#include <errno.h>

#include "elf/internal.h"
#include "elf/sort.h"

static int check_segment(const struct module *module, const Elf64_Phdr *ph, struct err *err) {
    if (ph->p_filesz > ph->p_memsz || ph->p_vaddr + ph->p_memsz < ph->p_vaddr)
        return err_set(err, ENOEXEC, "corrupt-elf", "%s: a segment has an impossible size",
                       module->path);
    if (!image_at(&module->priv->file, ph->p_offset, ph->p_filesz))
        return err_set(err, ENOEXEC, "truncated-elf", "%s: ends within a segment: %s", module->path,
                       "copy or install it again");
    return 0;
}

static void set_spans(struct module *module) {
    module->low = module->text_low = UINT64_MAX;
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct segment *s = module->segments + i;
        vaddr_t end = s->start + s->size;
        module->low = s->start < module->low ? s->start : module->low;
        module->high = end > module->high ? end : module->high;
        if (!s->executable)
            continue;
        module->text_low = s->start < module->text_low ? s->start : module->text_low;
        module->text_high = end > module->text_high ? end : module->text_high;
        module->text_bytes += s->size;
    }
    if (!module->text_bytes)
        module->text_low = 0;
}

int layout_read_segments(struct module *module, struct err *err) {
    const struct image *file = &module->priv->file;
    ARRAY(struct segment) segments = {0};
    int r = 0;
    for (uint32_t i = 0; i < file->segment_count && !r; i++) {
        Elf64_Phdr ph = image_segment(file, i);
        if (ph.p_type != PT_LOAD || !ph.p_memsz)
            continue;
        r = check_segment(module, &ph, err);
        struct segment segment = {.start = ph.p_vaddr, .size = ph.p_memsz, .offset = ph.p_offset};
        segment.file_size = ph.p_filesz;
        segment.bytes = image_at(file, ph.p_offset, ph.p_filesz);
        segment.readable = ph.p_flags & PF_R;
        segment.writable = ph.p_flags & PF_W;
        segment.executable = ph.p_flags & PF_X;
        ARRAY_PUSH(&segments, segment);
    }
    module->segments = segments.at;
    module->segment_count = segments.count;
    if (r)
        return r;
    if (!segments.count)
        return err_set(err, ENOEXEC, "corrupt-elf", "%s: has no loadable segment", module->path);
    sort_by_address(segments.at, segments.count, sizeof *segments.at);
    for (size_t i = 1; i < segments.count; i++)
        if (segments.at[i].start - segments.at[i - 1].start < segments.at[i - 1].size)
            return err_set(err, ENOEXEC, "corrupt-elf", "%s: its segments overlap", module->path);
    set_spans(module);
    return 0;
}

typedef ARRAY(struct section) section_list;

static bool is_plt(const char *name) {
    if (name[0] == '.' && name[1] == 'i')
        name++; /* .iplt */
    else if (name[0] != '.')
        return false;
    return strncmp(name + 1, "plt", 3) == 0 && (name[4] == '\0' || name[4] == '.');
}

/* Adds SH if it is allocated and within one segment. .tbss has no memory. */
static void add_section(const struct module *module, const Elf64_Shdr *sh, section_list *list) {
    bool nobits = sh->sh_type == SHT_NOBITS;
    if (!(sh->sh_flags & SHF_ALLOC) || !sh->sh_size || (nobits && (sh->sh_flags & SHF_TLS)))
        return;
    const struct segment *segment = module_segment_at(module, sh->sh_addr);
    if (!segment || sh->sh_size > segment->size - (sh->sh_addr - segment->start))
        return;
    const char *name = image_section_name(&module->priv->file, sh);
    struct section section = {.start = sh->sh_addr, .size = sh->sh_size, .name = name};
    section.writable = sh->sh_flags & SHF_WRITE;
    section.executable = sh->sh_flags & SHF_EXECINSTR;
    section.plt = is_plt(name);
    if (!nobits)
        section.bytes = module_bytes(module, sh->sh_addr, sh->sh_size);
    if (nobits || section.bytes)
        ARRAY_PUSH(list, section);
}

/* Without section headers: a segment's bytes in the file, and its zeros, become sections. */
static void add_segment_parts(const struct segment *s, section_list *list) {
    struct section section = {.start = s->start, .size = s->file_size, .bytes = s->bytes};
    section.name = s->executable ? "(code)" : s->writable ? "(data)" : "(constants)";
    section.writable = s->writable;
    section.executable = s->executable;
    if (section.size)
        ARRAY_PUSH(list, section);
    section.start += s->file_size;
    section.size = s->size - s->file_size;
    section.bytes = NULL;
    if (section.size)
        ARRAY_PUSH(list, section);
}

void layout_read_sections(struct module *module) {
    const struct image *file = &module->priv->file;
    section_list list = {0};
    for (uint32_t i = 1; i < file->section_count; i++) {
        Elf64_Shdr sh = image_section(file, i);
        add_section(module, &sh, &list);
    }
    for (size_t i = 0; !file->section_count && i < module->segment_count; i++)
        add_segment_parts(module->segments + i, &list);
    sort_by_address(list.at, list.count, sizeof *list.at);
    size_t kept = 0;
    for (size_t i = 0; i < list.count; i++)
        if (!kept || list.at[i].start - list.at[kept - 1].start >= list.at[kept - 1].size)
            list.at[kept++] = list.at[i];
    module->sections = list.at;
    module->section_count = kept;
}

/* Notes are padded to 4 bytes, or to 8 if that is the table's alignment (gABI, "Note Section"). */
static size_t find_build_id(const uint8_t *p, uint64_t left, uint64_t align,
                            uint8_t ret[static 32]) {
    uint64_t mask = align == 8 ? 7 : 3;
    while (p && left >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note = LOAD(Elf64_Nhdr, p);
        uint64_t desc = (sizeof note + note.n_namesz + mask) & ~mask;
        uint64_t next = (desc + note.n_descsz + mask) & ~mask;
        if (desc + note.n_descsz > left)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 32 &&
            memcmp(p + sizeof note, "GNU", 4) == 0) {
            memcpy(ret, p + desc, note.n_descsz);
            return note.n_descsz;
        }
        if (next > left)
            return 0;
        p += next;
        left -= next;
    }
    return 0;
}

size_t layout_build_id(const struct image *image, uint8_t ret[static 32]) {
    size_t size = 0;
    for (uint32_t i = 1; i < image->section_count && !size; i++) {
        Elf64_Shdr sh = image_section(image, i);
        if (sh.sh_type == SHT_NOTE)
            size = find_build_id(image_section_bytes(image, &sh), sh.sh_size, sh.sh_addralign, ret);
    }
    for (uint32_t i = 0; i < image->segment_count && !size; i++) {
        Elf64_Phdr ph = image_segment(image, i);
        if (ph.p_type == PT_NOTE)
            size = find_build_id(image_at(image, ph.p_offset, ph.p_filesz), ph.p_filesz, ph.p_align,
                                 ret);
    }
    return size;
}
