/* Opens images, and combines symbols and DWARF into places. */
#include "elf/lineinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#include "elf/debuginfod.h"
#include "elf/demangle.h"
#include "elf/lineinfo_internal.h"

/* ---- opening ---- */

static int check_ident(const uint8_t *ident, size_t size, const char *path, struct err *err) {
    if (size < SELFMAG || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, ENOEXEC, "not-elf", "%s: not an ELF program or library", path);
    if (size < EI_NIDENT)
        return err_set(err, ENOEXEC, "truncated-elf", "%s: ends within its ELF header", path);
    if (ident[EI_DATA] == ELFDATA2MSB)
        return err_set(err, ENOTSUP, "elf-byte-order",
                       "%s: is a big-endian program: spoor reads little-endian ones", path);
    if (ident[EI_DATA] != ELFDATA2LSB || ident[EI_VERSION] != EV_CURRENT ||
        (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64))
        return err_set(err, ENOEXEC, "corrupt-elf", "%s: its ELF identification is invalid", path);
    return 0;
}

static int open_image(const char *path, int *ret_fd, struct err *err) {
    uint8_t ident[EI_NIDENT];
    struct stat st;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(err, EISDIR, "open", "%s: %s", path, strerror(EISDIR));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ENOEXEC, "not-elf", "%s: not an ELF program or library", path);
    ssize_t size = pread(fd, ident, sizeof ident, 0);
    if (size < 0)
        return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
    int rc = check_ident(ident, (size_t)size, path, err);
    if (rc == 0) {
        *ret_fd = fd;
        fd = -1;
    }
    return rc;
}

/* Checks the header only: other malformed parts count as absent. */
static int check_header(int fd, const char *path, struct lineinfo *info, struct err *err) {
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    GElf_Ehdr header;
    bool complete = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header);
    elf_end(elf);
    if (!complete)
        return err_set(err, ENOEXEC, "truncated-elf", "%s: ends within its ELF header", path);
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return err_set(err, ENOEXEC, "elf-type",
                       "%s: is neither a program nor a shared library (an object or core file?)",
                       path);
    info->machine = header.e_machine;
    info->is_64bit = header.e_ident[EI_CLASS] == ELFCLASS64;
    return 0;
}

static void add_segment(struct lineinfo *info, Elf *elf, const GElf_Phdr *p) {
    size_t size;
    const char *file = elf_rawfile(elf, &size);
    struct line_segment segment = {.span = {p->p_vaddr, p->p_vaddr + p->p_memsz}};
    if (p->p_type != PT_LOAD || segment.span.end <= segment.span.start)
        return;
    if (file && p->p_filesz <= p->p_memsz && p->p_offset <= size &&
        p->p_filesz <= size - p->p_offset) {
        segment.bytes = (const uint8_t *)file + p->p_offset;
        segment.size = p->p_filesz;
        segment.offset = p->p_offset;
    }
    ARRAY_PUSH(&info->segments, segment);
    if (p->p_flags & PF_X)
        ARRAY_PUSH(&info->code, segment.span);
    if (p->p_vaddr < info->low)
        info->low = p->p_vaddr;
}

static void read_segments(struct lineinfo *info, Elf *elf) {
    enum { PAGE = 4096 };
    size_t count = 0;
    info->low = UINT64_MAX;
    if (elf_getphdrnum(elf, &count) < 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(elf, (int)i, &p))
            add_segment(info, elf, &p);
    }
    info->low = info->segments.count ? info->low & ~(uint64_t)(PAGE - 1) : 0;
}

/* Replaces segments by sections: in firmware's segments constants are executable, too. */
static void read_sections(struct lineinfo *info, Elf *elf) {
    const GElf_Xword wanted = SHF_ALLOC | SHF_EXECINSTR;
    bool first = true;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        GElf_Shdr h;
        if (!gelf_getshdr(s, &h) || (h.sh_flags & wanted) != wanted || !h.sh_size ||
            h.sh_addr + h.sh_size < h.sh_addr)
            continue;
        if (first)
            info->code.count = 0;
        first = false;
        ARRAY_PUSH(&info->code, ((struct span){h.sh_addr, h.sh_addr + h.sh_size}));
    }
}

