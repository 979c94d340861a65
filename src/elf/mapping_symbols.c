/*
 * The state, A32 or T32, in which 32-bit Arm runs the code at an address. Files that are not
 * stripped have mapping symbols: $a (A32), $t (T32), $d (data), each with any suffix (ELF for the
 * Arm Architecture, 5.5.5). Stripped files have only hints: bit 0 of function symbols, of the
 * entry, and of pointers to code is set for T32.
 */
#include "base/search.h"
#include "elf/internal.h"
#include "elf/sort.h"

static bool has_states(const struct module *module) { return module->machine == EM_ARM; }

vaddr_t marks_note(struct module *module, vaddr_t value, bool sure) {
    vaddr_t addr = value & ~(vaddr_t)1;
    if (!has_states(module))
        return value;
    struct code_mark mark = {addr, value & 1 ? CODE_T32 : CODE_A32, sure};
    if (module_is_text(module, addr))
        ARRAY_PUSH(&module->priv->hints, mark);
    return addr;
}

void marks_note_mapping(struct module *module, vaddr_t addr, const char *name) {
    struct code_mark mark = {addr, CODE_DATA, true};
    if (name[1] != 'd')
        mark.state = name[1] == 't' ? CODE_T32 : CODE_A32;
    if (has_states(module) && module_is_text(module, addr))
        ARRAY_PUSH(&module->priv->mapping, mark);
}

static bool is_marked(const code_marks *marks, vaddr_t addr) {
    size_t i = SEARCH(k, marks->count, marks->at[k].addr < addr);
    return i < marks->count && marks->at[i].addr == addr;
}

/* Whether all code is marked: then each section begins with a mapping symbol. */
static bool are_complete(const struct module *module, const code_marks *mapping) {
    for (size_t i = 0; i < module->section_count; i++) {
        const struct section *s = module->sections + i;
        if (s->executable && s->bytes && !is_marked(mapping, s->start))
            return false;
    }
    return mapping->count != 0;
}

/* Keeps one mark of each address. In a COMPLETE list that is the last: others cover no bytes. Else
 * it is the first sure one. Returns how many are left. */
static size_t drop_repeated(code_marks *marks, bool complete) {
    size_t kept = 0;
    for (size_t i = 0; i < marks->count; i++) {
        const struct code_mark *mark = &marks->at[i];
        struct code_mark *last = kept ? &marks->at[kept - 1] : NULL;
        if (!last || last->addr != mark->addr)
            marks->at[kept++] = *mark;
        else if (complete || (mark->sure && !last->sure))
            *last = *mark;
    }
    return kept;
}

void marks_finish(struct module *module) {
    struct module_private *priv = module->priv;
    sort_by_address(priv->mapping.at, priv->mapping.count, sizeof *priv->mapping.at);
    module->marks_complete = are_complete(module, &priv->mapping);
    code_marks marks = module->marks_complete ? priv->mapping : priv->hints;
    if (module->marks_complete)
        ARRAY_FREE(&priv->hints);
    else
        ARRAY_FREE(&priv->mapping);
    priv->mapping = priv->hints = (code_marks){0};
    sort_by_address(marks.at, marks.count, sizeof *marks.at);
    module->marks = marks.at;
    module->mark_count = drop_repeated(&marks, module->marks_complete);
}
