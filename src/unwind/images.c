/* Opens the files of executable maps and reads their call-frame information, facts and bytes. */
#include "unwind/images.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/regs.h"
#include "base/page.h"
#include "base/search.h"
#include "target/memory.h"

struct image_cfi {
    dev_t device; /* device, inode and origin are those of the file's maps */
    uint64_t inode;
    taddr_t origin; /* of file offset 0 */
    int fd;
    Elf *elf;
    const char *bytes; /* the whole file */
    size_t size;
    Dwarf_CFI *eh; /* .eh_frame */
    Dwarf *dwarf;  /* .debug_frame: opened when .eh_frame has no row */
    bool tried_dwarf;
    taddr_t bias;
    struct image_facts facts;
};

int unwind_image(int memory_fd, const struct map *map) {
    enum { MOST_BYTES = 1 << 20 };
    size_t size = map->end - map->start;
    if (size > MOST_BYTES)
        return -1;
    AUTO_FREE uint8_t *bytes = mem_alloc(size);
    AUTO_FD int fd = memfd_create("image", MFD_CLOEXEC);
    if (fd < 0 || memory_read(memory_fd, map->start, bytes, size, NULL) < 0 ||
        write(fd, bytes, size) != (ssize_t)size)
        return -1;
    int ret = fd;
    fd = -1;
    return ret;
}

/* ---- one file ---- */

/* Finds the bias by the segment that MAP maps. */
static bool find_bias(Elf *elf, const struct map *map, taddr_t *ret) {
    size_t count;
    GElf_Phdr p;
    if (elf_getphdrnum(elf, &count) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        uint64_t first = page_down(p.p_offset);
        if (map->offset < first || map->offset >= p.p_offset + p.p_filesz)
            continue;
        *ret = map->start - (p.p_vaddr + (map->offset - p.p_offset));
        return true;
    }
    return false;
}

static bool is_own_machine(Elf *elf) {
    GElf_Ehdr header;
    return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
           header.e_machine == REGS_ELF_MACHINE && header.e_ident[EI_CLASS] == REGS_ELF_CLASS;
}

static void find_facts(struct image_cfi *i) {
    GElf_Ehdr header;
    GElf_Phdr p;
    size_t count;
    if (!gelf_getehdr(i->elf, &header) || elf_getphdrnum(i->elf, &count) < 0)
        return;
    if (header.e_entry)
        i->facts.entry = i->bias + header.e_entry;
    for (size_t k = 0; k < count && header.e_machine == EM_ARM; k++)
        if (gelf_getphdr(i->elf, (int)k, &p) && p.p_type == PT_ARM_EXIDX)
            i->facts.exidx = (struct span){i->bias + p.p_vaddr, i->bias + p.p_vaddr + p.p_filesz};
}

static void open_file(struct image_cfi *i, const struct unwind_files *files,
                      const struct map *map) {
    i->fd = files->open(files->ctx, map);
    if (i->fd < 0)
        return;
    elf_version(EV_CURRENT);
    i->elf = elf_begin(i->fd, ELF_C_READ_MMAP, NULL);
    if (i->elf && is_own_machine(i->elf) && find_bias(i->elf, map, &i->bias)) {
        i->bytes = elf_rawfile(i->elf, &i->size);
        i->eh = dwarf_getcfi_elf(i->elf);
        find_facts(i);
        return;
    }
    elf_end(i->elf);
    i->elf = NULL;
}

/* libdw decompresses debugging information when it opens it, which is slow. So it is opened only
 * for files that have this section. */
static bool has_debug_frame(Elf *elf) {
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return false;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        const char *name = gelf_getshdr(s, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && strcmp(name, ".debug_frame") == 0)
            return true;
    }
    return false;
}