/* As libdwfl finds debug files, but by spoor's client of debuginfod, which does not wait for long.
 * libdwfl's own client asks the servers that the environment names at that moment. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **ret_path) {
    const unsigned char *id;
    GElf_Addr at;
    const char *urls = getenv("DEBUGINFOD_URLS");
    AUTO_FREE char *saved = urls && *urls ? mem_strdup(urls) : NULL;
    if (saved)
        unsetenv("DEBUGINFOD_URLS");
    int fd = dwfl_standard_find_debuginfo(module, data, name, base, file, link, crc, ret_path);
    if (saved)
        setenv("DEBUGINFOD_URLS", saved, 1);
    int size = fd < 0 && saved ? dwfl_module_build_id(module, &id, &at) : 0;
    return size > 0 ? debuginfod_open(id, (size_t)size, name) : fd;
}

/* Where debugging information is looked for. */
static const Dwfl_Callbacks anywhere = {.find_elf = dwfl_build_id_find_elf,
                                        .find_debuginfo = find_debuginfo,
                                        .section_address = dwfl_offline_section_address};
static const Dwfl_Callbacks this_machine = {.find_elf = dwfl_build_id_find_elf,
                                            .find_debuginfo = dwfl_build_id_find_debuginfo,
                                            .section_address = dwfl_offline_section_address};

/* Loads all tables of INFO, whose dwfl is open. Takes FD over. */
static int load_image(struct lineinfo *info, int fd, const char *path, struct err *err) {
    GElf_Addr bias;
    if (info->dwfl)
        info->module = dwfl_report_elf(info->dwfl, path, path, fd, 0, true);
    if (!info->module)
        close(fd);
    Elf *elf = info->module ? dwfl_module_getelf(info->module, &bias) : NULL;
    if (!elf)
        return err_set(err, ENOEXEC, "corrupt-elf", "%s: its headers are invalid", path);
    dwfl_report_end(info->dwfl, NULL, NULL);
    read_segments(info, elf);
    read_sections(info, elf);
    lineinfo_read_arm(info, elf);
    lineinfo_read_symbols(info);
    lineinfo_read_units(info);
    return 0;
}

static int open_by(const Dwfl_Callbacks *callbacks, const char *path, struct lineinfo **ret,
                   struct err *err) {
    int fd = -1;
    int rc = open_image(path, &fd, err);
    if (rc < 0)
        return rc;
    struct lineinfo *info = mem_alloc(sizeof *info);
    info->dwfl = dwfl_begin(callbacks);
    rc = check_header(fd, path, info, err);
    if (rc == 0)
        rc = load_image(info, fd, path, err);
    else
        close(fd);
    if (rc == 0)
        *ret = info;
    else
        lineinfo_close(info);
    return rc;
}

int lineinfo_open(const char *path, struct lineinfo **ret, struct err *err) {
    return open_by(&anywhere, path, ret, err);
}

int lineinfo_open_local(const char *path, struct lineinfo **ret, struct err *err) {
    return open_by(&this_machine, path, ret, err);
}

void lineinfo_close(struct lineinfo *info) {
    if (!info)
        return;
    if (info->dwfl)
        dwfl_end(info->dwfl);
    ARRAY_FREE(&info->code);
    ARRAY_FREE(&info->segments);
    ARRAY_FREE(&info->symbols);
    ARRAY_FREE(&info->units);
    free(info);
}

bool lineinfo_has_id(const struct lineinfo *info, const uint8_t *id, size_t size) {
    const unsigned char *found;
    GElf_Addr at;
    if (!size)
        return true;
    int found_size = dwfl_module_build_id(info->module, &found, &at);
    return found_size == (int)size && memcmp(found, id, size) == 0;
}

