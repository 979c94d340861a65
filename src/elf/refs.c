/*
 * Finds places in code that data refers to. In position-independent files every such word needs a
 * relocation, so relocations list all of them. In other files every word of data that looks like a
 * text address counts.
 *
 * The dynamic section says where relocations are (gABI, "Dynamic Section"; DT_RELR as in its 2023
 * draft). Static programs without one have section headers for their few relocations (IRELATIVE).
 */
#include "elf/internal.h"
#include "elf/sort.h"

struct scan {
    struct module *module;
    code_refs refs;
    ARRAY(struct import) imports;
    struct patchable_words patchable, sleds;
    size_t symbol_count; /* upper limit for indices of dynamic symbols */
    bool into_code;      /* a relocation changes code */
};

struct relocation_types {
    uint16_t machine;
    uint32_t relative, irelative, absolute; /* the result is an address in this module */
    uint32_t slot, data;                    /* the result is the address of a symbol */
};

static const struct relocation_types known_types[] = {
    {EM_X86_64, R_X86_64_RELATIVE, R_X86_64_IRELATIVE, R_X86_64_64, R_X86_64_JUMP_SLOT,
     R_X86_64_GLOB_DAT},
    {EM_AARCH64, R_AARCH64_RELATIVE, R_AARCH64_IRELATIVE, R_AARCH64_ABS64, R_AARCH64_JUMP_SLOT,
     R_AARCH64_GLOB_DAT},
    {EM_ARM, R_ARM_RELATIVE, R_ARM_IRELATIVE, R_ARM_ABS32, R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT},
};

static const struct relocation_types *types_of(uint16_t machine) {
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (known_types[i].machine == machine)
            return known_types + i;
    return NULL;
}

static void add_ref(struct scan *scan, vaddr_t from, vaddr_t target, enum code_ref_kind kind) {
    patchable_relocate(&scan->patchable, from, target);
    patchable_relocate(&scan->sleds, from, target);
    if (!module_is_text(scan->module, target))
        return;
    target = marks_note(scan->module, target, kind == CODE_REF_RELOCATION && target & 1);
    if (module_is_text(scan->module, target))
        ARRAY_PUSH(&scan->refs, ((struct code_ref){target, from, kind}));
}

static Elf64_Sym symbol_at(const struct scan *scan, uint64_t index) {
    const struct image *file = &scan->module->priv->file;
    vaddr_t at = scan->module->priv->dynamic.symbols + index * file->sizes->symbol;
    return image_symbol(file, module_bytes(scan->module, at, file->sizes->symbol));
}

/* The value of dynamic symbol INDEX. False: the file does not define it. */
static bool symbol_value(const struct scan *scan, uint64_t index, vaddr_t *ret) {
    if (index == 0) { /* no symbol: the addend is the address */
        *ret = 0;
        return true;
    }
    if (index >= scan->symbol_count)
        return false;
    Elf64_Sym sym = symbol_at(scan, index);
    *ret = sym.st_value;
    return sym.st_shndx != SHN_UNDEF;
}

static void add_import(struct scan *scan, vaddr_t slot, uint64_t index) {
    const struct dynamic *d = &scan->module->priv->dynamic;
    uint64_t room;
    if (!index || index >= scan->symbol_count)
        return;
    Elf64_Sym sym = symbol_at(scan, index);
    const uint8_t *name = module_bytes_from(scan->module, d->strings.addr + sym.st_name, &room);
    if (name && *name && memchr(name, 0, room))
        ARRAY_PUSH(&scan->imports, ((struct import){slot, (const char *)name}));
}

/* Notes whether a relocation changes code: with DT_TEXTREL it may change only constants. */
static void note_relocated(struct scan *scan, vaddr_t at) {
    const struct section *s =
        scan->module->text_relocations ? module_section_at(scan->module, at) : NULL;
    scan->into_code |= s && s->executable;
}

static void add_relocation(struct scan *scan, const struct relocation_types *types,
                           const Elf64_Rela *rela) {
    uint32_t type = ELF64_R_TYPE(rela->r_info);
    vaddr_t value = 0;
    note_relocated(scan, rela->r_offset);
    if (type == types->slot || type == types->data) {
        add_import(scan, rela->r_offset, ELF64_R_SYM(rela->r_info));
        return;
    }
    if (type == types->absolute) {
        if (!symbol_value(scan, ELF64_R_SYM(rela->r_info), &value))
            return;
    } else if (type != types->relative && type != types->irelative) {
        return;
    }
    value += (uint64_t)rela->r_addend;
    if (scan->module->word_bytes == sizeof(uint32_t))
        value = (uint32_t)value;
    add_ref(scan, rela->r_offset, value, CODE_REF_RELOCATION);
}

