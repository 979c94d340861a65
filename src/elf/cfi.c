/*
 * Makes ranges and CFA rows from call-frame information: .eh_frame, and .debug_frame of the file or
 * of its debug file.
 *
 * The first pass lists FDEs, sorts them and drops duplicates. The second runs their instructions,
 * so that rows are in the order of ranges. Formats: LSB 5.0, 10.6 (.eh_frame, .eh_frame_hdr),
 * DWARF 5, 6.4.1 (.debug_frame).
 */
#include "elf/cfa.h"
#include "elf/internal.h"
#include "elf/sort.h"
#include "elf/unpack.h"

struct cie {
    uint64_t offset; /* in its section */
    bool valid;
    bool has_augmentation_data, signal_frame;
    uint8_t lsda_encoding;
    struct cfa_factors factors;
    struct cfa initial;
};

struct fde {
    vaddr_t start, end;
    vaddr_t lsda;
    uint32_t cie; /* index */
    struct cursor code;
};

enum {
    CACHE_SIZE = 64,      /* for CIEs by offset; linkers merge equal ones, so there are few */
    ROWS_MAX = INT32_MAX, /* keeps first_row within 32 bits */
};

struct frame_section {
    const uint8_t *bytes;
    uint64_t size;
    vaddr_t addr;
    bool eh;           /* .eh_frame, else .debug_frame */
    bool ends_at_zero; /* its size is unknown: a record of length zero ends it */
};

struct reader {
    const struct module *module;
    struct frame_section section;
    struct pointer_bases bases;
    uint32_t cache[CACHE_SIZE]; /* index into cies + 1 */
    ARRAY(struct cie) cies;
    ARRAY(struct fde) fdes;
};

struct record {         /* a CIE or an FDE */
    struct cursor body; /* after the id */
    uint64_t id, id_offset;
    bool wide; /* 64-bit DWARF */
};

/* Takes the next record from WALK. False: the end, or a malformed length. */
static bool next_record(const struct reader *reader, struct cursor *walk, struct record *record) {
    const struct frame_section *section = &reader->section;
    uint64_t length = cursor_u32(walk);
    record->wide = length == 0xffffffff;
    if (record->wide)
        length = cursor_u64(walk);
    record->id_offset = (uint64_t)(walk->at - section->bytes);
    const uint8_t *bytes = cursor_take(walk, length);
    if (!bytes)
        return false;
    record->body = cursor_over(bytes, length, section->addr + record->id_offset);
    record->id =
        record->wide && !section->eh ? cursor_u64(&record->body) : cursor_u32(&record->body);
    return true;
}

static bool is_cie(const struct reader *reader, const struct record *record) {
    if (reader->section.eh)
        return record->id == 0;
    return record->id == (record->wide ? UINT64_MAX : UINT32_MAX);
}

static uint8_t sized_encoding(const struct reader *reader, struct cursor *in) {
    return cursor_sized_encoding(cursor_u8(in), reader->module->word_bytes);
}

/* Reads the LETTERS of a "z…" augmentation; DATA holds their operands. */
static bool read_augmentation(const struct reader *reader, struct cie *cie, const char *letters,
                              struct cursor data) {
    for (const char *letter = letters + 1; *letter; letter++) {
        switch (*letter) {
        case 'R':
            cie->factors.encoding = sized_encoding(reader, &data);
            break;
        case 'L':
            cie->lsda_encoding = sized_encoding(reader, &data);
            break;
        case 'P':
            cursor_pointer(&data, sized_encoding(reader, &data), &reader->bases);
            break;
        case 'S':
            cie->signal_frame = true;
            break;
        case 'B': /* AArch64: signed with the B key */
        case 'G': /* AArch64: tagged stack */
            break;
        default:
            return true; /* an unknown letter: the caller skips the rest of DATA */
        }
    }
    return !data.failed;
}

