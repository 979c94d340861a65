/*
 * Loads a module from a process's memory. Undoes the dynamic linker's writes, so that the other
 * files of this folder see the file's contents. Section headers are never in memory, so there are
 * only dynamic symbols.
 *
 * Relocated words get the addend if it is an address in the file, else 0: their original bytes are
 * not needed. glibc replaces pointers in the dynamic section by run-time addresses; musl does not.
 */
#include <errno.h>

#include "elf/internal.h"

struct mapping {
    const struct image *image;
    uint8_t *bytes; /* of the image, writable */
    uint64_t bias;
    vaddr_t low, high; /* span of all PT_LOADs */
    struct table rela, rel, plt, relr;
};

/* SIZE bytes at link-time ADDR; NULL: some are not in the file. */
static uint8_t *loaded_at(const struct mapping *m, vaddr_t addr, uint64_t size) {
    for (uint32_t i = 0; i < m->image->segment_count; i++) {
        Elf64_Phdr ph = image_segment(m->image, i);
        uint64_t at = addr - ph.p_vaddr;
        if (ph.p_type == PT_LOAD && addr >= ph.p_vaddr && at <= ph.p_filesz &&
            size <= ph.p_filesz - at && image_at(m->image, ph.p_offset, ph.p_filesz))
            return m->bytes + ph.p_offset + at;
    }
    return NULL;
}

static void find_span(struct mapping *m) {
    m->low = UINT64_MAX;
    for (uint32_t i = 0; i < m->image->segment_count; i++) {
        Elf64_Phdr ph = image_segment(m->image, i);
        if (ph.p_type != PT_LOAD)
            continue;
        m->low = ph.p_vaddr < m->low ? ph.p_vaddr : m->low;
        m->high = ph.p_vaddr + ph.p_memsz > m->high ? ph.p_vaddr + ph.p_memsz : m->high;
    }
}

/* Converts a run-time address of this module to a link-time one. Keeps other values. */
static uint64_t without_bias(const struct mapping *m, uint64_t value) {
    uint64_t addr = value - m->bias;
    return addr >= m->low && addr < m->high ? addr : value;
}

/* Stores a word of the file's class. */
static void store(const struct mapping *m, vaddr_t addr, uint64_t value) {
    uint8_t *at = loaded_at(m, addr, m->image->sizes->word);
    if (at)
        memcpy(at, &value, m->image->sizes->word); /* little-endian */
}

static void restore_dynamic_entry(struct mapping *m, Elf64_Dyn *entry) {
    static const int64_t pointers[] = {
        DT_PLTGOT, DT_HASH,   DT_STRTAB,     DT_SYMTAB,     DT_RELA,         DT_REL,
        DT_JMPREL, DT_VERSYM, DT_GNU_HASH,   DT_RELR,       DT_VERNEED,      DT_VERDEF,
        DT_INIT,   DT_FINI,   DT_INIT_ARRAY, DT_FINI_ARRAY, DT_PREINIT_ARRAY};
    uint64_t *value = &entry->d_un.d_val;
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        if (entry->d_tag == pointers[i])
            *value = without_bias(m, *value);
    if (entry->d_tag == DT_DEBUG)
        *value = 0;
    if (entry->d_tag == DT_RELA)
        m->rela.addr = *value;
    if (entry->d_tag == DT_RELASZ)
        m->rela.size = *value;
    if (entry->d_tag == DT_REL)
        m->rel.addr = *value;
    if (entry->d_tag == DT_RELSZ)
        m->rel.size = *value;
    if (entry->d_tag == DT_JMPREL)
        m->plt.addr = *value;
    if (entry->d_tag == DT_PLTRELSZ)
        m->plt.size = *value;
    if (entry->d_tag == DT_RELR)
        m->relr.addr = *value;
    if (entry->d_tag == DT_RELRSZ)
        m->relr.size = *value;
}

