/* Writes header, sections, their names, and the table of sections. */
#include "types/unpacked.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "elf/unpack_stream.h"

enum { ALIGN = 16 };

struct part {       /* a section that is kept */
    uint32_t index; /* in the other file */
    uint64_t offset, size;
    uint32_t name; /* offset in `names` */
};

struct plan {
    const struct image *image;
    ARRAY(struct part) parts;
    ARRAY(char) names;
};

static const char *const wanted[] = {"info",     "abbrev", "str",        "line_str",
                                     "ranges",   "loc",    "rnglists",   "types",
                                     "loclists", "addr",   "str_offsets"};

/* The name of a section that is needed, uncompressed. NULL: it is not. To be freed. */
static char *plain_name(const char *name) {
    if (strcmp(name, ".gnu_debugaltlink") == 0)
        return mem_strdup(name);
    bool packed = strncmp(name, ".zdebug_", 8) == 0;
    if (!packed && strncmp(name, ".debug_", 7) != 0)
        return NULL;
    const char *kind = name + (packed ? 8 : 7);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(kind, wanted[i]) == 0)
            return mem_printf(".debug_%s", kind);
    return NULL;
}

static char *wanted_name(const struct image *image, uint32_t index) {
    Elf64_Shdr sh = image_section(image, index);
    const char *name = image_section_name(image, &sh);
    return name && sh.sh_type != SHT_NOBITS ? plain_name(name) : NULL;
}

bool unpacked_is_needed(const struct image *image) {
    for (uint32_t i = 1; i < image->section_count; i++) {
        AUTO_FREE char *name = wanted_name(image, i);
        uint64_t size;
        bool packed;
        if (name && unpack_size(image, i, &size, &packed) && packed)
            return true;
    }
    return false;
}

static uint32_t add_name(struct plan *p, const char *name) {
    size_t at = p->names.count;
    for (size_t i = 0; i <= strlen(name); i++)
        ARRAY_PUSH(&p->names, name[i]);
    return (uint32_t)at;
}

static uint64_t aligned(uint64_t offset) { return (offset + ALIGN - 1) & ~(uint64_t)(ALIGN - 1); }

static uint64_t end_of(const struct plan *p) {
    if (!p->parts.count)
        return sizeof(Elf64_Ehdr);
    const struct part *last = &p->parts.at[p->parts.count - 1];
    return last->offset + last->size;
}

static void make_plan(const struct image *image, struct plan *p) {
    enum { MOST = 64 };
    p->image = image;
    add_name(p, "");
    for (uint32_t i = 1; i < image->section_count && p->parts.count < MOST; i++) {
        AUTO_FREE char *name = wanted_name(image, i);
        uint64_t size;
        bool packed;
        if (!name || !unpack_size(image, i, &size, &packed) || size > UINT64_MAX / MOST / 2)
            continue;
        struct part part = {i, aligned(end_of(p)), size, add_name(p, name)};
        ARRAY_PUSH(&p->parts, part);
    }
}

static void put(void *ctx, const void *bytes, size_t count) { flat_put(ctx, bytes, count); }

static void put_zeros(struct flat_writer *w, uint64_t count) {
    static const uint8_t zeros[4096];
    for (; count && !w->failed; count -= count < sizeof zeros ? count : sizeof zeros)
        flat_put(w, zeros, count < sizeof zeros ? (size_t)count : sizeof zeros);
}

static void write_part(const struct plan *p, const struct part *part, struct flat_writer *w) {
    flat_align(w);
    uint64_t begin = w->size;
    unpack_stream(p->image, part->index, put, w);
    put_zeros(w, part->size - (w->size - begin));
}

static void write_table(struct plan *p, uint32_t own_name, struct flat_writer *w) {
    Elf64_Shdr none = {0};
    flat_put(w, &none, sizeof none);
    for (size_t i = 0; i < p->parts.count; i++) {
        const struct part *part = &p->parts.at[i];
        Elf64_Shdr sh = {.sh_name = part->name, .sh_type = SHT_PROGBITS, .sh_addralign = 1};
        sh.sh_offset = part->offset;
        sh.sh_size = part->size;
        flat_put(w, &sh, sizeof sh);
    }
    Elf64_Shdr names = {.sh_name = own_name, .sh_type = SHT_STRTAB, .sh_addralign = 1};
    names.sh_offset = aligned(end_of(p));
    names.sh_size = p->names.count;
    flat_put(w, &names, sizeof names);
}

void unpacked_write(const struct image *image, struct flat_writer *w) {
    struct plan p = {0};
    make_plan(image, &p);
    uint32_t own_name = add_name(&p, ".shstrtab");
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = image->header.e_machine,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof(Elf64_Shdr)};
    header.e_shnum = (uint16_t)(p.parts.count + 2);
    header.e_shstrndx = (uint16_t)(p.parts.count + 1);
    header.e_shoff = aligned(aligned(end_of(&p)) + p.names.count);
    flat_put(w, &header, sizeof header);
    for (size_t i = 0; i < p.parts.count; i++)
        write_part(&p, &p.parts.at[i], w);
    flat_align(w);
    flat_put(w, p.names.at, p.names.count);
    flat_align(w);
    write_table(&p, own_name, w);
    ARRAY_FREE(&p.parts);
    ARRAY_FREE(&p.names);
}

/* ---- in memory ---- */

struct memory {
    uint8_t *bytes;
    size_t size, room;
};

static int grow(void *ctx, const void *bytes, size_t count) {
    struct memory *m = ctx;
    if (m->size + count > m->room) {
        size_t room = m->room + m->room / 2 + count;
        uint8_t *more = realloc(m->bytes, room);
        if (!more)
            return -ENOMEM;
        m->bytes = more;
        m->room = room;
    }
    memcpy(m->bytes + m->size, bytes, count);
    m->size += count;
    return 0;
}

uint8_t *unpacked_make(const struct image *image, size_t *ret_size) {
    struct memory memory = {0};
    struct flat_writer w;
    flat_writer_init(&w, grow, &memory);
    unpacked_write(image, &w);
    if (flat_writer_done(&w) < 0) {
        free(memory.bytes);
        return NULL;
    }
    *ret_size = memory.size;
    return memory.bytes;
}
