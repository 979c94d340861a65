/* Places in code that anything but an instruction points at. */
#include <string.h>

#include "plan/analysis.h"

static void note_symbols(struct analysis *a) {
    for (size_t i = 0; i < a->module->symbol_count; i++) {
        const struct symbol *s = &a->module->symbols[i];
        bool function = s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
        bool named = function && !special_is_part(s->name);
        text_note(a, s->addr, named ? FACT_TARGET | FACT_TAKEN : FACT_TARGET);
    }
}

static int compare_address(const void *x, const void *y) {
    vaddr_t a = *(const vaddr_t *)x, b = *(const vaddr_t *)y;
    return (a > b) - (a < b);
}

/* Is the reference that stands at FROM an entry of a switch's table of addresses? */
static bool in_switch_table(const struct analysis *a, vaddr_t from) {
    return a->switch_words.count && bsearch(&from, a->switch_words.at, a->switch_words.count,
                                            sizeof(vaddr_t), compare_address);
}

/* A call of the profiler, or the nop that stands for one (gcc -pg -mnop-mcount). */
static bool is_profiler_call(const struct analysis *a, vaddr_t addr) {
    enum { CALL_BYTES = 5 };
    if (!text_is_insn(a, addr))
        return false;
    const struct text *text = text_at(a, addr);
    uint8_t kind = text_kind(text, addr);
    return (kind == INSN_CALL || kind == INSN_CALL_INDIRECT || kind == INSN_NOP) &&
           text_size(text, addr) >= CALL_BYTES;
}

static bool is_sled_or_function(const struct analysis *a, vaddr_t addr) {
    uint32_t i = func_at(a, addr);
    return sled_touches(a, addr, addr + 1) || (i != NO_FUNC && a->funcs[i].start == addr);
}

/* Is the reference R an entry of a list that says where code can be patched? */
static bool is_hint(const struct analysis *a, const struct code_ref *r) {
    const struct section *s = module_section_at(a->module, r->from);
    if (!s)
        return false;
    if (!strcmp(s->name, "__mcount_loc"))
        return is_profiler_call(a, r->target);
    if (!strcmp(s->name, "xray_instr_map"))
        return is_sled_or_function(a, r->target);
    return !strcmp(s->name, "__patchable_function_entries");
}

/* May R be a number that is an address by chance? Of those of 32 bits that a program at a fixed
 * address has many are: its code begins where they are small. It leads into the middle of F, which
 * must be no more than one function. */
static bool may_be_number(const struct analysis *a, const struct code_ref *r,
                          const struct func *f) {
    return r->kind == CODE_REF_DATA && a->module->word_bytes == sizeof(uint32_t) &&
           (f->range || f->sized);
}

/* Hints are among the references: they are no targets. */
static void note_refs(struct analysis *a) {
    const struct module *m = a->module;
    uint32_t f = 0; /* references are sorted as functions are */
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        if (is_hint(a, r))
            continue;
        while (f < a->func_count && a->funcs[f].end <= r->target)
            f++;
        bool inside = f < a->func_count && r->target > a->funcs[f].start;
        bool middle =
            inside && r->target % text_arch(a, a->funcs[f].text, r->target)->insn_bytes == 0;
        if (middle && r->kind != CODE_REF_LANDING_PAD)
            a->funcs[f].code_refs++;
        if (!inside || !may_be_number(a, r, &a->funcs[f]))
            text_note(a, r->target, FACT_TARGET);
    }
}

/* Which functions, by root, jump to where a register or memory tells. */
static uint8_t *find_jumpers(const struct analysis *a) {
    uint8_t *ret = mem_alloc(a->func_count + 1);
    for (size_t i = 0; i < a->transfers.count; i++) {
        const struct transfer *t = &a->transfers.at[i];
        if (t->kind == INSN_JUMP_INDIRECT || (t->kind == INSN_BRANCH && !t->to))
            ret[group_of(a, t->func)] = true;
    }
    return ret;
}

