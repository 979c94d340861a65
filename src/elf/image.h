/*
 * The bytes of one ELF file. Its header is validated, and its tables are within bounds. Only this
 * level knows the layout of records: callers see Elf64_* structures in host byte order, whatever
 * the file's class is (class_records.c).
 */
#pragma once

#include <elf.h>
#include <string.h>

#include "base/err.h"
#include "base/types.h"

/* Sizes in bytes of the records of a file class. */
struct record_sizes {
    uint8_t word, header, segment, section, symbol, dynamic, rel, rela, compression;
};

struct image {
    const uint8_t *bytes;
    size_t size;
    bool mapped; /* by mmap(), else by malloc() */
    bool shared; /* likewise, and its pages are those that all processes have */
    const struct record_sizes *sizes;
    Elf64_Ehdr header;
    uint32_t segment_count; /* readable program headers */
    uint32_t section_count; /* readable section headers; 0: none, or malformed */
    Elf64_Shdr section_names;
};

/* A table of NUL-terminated names; its last byte is NUL, or it is empty. */
struct strings {
    const char *bytes;
    size_t size;
};

/*
 * Maps the file of FD, which the caller keeps, and validates its header. NAME is for messages.
 * Errors: ENOEXEC "not-elf", "truncated-elf", "corrupt-elf", "elf-type" (neither program nor
 * library); ENOTSUP "elf-class", "elf-byte-order"; "open" with errno. On failure IMAGE is empty.
 */
int image_open(struct image *image, int fd, const char *name, struct err *err);
/* The same for ELF files of any type. */
int image_open_data(struct image *image, int fd, const char *name, struct err *err);
/* As image_open() for SIZE bytes from malloc(). IMAGE owns them and frees them, on failure too. */
int image_adopt(struct image *image, uint8_t *bytes, size_t size, const char *name,
                struct err *err);
void image_close(struct image *image);       /* IMAGE may be empty, here and below */
void image_leave(const struct image *image); /* mem_leave_file(), if it is mapped */

/* SIZE bytes at OFFSET of the file; NULL if not there. */
static inline const uint8_t *image_at(const struct image *image, uint64_t offset, uint64_t size) {
    bool inside = offset <= image->size && size <= image->size - offset;
    return inside ? image->bytes + offset : NULL;
}

static inline bool image_is_32bit(const struct image *image) { return image->sizes->word == 4; }

/* ---- class_records.c: records at BYTES; `sizes` has their lengths ---- */
const struct record_sizes *record_sizes_of(uint8_t elf_class); /* NULL: an unknown class */
Elf64_Ehdr image_header(const struct image *image, const uint8_t *bytes);
Elf64_Sym image_symbol(const struct image *image, const uint8_t *bytes);
Elf64_Dyn image_dynamic(const struct image *image, const uint8_t *bytes);
/* A Rela record or, without ADDENDS, a Rel record; then r_addend is 0. */
Elf64_Rela image_relocation(const struct image *image, const uint8_t *bytes, bool addends);
/* The header of a compressed section. */
Elf64_Chdr image_compression(const struct image *image, const uint8_t *bytes);
uint64_t image_word(const struct image *image, const uint8_t *bytes);
/* The same as a signed number. */
int64_t image_signed_word(const struct image *image, const uint8_t *bytes);

/* INDEX is below segment_count or section_count. */
Elf64_Phdr image_segment(const struct image *image, uint32_t index);
Elf64_Shdr image_section(const struct image *image, uint32_t index);
const char *image_section_name(const struct image *image, const Elf64_Shdr *section);
/* NULL for NOBITS and for sections that are not within the file. */
const uint8_t *image_section_bytes(const struct image *image, const Elf64_Shdr *section);
/* Index of the first section with NAME (NULL: any) and TYPE (SHT_NULL: any); 0: none. */
uint32_t image_find_section(const struct image *image, const char *name, uint32_t type);

/* The names in SIZE bytes at BYTES, up to the last NUL. */
struct strings strings_of(const uint8_t *bytes, size_t size);
/* NULL: OFFSET is outside. */
static inline const char *strings_at(const struct strings *strings, uint64_t offset) {
    return offset < strings->size ? strings->bytes + offset : NULL;
}

/* A value of TYPE at the unaligned address P. */
#define LOAD(type, p)                                                                              \
    ({                                                                                             \
        type load_value_;                                                                          \
        memcpy(&load_value_, (p), sizeof load_value_);                                             \
        load_value_;                                                                               \
    })
