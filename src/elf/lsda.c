/*
 * Reads landing pads: branch targets, named by no instruction, where the C++ runtime resumes after
 * a throw. The table's format is that of GCC's unwind-pe.h and eh_personality.cc, described in the
 * Itanium C++ ABI's exception handling document. Other languages with an LSDA (Rust, Ada, D, gccgo,
 * C cleanups) share it.
 */
#include "elf/cursor.h"
#include "elf/internal.h"

static void add_pad(const struct module *module, vaddr_t pad, vaddr_t lsda, code_refs *refs) {
    if (refs->count) { /* call sites of one cleanup are neighbours */
        const struct code_ref *last = refs->at + refs->count - 1;
        if (last->target == pad && last->from == lsda)
            return;
    }
    if (module_is_text(module, pad))
        ARRAY_PUSH(refs, ((struct code_ref){pad, lsda, CODE_REF_LANDING_PAD}));
}

/* Reads the LSDA of the function at START. */
static void read_lsda(const struct module *module, vaddr_t start, vaddr_t lsda, code_refs *refs) {
    uint64_t size;
    const uint8_t *bytes = module_bytes_from(module, lsda, &size);
    if (!bytes)
        return;
    struct cursor in = cursor_over(bytes, size, lsda);
    struct pointer_bases bases = {
        .text = module->text_low, .data = module->priv->dynamic.got, .function = start};
    uint8_t encoding = cursor_sized_encoding(cursor_u8(&in), module->word_bytes);
    vaddr_t base = encoding == PE_OMIT ? start : cursor_pointer(&in, encoding, &bases);
    if (cursor_u8(&in) != PE_OMIT)
        cursor_uleb(&in); /* offset of the type table */
    encoding = cursor_sized_encoding(cursor_u8(&in), module->word_bytes);
    uint64_t table_size = cursor_uleb(&in);
    const uint8_t *table = cursor_take(&in, table_size);
    if (!table)
        return;
    struct cursor sites = cursor_over(table, table_size, 0);
    while (cursor_left(&sites) && !sites.failed) {
        cursor_encoded_value(&sites, encoding); /* start and length of the call site */
        cursor_encoded_value(&sites, encoding);
        uint64_t pad = cursor_encoded_value(&sites, encoding);
        cursor_uleb(&sites); /* action */
        if (pad && !sites.failed)
            add_pad(module, base + pad, lsda, refs);
    }
}

void lsda_read_all(const struct module *module, code_refs *refs) {
    for (size_t i = 0; i < module->range_count; i++)
        if (module->ranges[i].lsda)
            read_lsda(module, module->ranges[i].start, module->ranges[i].lsda, refs);
    for (size_t i = 0; i < module->exception_count; i++)
        if (module->exceptions[i].lsda)
            read_lsda(module, module->exceptions[i].start, module->exceptions[i].lsda, refs);
}