/* A label is jumped to by its own function, in any part of that (GCC manual, "Labels as Values").
 * Where that makes no such jump, what leads into its middle is a number. */
void targets_note_labels(struct analysis *a) {
    const struct module *m = a->module;
    AUTO_FREE uint8_t *jumps = find_jumpers(a);
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        uint32_t f = func_at(a, r->target);
        if (f == NO_FUNC || r->target == a->funcs[f].start || !may_be_number(a, r, &a->funcs[f]) ||
            is_hint(a, r))
            continue;
        const struct func *root = group_root(a, f);
        if (jumps[group_of(a, f)] || root->bad || root->loose || root->unproven)
            text_note(a, r->target, FACT_TARGET);
    }
}

/* A switch reaches parts of its own function, .cold parts included: no address is taken by it. */
void targets_take(struct analysis *a) {
    const struct module *m = a->module;
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        if (r->kind != CODE_REF_LANDING_PAD && !in_switch_table(a, r->from) && !is_hint(a, r))
            text_note(a, r->target, FACT_TAKEN);
    }
}

/* Critical sections of restartable sequences (linux/rseq.h): the kernel compares the pc with their
 * bounds, and checks the four signature bytes before the abort handler. Nothing there is patched.
 */
static void lock_range(struct analysis *a, vaddr_t start, uint64_t size) {
    struct text *t = text_at(a, start);
    for (uint64_t i = 0; t && i < size && text_holds(t, start + i); i++)
        *text_fact(t, start + i) |= FACT_OWNED;
}

enum { RSEQ_CS_BYTES = 32, RSEQ_START = 8, RSEQ_LENGTH = 16, RSEQ_ABORT = 24, RSEQ_SIGNATURE = 4 };

static vaddr_t referred(const struct module *m, vaddr_t from) {
    for (size_t i = 0; i < m->ref_count; i++) {
        if (m->refs[i].from == from)
            return m->refs[i].target;
    }
    return 0;
}

static void lock_sequences(struct analysis *a, const struct section *s) {
    for (uint64_t at = 0; s->size - at >= RSEQ_CS_BYTES; at += RSEQ_CS_BYTES) {
        uint64_t length;
        memcpy(&length, s->bytes + at + RSEQ_LENGTH, sizeof length);
        vaddr_t start = referred(a->module, s->start + at + RSEQ_START);
        vaddr_t handler = referred(a->module, s->start + at + RSEQ_ABORT);
        if (start)
            lock_range(a, start, length);
        if (handler)
            lock_range(a, handler - RSEQ_SIGNATURE, RSEQ_SIGNATURE);
    }
}

/* A nop of one byte before a call, that no compiler has listed: behind it is where the first
 * function of a stack returns to, which nobody called. It looks as if it stood behind a call, so
 * that unwinders find the function (Go's goexit). */
static void note_bottoms(struct analysis *a) {
    for (uint32_t i = 0; i < a->func_count; i++) {
        const struct func *f = &a->funcs[i];
        vaddr_t next = f->body + 1;
        if (f->pad || next >= f->end || text_kind(f->text, f->body) != INSN_NOP ||
            text_size(f->text, f->body) != 1 || !text_is_insn(a, next))
            continue;
        uint8_t kind = text_kind(f->text, next);
        if (kind == INSN_CALL || kind == INSN_CALL_INDIRECT)
            text_note(a, next, FACT_TARGET);
    }
}

void targets_note(struct analysis *a) {
    const struct module *m = a->module;
    note_symbols(a);
    note_refs(a);
    for (size_t i = 0; i < m->patchable_count; i++) {
        if (!pad_note(a, m->patchables[i].addr))
            text_note(a, m->patchables[i].addr, FACT_TARGET);
    }
    note_bottoms(a);
    for (size_t i = 0; i < m->section_count; i++) {
        const struct section *s = &m->sections[i];
        if (s->bytes && !strcmp(s->name, "__rseq_cs"))
            lock_sequences(a, s);
    }
}
