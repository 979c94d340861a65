/*
 * Finds the linker's stubs (.plt and similar) in files without section headers, by their bytes:
 * jumps through words that relocations fill, each in 8 or 16 aligned bytes. GNU ld, gold, lld and
 * mold write these forms (elf_x86_64_lazy_plt_entry and others in bfd/elf64-x86-64.c).
 *
 * A compiler's function, or the jump at its end, may look the same (a wrapper compiled with
 * -fno-plt). It has a name or call-frame information of its own: one FDE of stubs covers a table.
 */
#include "base/search.h"
#include "elf/internal.h"

enum { SLOT = -1, ANY = -2, END = -3 };

/* SLOT: four bytes, the distance from their end to a word that is filled at run time. ANY: any four
 * bytes. */
static const int16_t forms[][28] = {
    {0xff, 0x25, SLOT, 0x66, 0x90, END},
    {0xff, 0x25, SLOT, 0x68, ANY, 0xe9, ANY, END},
    {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, SLOT, 0x0f, 0x1f, 0x44, 0, 0, END},
    {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, SLOT, 0x66, 0x0f, 0x1f, 0x44, 0, 0, END},
    {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, SLOT, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, END},
    {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, ANY, 0xff, 0x25, SLOT, END},
    {0xf3, 0x0f, 0x1e, 0xfa, 0x68, ANY, 0xf2, 0xe9, ANY, 0x90, END},
    {0xf3, 0x0f, 0x1e, 0xfa, 0x68, ANY, 0xe9, ANY, 0x66, 0x90, END},
    {0xff, 0x35, ANY, 0xff, 0x25, ANY, 0x0f, 0x1f, 0x40, 0, END},
    {0xff, 0x35, ANY, 0xff, 0x25, ANY, 0x90, 0x90, 0x90, 0x90, END},
    {0xff, 0x35, ANY, 0xf2, 0xff, 0x25, ANY, 0x0f, 0x1f, 0, END},
    {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x53, 0xff, 0x35, ANY,  0xff, 0x25, ANY,  0xcc, 0xcc,
     0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, END},
};

static bool leads_to_slot(const struct module *m, vaddr_t after, const uint8_t *distance) {
    const struct segment *s =
        module_segment_at(m, after + (uint64_t)(int64_t)LOAD(int32_t, distance));
    return s && s->writable && !s->executable;
}

/* The length of FORM if the bytes AT, with address ADDR, match it; else 0. LEFT bytes are there. */
static uint64_t match(const struct module *m, const int16_t *form, const uint8_t *at, uint64_t left,
                      vaddr_t addr) {
    uint64_t n = 0;
    for (; *form != END; form++) {
        uint64_t size = *form >= 0 ? 1 : 4;
        if (left - n < size || (*form >= 0 && at[n] != *form))
            return 0;
        if (*form == SLOT && !leads_to_slot(m, addr + n + 4, at + n))
            return 0;
        n += size;
    }
    return n;
}

/* The length of a stub's form at offset AT of SECTION; 0: none matches. */
static uint64_t form_size(const struct module *m, const struct section *section, uint64_t at) {
    vaddr_t addr = section->start + at;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        uint64_t size = match(m, forms[i], section->bytes + at, section->size - at, addr);
        if (size)
            return addr % (size < 16 ? 8 : 16) == 0 ? size : 0;
    }
    return 0;
}

/* Whether ADDR belongs to a function by call-frame information: a jump at its end is no stub. */
static bool is_in_function(const struct module *m, const struct section *section, vaddr_t addr,
                           uint64_t size) {
    const struct unwind_range *r = module_range_at(m, addr);
    if (!r)
        return false;
    if (r->start == addr)
        return r->end - addr < size;
    return r->start < section->start || !form_size(m, section, r->start - section->start);
}

static bool is_named(const struct module *m, vaddr_t addr) {
    const size_t i = SEARCH(k, m->symbol_count, m->symbols[k].addr < addr);
    return i < m->symbol_count && m->symbols[i].addr == addr;
}

/* The size of the stub at offset AT of SECTION; 0: there is none. */
static uint64_t stub_size(const struct module *m, const struct section *section, uint64_t at) {
    vaddr_t addr = section->start + at;
    uint64_t size = form_size(m, section, at);
    return size && !is_in_function(m, section, addr, size) && !is_named(m, addr) ? size : 0;
}

typedef ARRAY(struct section) section_list;

static void add_part(section_list *list, const struct section *whole, uint64_t start, uint64_t end,
                     bool plt) {
    struct section part = *whole;
    if (start == end)
        return;
    part.start += start;
    part.bytes += start;
    part.size = end - start;
    part.plt = plt;
    if (plt)
        part.name = "(stubs)";
    ARRAY_PUSH(list, part);
}

/* Splits SECTION into stubs and the parts between them. */
static void split(const struct module *m, const struct section *section, section_list *list) {
    enum { STEP = 8 };
    uint64_t done = 0;
    for (uint64_t at = -section->start % STEP, end = at; at < section->size; at = end) {
        for (uint64_t size; end < section->size && (size = stub_size(m, section, end)); end += size)
            ;
        if (end > at) {
            add_part(list, section, done, at, false);
            add_part(list, section, at, end, true);
            done = end;
        } else {
            end = at + STEP;
        }
    }
    add_part(list, section, done, section->size, false);
}

void plt_stubs_find(struct module *module) {
    section_list list = {0};
    if (module->priv->file.section_count || module->machine != EM_X86_64)
        return;
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *s = &module->sections[i];
        if (s->executable && s->bytes)
            split(module, s, &list);
        else
            ARRAY_PUSH(&list, *s);
    }
    free(module->sections);
    module->sections = list.at;
    module->section_count = list.count;
}