/* Reads a table of Rela or, without ADDENDS, of Rel. The addend of Rel is the relocated word. */
static void read_table(struct scan *scan, struct table table, bool addends) {
    const struct relocation_types *types = types_of(scan->module->machine);
    const struct image *file = &scan->module->priv->file;
    size_t size = addends ? file->sizes->rela : file->sizes->rel;
    const uint8_t *bytes = module_bytes(scan->module, table.addr, table.size);
    if (!bytes || !types)
        return;
    for (uint64_t at = 0; at + size <= table.size; at += size) {
        Elf64_Rela rela = image_relocation(file, bytes + at, addends);
        if (!addends) {
            const uint8_t *word =
                module_bytes(scan->module, rela.r_offset, scan->module->word_bytes);
            if (!word)
                continue;
            rela.r_addend = image_signed_word(file, word);
        }
        add_relocation(scan, types, &rela);
    }
}

static void add_relr_word(struct scan *scan, vaddr_t at) {
    const uint8_t *word = module_bytes(scan->module, at, scan->module->word_bytes);
    note_relocated(scan, at);
    if (word)
        add_ref(scan, at, image_word(&scan->module->priv->file, word), CODE_REF_RELOCATION);
}

/* An even entry is the address of a relative relocation. Each odd one behind it is a bitmap of the
 * next 63 words (31 in 32-bit files). */
static void read_relr(struct scan *scan, struct table table) {
    const uint8_t *bytes = module_bytes(scan->module, table.addr, table.size);
    vaddr_t next = 0;
    const uint64_t size = scan->module->word_bytes;
    for (uint64_t i = 0; bytes && i < table.size / size; i++) {
        uint64_t entry = image_word(&scan->module->priv->file, bytes + i * size);
        if (!(entry & 1)) {
            add_relr_word(scan, entry);
            next = entry + size;
            continue;
        }
        for (uint64_t bits = entry >> 1; bits; bits &= bits - 1)
            add_relr_word(scan, next + size * (uint64_t)__builtin_ctzll(bits));
        next += (8 * size - 1) * size;
    }
}

static void read_relocation_sections(struct scan *scan) {
    const struct image *file = &scan->module->priv->file;
    for (uint32_t i = 1; i < file->section_count; i++) {
        Elf64_Shdr sh = image_section(file, i);
        if ((sh.sh_flags & SHF_ALLOC) && (sh.sh_type == SHT_RELA || sh.sh_type == SHT_REL))
            read_table(scan, (struct table){sh.sh_addr, sh.sh_size}, sh.sh_type == SHT_RELA);
    }
}

/* Adds the targets of COUNT words that the dynamic linker calls: their states are sure. */
static void add_called(struct scan *scan, const vaddr_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint8_t *word =
            words[i] ? module_bytes(scan->module, words[i], scan->module->word_bytes) : NULL;
        uint64_t value = word ? image_word(&scan->module->priv->file, word) : 0;
        if (!value)
            continue;
        marks_note(scan->module, value, true);
        add_ref(scan, words[i], value, CODE_REF_RELOCATION);
    }
}

/* Reads an array of such words, unless relocations list them. */
static void read_init_array(struct scan *scan, struct table array) {
    const uint64_t step = scan->module->word_bytes;
    if (scan->module->position_independent || !module_bytes(scan->module, array.addr, array.size))
        return;
    for (uint64_t at = 0; at + step <= array.size; at += step) {
        vaddr_t word = array.addr + at;
        add_called(scan, &word, 1);
    }
}

static void read_init_array_sections(struct scan *scan) {
    const struct image *file = &scan->module->priv->file;
    for (uint32_t i = 1; i < file->section_count; i++) {
        Elf64_Shdr sh = image_section(file, i);
        if (sh.sh_type == SHT_INIT_ARRAY || sh.sh_type == SHT_FINI_ARRAY ||
            sh.sh_type == SHT_PREINIT_ARRAY)
            read_init_array(scan, (struct table){sh.sh_addr, sh.sh_size});
    }
}

