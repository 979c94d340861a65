/* Walks the linker's stub sections. A stub belongs to the import whose slot it loads. */
#include "plan/code/plt_stubs.h"

struct stub_visitor {
    void (*see)(void *ctx, vaddr_t stub, const char *name);
    void *ctx;
};

/* Stubs of A32 may have a head of four bytes for callers in T32. */
static void show_stub(const struct states *states, const struct stub_visitor *w,
                      const struct text *text, vaddr_t begin, const char *name) {
    enum { HEAD_BYTES = 4 };
    vaddr_t head = begin - HEAD_BYTES;
    w->see(w->ctx, begin, name);
    if (states->at && text_holds(text, head) && *state_at(states, text, head) == CODE_T32)
        w->see(w->ctx, head, name);
}

/* Shows the linker's stubs of SECTION. A stub jumps through an import's slot, directly or after a
 * load. A literal between stubs, as of the first stub of A32, belongs to none. */
static void find_stubs(const struct states *states, const struct section *section,
                       const struct stub_visitor *w) {
    vaddr_t end = section->start + section->size, begin = 0, slot = 0, literal = 0;
    struct trail trail = {.known = 0};
    const struct text *text = text_at(states->texts, section->start);
    if (!text || !text_holds(text, end - 1))
        return;
    for (vaddr_t at = section->start; at < end;) {
        struct insn in;
        const struct arch *arch = state_arch(states, text, at);
        const uint8_t *bytes = section->bytes + (at - section->start);
        if (at == literal) {
            at += arch->word_bytes;
            continue;
        }
        if (arch->decode(bytes, end - at, at, &in, NULL)) {
            literal = in.operand == OPERAND_PC_MEMORY ? in.target : literal;
            arch_complete(arch, &trail, bytes, &in);
        }
        if (!begin && in.kind != INSN_NOP && in.kind != INSN_BREAK)
            begin = at;
        if (in.operand == OPERAND_PC_MEMORY)
            slot = in.target;
        if (in.kind == INSN_JUMP_INDIRECT && slot)
            show_stub(states, w, text, begin, module_import_at(states->texts->module, slot));
        if (in.kind == INSN_BAD || in.kind == INSN_JUMP || in.kind == INSN_JUMP_INDIRECT) {
            begin = slot = 0;
            trail.known = 0;
        }
        at += in.size;
    }
}

void plt_stubs_of_imports(const struct states *states,
                          void (*see)(void *ctx, vaddr_t stub, const char *name), void *ctx) {
    const struct stub_visitor w = {see, ctx};
    for (size_t i = 0; i < states->texts->module->section_count; i++) {
        const struct section *s = &states->texts->module->sections[i];
        if (s->plt && s->bytes)
            find_stubs(states, s, &w);
    }
}

struct name_filter {
    bool (*is_wanted)(const char *name);
    address_list *ret;
};

static void add_wanted(void *ctx, vaddr_t stub, const char *name) {
    const struct name_filter *name_filter = ctx;
    if (name_filter->is_wanted(name))
        ARRAY_PUSH(name_filter->ret, stub);
}

void functions_by_name(const struct states *states, bool (*is_wanted)(const char *),
                       address_list *ret) {
    const struct module *m = states->texts->module;
    struct name_filter name_filter = {is_wanted, ret};
    bool imported = false;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct symbol *s = &m->symbols[i];
        if (s->type == SYMBOL_FUNCTION && is_wanted(s->name))
            ARRAY_PUSH(ret, s->addr);
    }
    for (size_t i = 0; i < m->import_count && !imported; i++)
        imported = is_wanted(m->imports[i].name);
    if (imported)
        plt_stubs_of_imports(states, add_wanted, &name_filter);
    list_sort(ret);
}
