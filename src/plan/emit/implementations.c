/*
 * Finds the functions that an indirect function (IFUNC) may resolve to. In the process, a resolver
 * chooses one of them, once. It takes the addresses of all candidates: by an instruction, from the
 * linker's table, or from a variable.
 */
#include <string.h>

#include "base/bitmap.h"
#include "plan/emit/planned.h"

enum { MOST_NESTED = 3 }; /* resolvers call each other's helpers */

struct search {
    const struct plan *plan;
    uint8_t *found; /* bitmaps by function */
    uint8_t *seen;
};

static void note(struct search *s, vaddr_t addr) {
    uint32_t i = plan_index_at(s->plan, addr);
    if (i != UINT32_MAX)
        bitmap_set(s->found, i);
}

/* Notes what the word at SLOT leads to: its value in the file, a relocation's target, or the symbol
 * that the dynamic linker finds. */
static void note_word(struct search *s, vaddr_t slot) {
    const struct module *m = s->plan->module;
    const char *name = module_import_at(m, slot);
    const struct symbol *symbol = name ? module_symbol_named(m, name) : NULL;
    const uint8_t *bytes = module_bytes(m, slot, m->word_bytes);
    uint64_t word = 0;
    if (symbol)
        note(s, symbol->addr);
    for (size_t i = 0; i < m->ref_count; i++)
        if (m->refs[i].from == slot)
            note(s, m->refs[i].target);
    if (bytes && !m->position_independent) {
        memcpy(&word, bytes, m->word_bytes);
        note(s, plan_code_address(s->plan, word));
    }
}

static void read_function(struct search *s, vaddr_t addr, int nested);

static void read_insn(struct search *s, const struct insn *insn, const struct insn_constants *k,
                      int nested) {
    if (insn->operand == OPERAND_PC_ADDRESS)
        note(s, plan_code_address(s->plan, insn->target));
    else if (insn->operand == OPERAND_PC_MEMORY)
        note_word(s, insn->target);
    else if ((insn->kind == INSN_CALL || insn->kind == INSN_JUMP) && nested < MOST_NESTED)
        read_function(s, insn->target, nested + 1);
    for (uint8_t i = 0; i < k->immediate_count; i++)
        note(s, k->immediate[i]);
    if (k->has_displacement)
        note_word(s, k->displacement);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as MOST_NESTED */
static void read_function(struct search *s, vaddr_t addr, int nested) {
    const struct plan *plan = s->plan;
    uint32_t i = plan_index_at(plan, addr);
    uint64_t size = i == UINT32_MAX ? 0 : plan->functions.at[i].size;
    if (!size || !module_bytes(plan->module, addr, size) || bitmap_test(s->seen, i))
        return;
    bitmap_set(s->seen, i);
    struct insn insn;
    struct trail trail = {.known = 0};
    for (uint64_t at = 0; at < size; at += insn.size) {
        struct insn_constants constants = {.immediate_count = 0};
        if (plan_decode(plan, addr + at, &trail, &insn, &constants))
            read_insn(s, &insn, &constants, nested);
    }
}

void plan_implementations(const struct plan *plan, vaddr_t resolver, uint8_t *ret) {
    module_complete(plan->module);
    AUTO_FREE uint8_t *seen = mem_alloc(plan->functions.count / 8 + 1);
    struct search s = {plan, ret, seen};
    read_function(&s, resolver, 0);
}