static Dwarf_CFI *second_cfi(struct image_cfi *i) {
    if (!i->tried_dwarf && i->elf && has_debug_frame(i->elf))
        i->dwarf = dwarf_begin_elf(i->elf, DWARF_C_READ, NULL);
    i->tried_dwarf = true;
    return i->dwarf ? dwarf_getcfi(i->dwarf) : NULL;
}

static void close_file(struct image_cfi *i) {
    if (i->eh)
        dwarf_cfi_end(i->eh);
    if (i->dwarf)
        dwarf_end(i->dwarf);
    elf_end(i->elf);
    if (i->fd >= 0)
        close(i->fd);
    free(i);
}

/* ---- all ---- */

void images_init(struct images *images, const struct maps *maps, const struct unwind_files *files) {
    *images = (struct images){.files = *files};
    for (size_t i = 0; i < maps->list.count; i++)
        if (maps->list.at[i].executable)
            ARRAY_PUSH(&images->code, (struct code){.map = &maps->list.at[i]});
}

void images_done(struct images *images) {
    for (size_t i = 0; i < images->open.count; i++)
        close_file(images->open.at[i]);
    ARRAY_FREE(&images->open);
    ARRAY_FREE(&images->code);
}

struct code *images_at(const struct images *images, taddr_t pc) {
    size_t i = SEARCH(k, images->code.count, images->code.at[k].map->end <= pc);
    if (i == images->code.count || images->code.at[i].map->start > pc)
        return NULL;
    return &images->code.at[i];
}

static struct image_cfi *image_of(struct images *images, const struct map *map) {
    taddr_t origin = map->start - map->offset;
    for (size_t i = 0; map->inode && i < images->open.count; i++) {
        struct image_cfi *known = images->open.at[i];
        if (known->inode == map->inode && known->device == map->device && known->origin == origin)
            return known;
    }
    struct image_cfi *image = mem_alloc(sizeof *image);
    *image = (struct image_cfi){map->device, map->inode, origin, .fd = -1};
    if (map->path[0])
        open_file(image, &images->files, map);
    ARRAY_PUSH(&images->open, image);
    return image;
}

static struct image_cfi *open_image(struct images *images, struct code *code) {
    if (!code->cfi)
        code->cfi = image_of(images, code->map);
    return code->cfi;
}

void images_open(struct images *images) {
    for (size_t i = 0; i < images->code.count; i++)
        open_image(images, &images->code.at[i]);
}

bool images_bytes(struct images *images, struct code *code, taddr_t pc, void *ret, size_t size) {
    const struct image_cfi *image = open_image(images, code);
    uint64_t offset = pc - code->map->start + code->map->offset;
    if (!image->bytes || pc < code->map->start || code->map->end - pc < size ||
        offset > image->size || image->size - offset < size)
        return false;
    memcpy(ret, image->bytes + offset, size);
    return true;
}

Dwarf_CFI *images_cfi(struct images *images, struct code *code, taddr_t pc, bool second,
                      vaddr_t *ret_addr) {
    struct image_cfi *image = open_image(images, code);
    *ret_addr = pc - image->bias;
    return second ? second_cfi(image) : image->eh;
}

struct image_facts images_facts(struct images *images, struct code *code) {
    return open_image(images, code)->facts;
}

bool images_constants(struct images *images, struct code *code, taddr_t at, void *ret,
                      size_t size) {
    const struct image_cfi *image = open_image(images, code);
    size_t count = 0;
    GElf_Phdr p;
    if (!image->bytes || elf_getphdrnum(image->elf, &count) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = at - image->bias;
        if (!gelf_getphdr(image->elf, (int)i, &p) || p.p_type != PT_LOAD || p.p_flags & PF_W)
            continue;
        offset -= p.p_vaddr;
        if (offset < p.p_filesz && p.p_filesz - offset >= size &&
            p.p_offset + offset <= image->size && image->size - (p.p_offset + offset) >= size) {
            memcpy(ret, image->bytes + p.p_offset + offset, size);
            return true;
        }
    }
    return false;
}