static void restore_dynamic(struct mapping *m) {
    const struct record_sizes *sizes = m->image->sizes;
    for (uint32_t i = 0; i < m->image->segment_count; i++) {
        Elf64_Phdr ph = image_segment(m->image, i);
        uint8_t *at = ph.p_type == PT_DYNAMIC ? loaded_at(m, ph.p_vaddr, ph.p_filesz) : NULL;
        for (uint64_t n = ph.p_filesz / sizes->dynamic; at && n > 0; n--) {
            Elf64_Dyn entry = image_dynamic(m->image, at);
            if (entry.d_tag == DT_NULL)
                break;
            restore_dynamic_entry(m, &entry);
            memcpy(at + sizes->word, &entry.d_un.d_val, sizes->word); /* behind the tag */
            at += sizes->dynamic;
        }
    }
}

/* R_X86_64_COPY needs no undoing: it writes to zero-filled memory only. */
static void restore_table(const struct mapping *m, struct table table) {
    const uint8_t *bytes = loaded_at(m, table.addr, table.size);
    for (uint64_t at = 0; bytes && at + sizeof(Elf64_Rela) <= table.size;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela rela = LOAD(Elf64_Rela, bytes + at);
        uint32_t type = ELF64_R_TYPE(rela.r_info);
        bool own = type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE;
        if (type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE || type == R_X86_64_64 ||
            type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT)
            store(m, rela.r_offset, own ? (uint64_t)rela.r_addend : 0);
    }
}

static void restore_word(const struct mapping *m, vaddr_t addr) {
    const uint8_t *at = loaded_at(m, addr, m->image->sizes->word);
    if (at)
        store(m, addr, without_bias(m, image_word(m->image, at)));
}

/* The same for Arm, whose addends are in the relocated words. */
static void restore_arm_table(const struct mapping *m, struct table table) {
    const uint8_t *bytes = loaded_at(m, table.addr, table.size);
    const uint8_t size = m->image->sizes->rel;
    for (uint64_t at = 0; bytes && at + size <= table.size; at += size) {
        Elf64_Rela rel = image_relocation(m->image, bytes + at, false);
        uint32_t type = ELF64_R_TYPE(rel.r_info);
        if (type == R_ARM_RELATIVE)
            restore_word(m, rel.r_offset);
        else if (type == R_ARM_IRELATIVE || type == R_ARM_ABS32 || type == R_ARM_GLOB_DAT ||
                 type == R_ARM_JUMP_SLOT)
            store(m, rel.r_offset, 0);
    }
}

/* The format: see read_relr() in refs.c. */
static void restore_relr(const struct mapping *m, struct table table) {
    const uint8_t *bytes = loaded_at(m, table.addr, table.size);
    const uint64_t word = m->image->sizes->word;
    vaddr_t next = 0;
    for (uint64_t i = 0; bytes && i < table.size / word; i++) {
        uint64_t entry = image_word(m->image, bytes + i * word);
        if (!(entry & 1)) {
            restore_word(m, entry);
            next = entry + word;
            continue;
        }
        for (uint64_t bits = entry >> 1; bits; bits &= bits - 1)
            restore_word(m, next + word * (uint64_t)__builtin_ctzll(bits));
        next += (8 * word - 1) * word;
    }
}

static void drop_sections(struct image *image, uint8_t *bytes) {
    Elf64_Ehdr *header = &image->header;
    header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
    if (image_is_32bit(image)) {
        Elf32_Ehdr header32 = LOAD(Elf32_Ehdr, bytes);
        header32.e_shoff = header32.e_shnum = header32.e_shstrndx = 0;
        memcpy(bytes, &header32, sizeof header32);
    } else {
        memcpy(bytes, header, sizeof *header);
    }
    image->section_count = 0;
    image->section_names = (Elf64_Shdr){0};
}

int module_load_mapped(const struct loaded *loaded, const char *name, unsigned flags,
                       struct module **ret, struct err *err) {
    struct image image;
    int rc = image_adopt(&image, loaded->bytes, loaded->size, name, err);
    if (rc < 0)
        return rc;
    struct mapping m = {.image = &image, .bytes = loaded->bytes, .bias = loaded->bias};
    drop_sections(&image, loaded->bytes);
    find_span(&m);
    restore_dynamic(&m);
    if (image.header.e_machine == EM_X86_64) {
        restore_table(&m, m.rela);
        restore_table(&m, m.plt);
    }
    if (image.header.e_machine == EM_ARM) {
        restore_arm_table(&m, m.rel);
        restore_arm_table(&m, m.plt);
    }
    restore_relr(&m, m.relr);
    return module_from_image(&image, name, flags, ret, err);
}
