/* Opens and validates images. Files are mapped, so only the pages that are used are read. */
#include "elf/image.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/mem.h"

/* 32-bit files are supported for machines with a backend: Arm. */
static bool is_supported_32bit(const struct image *image) {
    const uint8_t *machine = image->bytes + offsetof(Elf32_Ehdr, e_machine);
    return image->size >= offsetof(Elf32_Ehdr, e_version) && image->bytes[EI_DATA] == ELFDATA2LSB &&
           LOAD(uint16_t, machine) == EM_ARM;
}

/* Checks the identification bytes, before any other field is read. */
static int check_ident(struct image *image, const char *name, struct err *err) {
    const uint8_t *ident = image->bytes;
    if (image->size < SELFMAG || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, ENOEXEC, "not-elf", "%s: not an ELF program or library", name);
    if (image->size < EI_NIDENT)
        return err_set(err, ENOEXEC, "truncated-elf", "%s: ends within its ELF header", name);
    image->sizes = record_sizes_of(ident[EI_CLASS]);
    if (ident[EI_CLASS] == ELFCLASS32 && !is_supported_32bit(image))
        return err_set(err, ENOTSUP, "elf-class",
                       "%s: is a 32-bit program: spoor traces 64-bit ones", name);
    if (!image->sizes || ident[EI_VERSION] != EV_CURRENT)
        return err_set(err, ENOEXEC, "corrupt-elf", "%s: its ELF identification is invalid", name);
    if (ident[EI_DATA] == ELFDATA2MSB)
        return err_set(err, ENOTSUP, "elf-byte-order",
                       "%s: is a big-endian program: spoor traces little-endian ones", name);
    if (ident[EI_DATA] != ELFDATA2LSB)
        return err_set(err, ENOEXEC, "corrupt-elf", "%s: its ELF identification is invalid", name);
    return 0;
}

/*
 * The kernel ignores section headers, and packers and strippers damage them. So a malformed table
 * counts as absent. Large counts are in section 0 (gABI, "ELF Header").
 */
static void find_sections(struct image *image) {
    const Elf64_Ehdr *header = &image->header;
    const size_t size = image->sizes->section;
    if (!header->e_shoff || header->e_shentsize != size || !image_at(image, header->e_shoff, size))
        return;
    Elf64_Shdr zero = image_section(image, 0);
    uint64_t count = header->e_shnum ? header->e_shnum : zero.sh_size;
    if (count > (image->size - header->e_shoff) / size || count > UINT32_MAX)
        return;
    image->section_count = (uint32_t)count;
    uint32_t names = header->e_shstrndx == SHN_XINDEX ? zero.sh_link : header->e_shstrndx;
    if (names < count)
        image->section_names = image_section(image, names);
}

static int check_tables(struct image *image, const char *name, struct err *err) {
    if (image->size < image->sizes->header)
        return err_set(err, ENOEXEC, "truncated-elf", "%s: ends within its ELF header", name);
    image->header = image_header(image, image->bytes);
    const Elf64_Ehdr *header = &image->header;
    find_sections(image);
    uint64_t count = header->e_phnum;
    if (count == PN_XNUM && image->section_count)
        count = image_section(image, 0).sh_info;
    if (!count)
        return 0;
    if (header->e_phentsize != image->sizes->segment)
        return err_set(err, ENOEXEC, "corrupt-elf", "%s: its program headers have a bad size",
                       name);
    if (!image_at(image, header->e_phoff, count * image->sizes->segment))
        return err_set(err, ENOEXEC, "truncated-elf", "%s: ends before its program headers", name);
    image->segment_count = (uint32_t)count;
    return 0;
}

static int check_type(const struct image *image, const char *name, struct err *err) {
    if (image->header.e_type == ET_EXEC || image->header.e_type == ET_DYN)
        return 0;
    return err_set(err, ENOEXEC, "elf-type",
                   "%s: is neither a program nor a shared library (an object or core file?)", name);
}

static int validate(struct image *image, const char *name, struct err *err) {
    int r = check_ident(image, name, err);
    if (!r)
        r = check_tables(image, name, err);
    if (r)
        image_close(image);
    return r;
}

static int validate_type(struct image *image, const char *name, struct err *err) {
    int r = check_type(image, name, err);
    if (r)
        image_close(image);
    return r;
}

int image_open(struct image *image, int fd, const char *name, struct err *err) {
    int r = image_open_data(image, fd, name, err);
    return r ? r : validate_type(image, name, err);
}

/* Whether a file's pages may be others for a process that opened it earlier: overlays move files,
 * and programs serve FUSE. */
static bool has_several_pages(int fd) {
    struct statfs system;
    const uint32_t type =
        fstatfs(fd, &system) < 0 ? OVERLAYFS_SUPER_MAGIC : (uint32_t)system.f_type;
    return type == OVERLAYFS_SUPER_MAGIC || type == FUSE_SUPER_MAGIC;
}

int image_open_data(struct image *image, int fd, const char *name, struct err *err) {
    *image = (struct image){0};
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(err, errno, "open", "%s: %s", name, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(err, EISDIR, "open", "%s: %s", name, strerror(EISDIR));
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return err_set(err, ENOEXEC, "not-elf", "%s: not an ELF program or library", name);
    if ((uint64_t)st.st_size > SIZE_MAX)
        return err_set(err, EFBIG, "open", "%s: cannot map: %s", name, strerror(EFBIG));
    /* Shared: the kernel puts probes (uprobes) into private mappings, also into those of spoor. */
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    image->shared = bytes != MAP_FAILED && !has_several_pages(fd);
    if (bytes == MAP_FAILED) /* FUSE with direct I/O refuses it (ENODEV) */
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return err_set(err, errno, "open", "%s: cannot map: %s", name, strerror(errno));
    image->bytes = bytes;
    image->size = (size_t)st.st_size;
    image->mapped = true;
    return validate(image, name, err);
}

int image_adopt(struct image *image, uint8_t *bytes, size_t size, const char *name,
                struct err *err) {
    *image = (struct image){.bytes = bytes, .size = size};
    int r = validate(image, name, err);
    return r ? r : validate_type(image, name, err);
}

void image_close(struct image *image) {
    if (image->mapped)
        munmap((void *)image->bytes, image->size);
    else
        free((void *)image->bytes);
    *image = (struct image){0};
}

void image_leave(const struct image *image) {
    if (image->mapped)
        mem_leave_file(image->bytes, image->size);
}

const uint8_t *image_section_bytes(const struct image *image, const Elf64_Shdr *section) {
    if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL)
        return NULL;
    return image_at(image, section->sh_offset, section->sh_size);
}

const char *image_section_name(const struct image *image, const Elf64_Shdr *section) {
    const uint8_t *bytes = image_section_bytes(image, &image->section_names);
    struct strings names = strings_of(bytes, image->section_names.sh_size);
    const char *name = strings_at(&names, section->sh_name);
    return name ? name : "";
}

uint32_t image_find_section(const struct image *image, const char *name, uint32_t type) {
    for (uint32_t i = 1; i < image->section_count; i++) {
        Elf64_Shdr section = image_section(image, i);
        if (type != SHT_NULL && section.sh_type != type)
            continue;
        if (!name || strcmp(image_section_name(image, &section), name) == 0)
            return i;
    }
    return 0;
}

struct strings strings_of(const uint8_t *bytes, size_t size) {
    const uint8_t *last = bytes ? memrchr(bytes, 0, size) : NULL;
    return (struct strings){(const char *)bytes, last ? (size_t)(last - bytes) + 1 : 0};
}