uint16_t lineinfo_machine(const struct lineinfo *info) { return info->machine; }
bool lineinfo_is_64bit(const struct lineinfo *info) { return info->is_64bit; }
vaddr_t lineinfo_lowest_page(const struct lineinfo *info) { return info->low; }

/* ---- addresses ---- */

static bool is_code(const struct lineinfo *info, vaddr_t addr) {
    for (size_t i = 0; i < info->code.count; i++)
        if (addr >= info->code.at[i].start && addr < info->code.at[i].end)
            return true;
    return false;
}

/* The low BITS of ADDR, sign-extended by bit 55. */
static vaddr_t strip(uint64_t addr, unsigned bits) {
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    return addr >> 55 & 1 ? addr | ~mask : addr & mask;
}

/* Tries AArch64's address widths: mostly 48 bits, or 39 (a small kernel), or 52. BACK is subtracted
 * before the check. */
static bool find_code(const struct lineinfo *info, uint64_t addr, unsigned back, vaddr_t *ret) {
    static const uint8_t widths[] = {56, 52, 48, 47, 42, 39, 36};
    if (info->machine == EM_ARM)
        addr &= ~(uint64_t)1;
    *ret = addr;
    if (is_code(info, addr - back))
        return true;
    for (size_t i = 0; info->machine == EM_AARCH64 && i < sizeof widths; i++) {
        *ret = strip(addr, widths[i]);
        if (is_code(info, *ret - back))
            return true;
    }
    return false;
}

bool lineinfo_find_code(const struct lineinfo *info, uint64_t addr, vaddr_t *ret) {
    return find_code(info, addr, 0, ret);
}

bool lineinfo_find_return(const struct lineinfo *info, uint64_t addr, vaddr_t *ret) {
    return find_code(info, addr, 1, ret);
}

const uint8_t *lineinfo_bytes(const struct lineinfo *info, vaddr_t addr, size_t *ret_size) {
    for (size_t i = 0; i < info->segments.count; i++) {
        const struct line_segment *s = &info->segments.at[i];
        if (addr >= s->span.start && addr - s->span.start < s->size) {
            *ret_size = s->size - (addr - s->span.start);
            return s->bytes + (addr - s->span.start);
        }
    }
    return NULL;
}

bool lineinfo_at_offset(const struct lineinfo *info, uint64_t offset, vaddr_t *ret) {
    for (size_t i = 0; i < info->segments.count; i++) {
        const struct line_segment *s = &info->segments.at[i];
        if (s->size && offset >= s->offset && offset - s->offset < s->size) {
            *ret = s->span.start + (offset - s->offset);
            return true;
        }
    }
    return false;
}

struct span lineinfo_text(const struct lineinfo *info) {
    struct span all = {UINT64_MAX, 0};
    for (size_t i = 0; i < info->code.count; i++) {
        const struct span *s = &info->code.at[i];
        all.start = s->start < all.start ? s->start : all.start;
        all.end = s->end > all.end ? s->end : all.end;
    }
    return info->code.count ? all : (struct span){0, 0};
}

/* ---- places ---- */

void lineinfo_find(struct lineinfo *info, vaddr_t addr, bool is_return, struct line_place *ret) {
    line_frames frames = {0};
    vaddr_t lookup = addr - is_return, start = lookup;
    lineinfo_dwarf_frames(info, lookup, &frames, &start);
    const struct named *symbol = lineinfo_symbol(info, lookup);
    if (!frames.count)
        ARRAY_PUSH(&frames, (struct line_frame){0});
    struct line_frame *body = &frames.at[frames.count - 1];
    if (symbol) {
        free(body->function);
        free(body->symbol);
        body->symbol = mem_strdup(symbol->name);
        body->function = demangle(symbol->name);
        start = symbol->addr;
    }
    *ret = (struct line_place){frames.at, frames.count, body->function ? addr - start : 0};
}

void line_place_done(struct line_place *place) {
    for (size_t i = 0; i < place->count; i++) {
        free(place->frames[i].function);
        free(place->frames[i].symbol);
        free(place->frames[i].file);
    }
    free(place->frames);
    *place = (struct line_place){0};
}
