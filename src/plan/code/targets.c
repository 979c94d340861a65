/* Records places that symbols, data and tables refer to, and places that must stay unpatched. */
#include <string.h>

#include "plan/code/reading.h"
#include "plan/code/roles.h"

static void note_symbols(const struct code *c) {
    for (size_t i = 0; i < c->module->symbol_count; i++) {
        const struct symbol *s = &c->module->symbols[i];
        bool function = s->type == SYMBOL_FUNCTION || s->type == SYMBOL_IFUNC;
        code_note(c, c->targets, s->addr);
        if (function && !role_is_part(s->name))
            code_note_called(c, s->addr, true);
    }
}

/* True for a call of the profiler, or a nop in its place (gcc -pg -mnop-mcount). */
static bool is_profiler_call(const struct code *c, vaddr_t addr) {
    enum { CALL_BYTES = 5 };
    if (!insn_at(c, addr))
        return false;
    const struct text *text = text_at(c->texts, addr);
    uint8_t kind = insn_kind(c, text, addr);
    return (kind == INSN_CALL || kind == INSN_CALL_INDIRECT || kind == INSN_NOP) &&
           insn_size(c, text, addr) >= CALL_BYTES;
}

static bool is_sled_or_function(const struct code *c, vaddr_t addr) {
    uint32_t i = code_func_at(c, addr);
    return sled_touches(c->sleds, addr, addr + 1) || (i != NO_FUNC && c->funcs[i].start == addr);
}

bool ref_is_hint(const struct code *c, const struct code_ref *r) {
    const struct section *s = module_section_at(c->module, r->from);
    if (!s)
        return false;
    if (!strcmp(s->name, "__mcount_loc"))
        return is_profiler_call(c, r->target);
    if (!strcmp(s->name, "xray_instr_map"))
        return is_sled_or_function(c, r->target);
    return !strcmp(s->name, "__patchable_function_entries");
}

/* Many numbers of 32 bits look like addresses in programs at a fixed address, since code begins at
 * a low address there. R may be one only if F is known to be no more than one function. */
bool ref_may_be_number(const struct code *c, const struct code_ref *r, const struct func *f) {
    return r->kind == CODE_REF_DATA && c->module->word_bytes == sizeof(uint32_t) &&
           (f->range || f->sized);
}

/* References that are hints make no targets. */
static void note_refs(struct code *c) {
    const struct module *m = c->module;
    uint32_t f = 0; /* references and functions are sorted */
    for (size_t i = 0; i < m->ref_count; i++) {
        const struct code_ref *r = &m->refs[i];
        if (ref_is_hint(c, r))
            continue;
        while (f < c->func_count && c->funcs[f].end <= r->target)
            f++;
        bool inside = f < c->func_count && r->target > c->funcs[f].start;
        bool middle = inside && code_is_aligned(c, c->funcs[f].text, r->target);
        if (middle && r->kind != CODE_REF_LANDING_PAD)
            c->by_func[f].code_refs++;
        if (!inside || !ref_may_be_number(c, r, &c->funcs[f]))
            code_note(c, c->targets, r->target);
    }
}

/* Critical sections of restartable sequences (linux/rseq.h). The kernel compares the pc with their
 * bounds, and checks the four signature bytes before the abort handler. Both stay unpatched. */
enum { RSEQ_CS_BYTES = 32, RSEQ_START = 8, RSEQ_LENGTH = 16, RSEQ_ABORT = 24, RSEQ_SIGNATURE = 4 };

static vaddr_t ref_target(const struct module *m, vaddr_t from) {
    for (size_t i = 0; i < m->ref_count; i++) {
        if (m->refs[i].from == from)
            return m->refs[i].target;
    }
    return 0;
}

static void keep_sequences(struct code *c, const struct section *s) {
    for (uint64_t at = 0; s->size - at >= RSEQ_CS_BYTES; at += RSEQ_CS_BYTES) {
        uint64_t length;
        memcpy(&length, s->bytes + at + RSEQ_LENGTH, sizeof length);
        vaddr_t start = ref_target(c->module, s->start + at + RSEQ_START);
        vaddr_t handler = ref_target(c->module, s->start + at + RSEQ_ABORT);
        if (start)
            code_keep(c, start, length);
        if (handler)
            code_keep(c, handler - RSEQ_SIGNATURE, RSEQ_SIGNATURE);
    }
}

enum { MOST_NOPS = 4096 };

static bool is_nop(const struct code *c, const struct text *text, vaddr_t at) {
    return text_holds(text, at) && insn_begins(c, text, at) && insn_kind(c, text, at) == INSN_NOP;
}

/* The end of the nops from AT on; LIMIT at most. */
static vaddr_t nops_end(const struct code *c, const struct text *text, vaddr_t at, vaddr_t limit) {
    while (at < limit && is_nop(c, text, at))
        at += insn_size(c, text, at);
    return at;
}

/* The index of the function that the nops at ADDR precede or are in. */
static uint32_t function_of(const struct code *c, vaddr_t addr) {
    uint32_t i = code_func_at(c, addr);
    size_t next = SEARCH(k, c->func_count, c->funcs[k].start <= addr);
    return i != NO_FUNC ? i : next < c->func_count ? (uint32_t)next : NO_FUNC;
}

/* ADDR is an entry of the table of patchable functions. Sets func_code.pad, and keeps the nops
 * before the entry from being used as padding. False: ADDR has no such nops. */
static bool note_pad(struct code *c, vaddr_t addr) {
    uint32_t i = function_of(c, addr);
    const struct func *f = i == NO_FUNC ? NULL : &c->funcs[i];
    if (!f || !text_holds(f->text, addr))
        return false;
    bool inside = addr == f->start || addr == f->body;
    if (!inside && (addr > f->start || f->start - addr > MOST_NOPS ||
                    nops_end(c, f->text, addr, f->start) != f->start))
        return false;
    c->by_func[i].pad = inside ? f->start : addr;
    if (!inside)
        code_keep(c, addr, f->start - addr);
    return true;
}

/* Some functions begin with a one-byte nop and a call, and are in no table of patchable functions.
 * The first function of a stack returns behind the nop, although nothing called it. The nop makes
 * the place look as if it were behind a call, so that unwinders find the function (Go's goexit). */
static void note_stack_bottoms(struct code *c) {
    for (uint32_t i = 0; i < c->func_count; i++) {
        const struct func *f = &c->funcs[i];
        vaddr_t next = f->body + 1;
        if (c->by_func[i].pad || next >= f->end || insn_kind(c, f->text, f->body) != INSN_NOP ||
            insn_size(c, f->text, f->body) != 1 || !insn_at(c, next))
            continue;
        uint8_t kind = insn_kind(c, f->text, next);
        if (kind == INSN_CALL || kind == INSN_CALL_INDIRECT)
            code_note(c, c->targets, next);
    }
}

void targets_note(struct code *c) {
    const struct module *m = c->module;
    note_symbols(c);
    note_refs(c);
    for (size_t i = 0; i < m->patchable_count; i++) {
        if (!note_pad(c, m->patchables[i].addr))
            code_note(c, c->targets, m->patchables[i].addr);
    }
    note_stack_bottoms(c);
    for (size_t i = 0; i < m->section_count; i++) {
        const struct section *s = &m->sections[i];
        if (s->bytes && !strcmp(s->name, "__rseq_cs"))
            keep_sequences(c, s);
    }
}