static bool read_cie_body(const struct reader *reader, struct cursor *in, struct cie *cie) {
    uint8_t version = cursor_u8(in);
    if (version != 1 && version != 3 && version != 4)
        return false;
    const char *augmentation = cursor_string(in);
    if (strcmp(augmentation, "eh") == 0) /* of GCC 2 */
        cursor_u64(in);
    if (version >= 4) {
        uint8_t address_size = cursor_u8(in), segment_size = cursor_u8(in);
        if (address_size != reader->module->word_bytes || segment_size != 0)
            return false;
    }
    cie->factors.code = cursor_uleb(in);
    cie->factors.data = cursor_sleb(in);
    cie->factors.return_column = version == 1 ? cursor_u8(in) : cursor_uleb(in);
    if (augmentation[0] == 'z') {
        cie->has_augmentation_data = true;
        uint64_t size = cursor_uleb(in);
        vaddr_t addr = cursor_addr(in);
        const uint8_t *data = cursor_take(in, size);
        if (!data || !read_augmentation(reader, cie, augmentation, cursor_over(data, size, addr)))
            return false;
    } else if (augmentation[0] && strcmp(augmentation, "eh") != 0) {
        return false;
    }
    return !in->failed;
}

static struct cie read_cie(const struct reader *reader, uint64_t offset) {
    const struct frame_section *section = &reader->section;
    struct cie cie = {.offset = offset, .lsda_encoding = PE_OMIT};
    cie.factors.encoding = cursor_sized_encoding(PE_ABSPTR, reader->module->word_bytes);
    struct record record;
    if (offset >= section->size)
        return cie;
    struct cursor at =
        cursor_over(section->bytes + offset, section->size - offset, section->addr + offset);
    if (!next_record(reader, &at, &record) || !is_cie(reader, &record) ||
        !read_cie_body(reader, &record.body, &cie))
        return cie;
    cfa_rows rows = {0};
    struct cfa_program program = {record.body, cie.factors, {.reg = CFA_EXPRESSION}};
    cie.initial = cfa_run(&program, 0, 1, &rows);
    ARRAY_FREE(&rows);
    cie.valid = true;
    return cie;
}

/* Index of the CIE at OFFSET; it may be invalid. */
static uint32_t find_cie(struct reader *reader, uint64_t offset) {
    uint32_t *slot = &reader->cache[offset / 4 % CACHE_SIZE];
    if (!*slot || reader->cies.at[*slot - 1].offset != offset) {
        struct cie cie = read_cie(reader, offset);
        ARRAY_PUSH(&reader->cies, cie);
        *slot = (uint32_t)reader->cies.count;
    }
    return *slot - 1;
}

/* FDEs of functions that the linker dropped have ranges outside of text. */
static bool is_plausible(const struct module *module, vaddr_t start, uint64_t size) {
    const struct segment *segment = module_segment_at(module, start);
    return size && segment && segment->executable &&
           size <= segment->size - (start - segment->start);
}

static void read_fde(struct reader *reader, const struct record *record) {
    uint64_t cie_offset = reader->section.eh ? record->id_offset - record->id : record->id;
    struct fde fde = {.cie = find_cie(reader, cie_offset), .code = record->body};
    const struct cie *cie = &reader->cies.at[fde.cie];
    if (!cie->valid)
        return;
    struct cursor *in = &fde.code;
    fde.start = cursor_pointer(in, cie->factors.encoding, &reader->bases);
    if (reader->module->word_bytes == sizeof(uint32_t))
        fde.start = (uint32_t)fde.start;
    uint64_t size = cursor_encoded_value(in, cie->factors.encoding);
    if (cie->has_augmentation_data) {
        uint64_t data_size = cursor_uleb(in);
        vaddr_t addr = cursor_addr(in);
        const uint8_t *data = cursor_take(in, data_size);
        if (!data)
            return;
        struct pointer_bases bases = reader->bases;
        bases.function = fde.start;
        struct cursor augmentation = cursor_over(data, data_size, addr);
        fde.lsda = cursor_pointer(&augmentation, cie->lsda_encoding, &bases);
        if (reader->module->word_bytes == sizeof(uint32_t))
            fde.lsda = (uint32_t)fde.lsda;
    }
    if (in->failed || !is_plausible(reader->module, fde.start, size))
        return;
    fde.end = fde.start + size;
    ARRAY_PUSH(&reader->fdes, fde);
}

