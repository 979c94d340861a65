/*
 * Reads .ARM.exidx: starts of ranges that are unwound alike, and their language-specific data.
 * Entries are pairs of words, sorted. 31-bit offsets count from their own address (Exception
 * Handling ABI for the Arm Architecture, "Index table entries"; "Exception handling table
 * entries").
 */
#include "elf/internal.h"
#include "elf/sort.h"

enum { ENTRY_BYTES = 8, CANTUNWIND = 1 };
static const uint32_t INLINE = UINT32_C(1) << 31;

/* The target of WORD, a 31-bit offset from its address ADDR (prel31). */
static vaddr_t prel31_target(vaddr_t addr, uint32_t word) {
    uint32_t offset = (word & ~INLINE) | (word & UINT32_C(1) << 30) << 1;
    return (uint32_t)(addr + offset);
}

/* With language-specific data compilers use the generic model: the personality routine's address; a
 * word whose highest byte counts further words of unwinding instructions; the data. */
static vaddr_t find_lsda(const struct module *module, vaddr_t entry) {
    const uint8_t *head = module_bytes(module, entry, ENTRY_BYTES);
    if (!head || LOAD(uint32_t, head) & INLINE)
        return 0;
    vaddr_t lsda = entry + ENTRY_BYTES + UINT64_C(4) * head[7];
    return module_bytes(module, lsda, 1) ? lsda : 0;
}

static struct exception_range read_entry(const struct module *module, const uint8_t *bytes,
                                         vaddr_t addr) {
    uint32_t word = LOAD(uint32_t, bytes + 4);
    struct exception_range range = {.start =
                                        prel31_target(addr, LOAD(uint32_t, bytes)) & ~(vaddr_t)1};
    range.ends_unwound = word == CANTUNWIND;
    if (!range.ends_unwound && !(word & INLINE))
        range.lsda = find_lsda(module, prel31_target(addr + 4, word));
    return range;
}

/* Sets each end to the next start or the section's end. Drops empty ranges. Returns how many are
 * left. */
static size_t find_ends(const struct module *module, struct exception_range *ranges, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct section *s = module_section_at(module, ranges[i].start);
        vaddr_t end = s ? s->start + s->size : ranges[i].start;
        if (i + 1 < count && ranges[i + 1].start < end)
            end = ranges[i + 1].start;
        ranges[i].end = end;
        if (end > ranges[i].start)
            ranges[kept++] = ranges[i];
    }
    return kept;
}

void exidx_read(struct module *module) {
    const struct image *file = &module->priv->file;
    ARRAY(struct exception_range) ranges = {0};
    for (uint32_t i = 0; i < file->segment_count && module->machine == EM_ARM; i++) {
        Elf64_Phdr ph = image_segment(file, i);
        const uint8_t *bytes = module_bytes(module, ph.p_vaddr, ph.p_filesz);
        if (ph.p_type != PT_ARM_EXIDX || !bytes)
            continue;
        for (uint64_t at = 0; ph.p_filesz - at >= ENTRY_BYTES; at += ENTRY_BYTES) {
            struct exception_range range = read_entry(module, bytes + at, ph.p_vaddr + at);
            if (module_is_text(module, range.start))
                ARRAY_PUSH(&ranges, range);
        }
    }
    sort_by_address(ranges.at, ranges.count, sizeof *ranges.at);
    module->exceptions = ranges.at;
    module->exception_count = find_ends(module, ranges.at, ranges.count);
}