static void read_relocations(struct scan *scan) {
    const struct dynamic *d = &scan->module->priv->dynamic;
    if (!d->present) {
        read_relocation_sections(scan);
        read_init_array_sections(scan);
        return;
    }
    read_table(scan, d->rela, true);
    read_table(scan, d->rel, false);
    read_relr(scan, d->relr);
    read_table(scan, d->plt, d->plt_has_addends);
    add_called(scan, d->init_fini, 2);
    for (size_t i = 0; i < sizeof d->init_arrays / sizeof *d->init_arrays; i++)
        read_init_array(scan, d->init_arrays[i]);
}

/* Addresses of code in one state differ by a multiple of this. */
static uint64_t code_unit(const struct module *module) {
    return module->machine == EM_AARCH64 ? 4 : module->machine == EM_ARM ? 2 : 1;
}

/* Whether the word at AT is in a table of numbers (characters, for example): several neighbours
 * differ from it by little, and by no multiple of code_unit(). */
static bool is_among_numbers(const struct scan *scan, const uint8_t *bytes, uint64_t size,
                             uint64_t at) {
    enum { FAR = 8, CLOSE = 3, SEVERAL = 2 };
    int odd_neighbours = 0;
    const struct image *file = &scan->module->priv->file;
    const uint64_t step = scan->module->word_bytes, word = image_word(file, bytes + at);
    for (uint64_t near = at > FAR * step ? at - FAR * step : at % step;
         near <= at + FAR * step && near + step <= size; near += step) {
        uint64_t other = image_word(file, bytes + near);
        uint64_t difference = word > other ? word - other : other - word;
        odd_neighbours += difference < CLOSE && difference % code_unit(scan->module);
    }
    return odd_neighbours >= SEVERAL;
}

static void scan_words(struct scan *scan, const uint8_t *bytes, uint64_t size, vaddr_t start) {
    const uint64_t step = scan->module->word_bytes, skip = -start & (step - 1);
    vaddr_t low = scan->module->text_low, span = scan->module->text_high - low;
    for (uint64_t at = skip; at + step <= size; at += step) {
        uint64_t word = image_word(&scan->module->priv->file, bytes + at);
        if (word - low < span && !is_among_numbers(scan, bytes, size, at))
            add_ref(scan, start + at, word, CODE_REF_DATA);
    }
}

/*
 * Scans segments that are not executable, and constant sections of executable ones (older layouts).
 * Without section headers a whole executable segment may be data.
 */
static void scan_data(struct scan *scan) {
    const struct module *module = scan->module;
    bool has_sections = module->priv->file.section_count != 0;
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct segment *s = module->segments + i;
        if (!s->executable || !has_sections)
            scan_words(scan, s->bytes, s->file_size, s->start);
    }
    for (size_t i = 0; has_sections && i < module->section_count; i++) {
        const struct section *s = module->sections + i;
        const struct segment *segment = module_segment_at(module, s->start);
        if (segment->executable && !s->executable && s->bytes)
            scan_words(scan, s->bytes, s->size, s->start);
    }
}

static size_t drop_repeated(struct code_ref *refs, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || refs[i].target != refs[kept - 1].target || refs[i].from != refs[kept - 1].from)
            refs[kept++] = refs[i];
    return kept;
}

void refs_read(struct module *module) {
    struct scan scan = {.module = module, .symbol_count = symbols_dynamic_max(module)};
    patchable_read(module, &scan.patchable);
    sleds_read(module, &scan.sleds);
    read_relocations(&scan);
    module->text_relocations = scan.into_code;
    if (!module->position_independent)
        scan_data(&scan);
    patchable_write(module, &scan.patchable);
    sleds_write(module, &scan.sleds);
    sort_by_address(scan.imports.at, scan.imports.count, sizeof *scan.imports.at);
    module->imports = scan.imports.at;
    module->import_count = scan.imports.count;
    module->priv->found = scan.refs;
}

void refs_finish(struct module *module) {
    code_refs *refs = &module->priv->found;
    lsda_read_all(module, refs);
    sort_by_address(refs->at, refs->count, sizeof *refs->at);
    module->refs = refs->at;
    module->ref_count = drop_repeated(refs->at, refs->count);
    *refs = (code_refs){0};
}
