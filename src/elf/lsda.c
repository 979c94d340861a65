/*
 * Reads landing pads: branch targets, named by no instruction, where the C++ runtime resumes after
 * a throw. The table's format is that of GCC's unwind-pe.h and eh_personality.cc, described in the
 * Itanium C++ ABI's exception handling document. Other languages with an LSDA (Rust, Ada, D, gccgo,
 * C cleanups) share it.
 */
#include "elf/cursor.h"
#include "elf/internal.h"

struct pads { /* the landing pads of one LSDA */
    vaddr_t lsda;
    vaddr_t base;  /* their addresses count from here */
    uint64_t size; /* of the code with the call sites */
};

static void add_pad(const struct module *module, vaddr_t pad, vaddr_t lsda, code_refs *refs) {
    if (refs->count) { /* call sites of one cleanup are neighbours */
        const struct code_ref *last = refs->at + refs->count - 1;
        if (last->target == pad && last->from == lsda)
            return;
    }
    if (module_is_text(module, pad))
        ARRAY_PUSH(refs, ((struct code_ref){pad, lsda, CODE_REF_LANDING_PAD}));
}

/* Reads call sites up to the first one that is not behind the others within SIZE bytes of code.
 * Clang's tables of split functions continue with the next part's header (basic-block sections). */
static void read_sites(const struct module *module, struct cursor sites, uint8_t encoding,
                       const struct pads *of, code_refs *refs) {
    uint64_t done = 0;
    while (cursor_left(&sites) && !sites.failed) {
        uint64_t start = cursor_encoded_value(&sites, encoding);
        uint64_t length = cursor_encoded_value(&sites, encoding);
        uint64_t pad = cursor_encoded_value(&sites, encoding);
        cursor_uleb(&sites); /* action */
        if (start < done || start > of->size || length > of->size - start)
            return;
        done = start + length;
        if (pad && !sites.failed)
            add_pad(module, of->base + pad, of->lsda, refs);
    }
}

/* Reads the LSDA of the function at CODE. */
static void read_lsda(const struct module *module, struct span code, vaddr_t lsda,
                      code_refs *refs) {
    uint64_t size;
    const uint8_t *bytes = module_bytes_from(module, lsda, &size);
    if (!bytes)
        return;
    struct cursor in = cursor_over(bytes, size, lsda);
    struct pointer_bases bases = {
        .text = module->text_low, .data = module->priv->dynamic.got, .function = code.start};
    uint8_t encoding = cursor_sized_encoding(cursor_u8(&in), module->word_bytes);
    struct pads of = {.size = code.end - code.start, .lsda = lsda};
    of.base = encoding == PE_OMIT ? code.start : cursor_pointer(&in, encoding, &bases);
    if (cursor_u8(&in) != PE_OMIT)
        cursor_uleb(&in); /* offset of the type table */
    encoding = cursor_sized_encoding(cursor_u8(&in), module->word_bytes);
    uint64_t table_size = cursor_uleb(&in);
    const uint8_t *table = cursor_take(&in, table_size);
    if (!table)
        return;
    read_sites(module, cursor_over(table, table_size, 0), encoding, &of, refs);
}

void lsda_read_all(const struct module *module, code_refs *refs) {
    for (size_t i = 0; i < module->range_count; i++) {
        const struct unwind_range *r = &module->ranges[i];
        if (r->lsda)
            read_lsda(module, (struct span){r->start, r->end}, r->lsda, refs);
    }
    for (size_t i = 0; i < module->exception_count; i++) {
        const struct exception_range *r = &module->exceptions[i];
        if (r->lsda)
            read_lsda(module, (struct span){r->start, r->end}, r->lsda, refs);
    }
}