static void read_section(struct reader *reader, struct frame_section section) {
    struct cursor walk = cursor_over(section.bytes, section.size, section.addr);
    struct record record;
    reader->section = section;
    memset(reader->cache, 0, sizeof reader->cache);
    while (cursor_left(&walk) && next_record(reader, &walk, &record)) {
        bool empty = cursor_left(&record.body) == 0;
        if (empty && section.ends_at_zero)
            return;
        if (!empty && !is_cie(reader, &record))
            read_fde(reader, &record);
    }
}

/* Keeps the first of overlapping FDEs. Returns how many are left. */
static size_t drop_overlaps(struct fde *fdes, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || fdes[i].start >= fdes[kept - 1].end)
            fdes[kept++] = fdes[i];
    return kept;
}

static void write_ranges(struct module *module, const struct reader *reader, size_t count) {
    cfa_rows rows = {0};
    module->ranges = mem_resize(NULL, count, sizeof *module->ranges);
    for (size_t i = 0; i < count && rows.count <= ROWS_MAX; i++) {
        const struct fde *fde = &reader->fdes.at[i];
        const struct cie *cie = &reader->cies.at[fde->cie];
        size_t first = rows.count;
        struct cfa_program program = {fde->code, cie->factors, cie->initial};
        struct cfa last = cfa_run(&program, fde->start, fde->end, &rows);
        module->ranges[i] = (struct unwind_range){.start = fde->start,
                                                  .end = fde->end,
                                                  .first_row = (uint32_t)first,
                                                  .row_count = (uint32_t)(rows.count - first),
                                                  .lsda = fde->lsda,
                                                  .signal_frame = cie->signal_frame,
                                                  .outermost = last.outermost};
        module->range_count = i + 1;
    }
    module->rows = rows.at;
    module->row_count = rows.count;
}

/* Without section headers: finds .eh_frame through PT_GNU_EH_FRAME. A zero length ends it. */
static struct frame_section find_by_header(const struct module *module) {
    const struct image *file = &module->priv->file;
    struct frame_section section = {.eh = true, .ends_at_zero = true};
    for (uint32_t i = 0; i < file->segment_count; i++) {
        Elf64_Phdr ph = image_segment(file, i);
        const uint8_t *head = module_bytes(module, ph.p_vaddr, ph.p_memsz);
        if (ph.p_type != PT_GNU_EH_FRAME || !head || ph.p_memsz < 4 || head[0] != 1)
            continue;
        struct cursor in = cursor_over(head + 4, ph.p_memsz - 4, ph.p_vaddr + 4);
        section.addr = cursor_pointer(&in, head[1], &(struct pointer_bases){.data = ph.p_vaddr});
        section.bytes = module_bytes_from(module, section.addr, &section.size);
    }
    return section;
}

static void read_eh_frames(struct reader *reader) {
    const struct module *module = reader->module;
    bool found = false;
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *s = module->sections + i;
        if (!s->bytes || strcmp(s->name, ".eh_frame") != 0)
            continue;
        read_section(reader, (struct frame_section){s->bytes, s->size, s->start, true, false});
        found = true;
    }
    struct frame_section section = {0};
    if (!found)
        section = find_by_header(module);
    if (section.bytes)
        read_section(reader, section);
}

static void read_debug_frame(struct reader *reader, const struct image *image, uint8_t **inflated) {
    uint32_t index = image_find_section(image, ".debug_frame", SHT_PROGBITS);
    struct frame_section section = {0};
    size_t size = 0;
    if (index)
        section.bytes = unpack_section(image, index, &size, inflated);
    section.size = size;
    if (section.bytes)
        read_section(reader, section);
}

void cfi_read(struct module *module) {
    struct reader reader = {.module = module};
    AUTO_FREE uint8_t *inflated = NULL, *debug_inflated = NULL;
    reader.bases.data = module->priv->dynamic.got;
    reader.bases.text = module->text_low;
    read_eh_frames(&reader);
    read_debug_frame(&reader, &module->priv->file, &inflated);
    read_debug_frame(&reader, &module->priv->debug, &debug_inflated);
    sort_by_address(reader.fdes.at, reader.fdes.count, sizeof *reader.fdes.at);
    write_ranges(module, &reader, drop_overlaps(reader.fdes.at, reader.fdes.count));
    ARRAY_FREE(&reader.cies);
    ARRAY_FREE(&reader.fdes);
}
