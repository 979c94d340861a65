/*
 * One pass over all code. Between unwind ranges it decodes as well (code
 * without unwind information may branch into functions), where misreading data
 * as code only adds targets.
 */
#include <errno.h>

#include "plan/analysis.h"

enum { MAX_TEXT = INT32_MAX }; /* what a direct branch can span */

static struct text text_new(const struct analysis *a, const struct segment *s) {
    return (struct text){
        .start = s->start,
        .size = s->file_size,
        .bytes = s->bytes,
        .code = mem_alloc(s->file_size),
        .facts = mem_alloc(s->file_size),
        .refers = mem_alloc(s->file_size / 8 + 1),
        .size_shift = a->arch->other ? 1 : 0,
        .states = a->arch->other ? mem_alloc(s->file_size / STATE_BYTES + 1) : NULL,
    };
}

int text_open(struct analysis *a, struct err *err) {
    const struct module *m = a->module;
    uint64_t total = 0;
    vaddr_t done = 0;
    for (size_t i = 0; i < m->segment_count; i++) {
        const struct segment *s = &m->segments[i];
        if (!s->executable || !s->file_size || s->start < done)
            continue;
        total += s->file_size;
        if (s->file_size > MAX_TEXT || total > MAX_TEXT)
            return err_set(err, EFBIG, "text-too-large", "%s: more than 2 GB of code", m->name);
        ARRAY_PUSH(&a->texts, text_new(a, s));
        done = s->start + s->file_size;
    }
    return 0;
}

void text_close(struct analysis *a) {
    for (size_t i = 0; i < a->texts.count; i++) {
        free(a->texts.at[i].code);
        free(a->texts.at[i].facts);
        free(a->texts.at[i].refers);
        free(a->texts.at[i].states);
        free(a->texts.at[i].first_funcs);
    }
    ARRAY_FREE(&a->texts);
}

struct text *text_at(const struct analysis *a, vaddr_t addr) {
    for (size_t i = 0; i < a->texts.count; i++) {
        if (text_holds(&a->texts.at[i], addr))
            return &a->texts.at[i];
    }
    return NULL;
}

const struct section *text_section_at(const struct analysis *a, vaddr_t addr) {
    for (size_t i = 0; i < a->module->section_count; i++) {
        const struct section *s = &a->module->sections[i];
        if (s->executable && addr - s->start < s->size)
            return s;
    }
    return NULL;
}

void text_note(const struct analysis *a, vaddr_t addr, uint8_t facts) {
    const struct text *t = text_at(a, addr);
    bool arrives = facts & (FACT_TARGET | FACT_CALLED | FACT_TAKEN | FACT_RETURN_POINT);
    if (t &&
        !(arrives && addr % text_arch(a, t, addr)->insn_bytes)) /* only looks like an address */
        *text_fact(t, addr) |= facts;
}

bool text_is_insn(const struct analysis *a, vaddr_t addr) {
    const struct text *t = text_at(a, addr);
    return t && t->code[addr - t->start];
}

vaddr_t text_previous(const struct text *text, vaddr_t addr) {
    for (vaddr_t p = addr - 1; text_holds(text, p) && addr - p <= UNIT_MAX_BYTES; p--) {
        if (text->code[p - text->start])
            return p + text_size(text, p) == addr ? p : 0;
    }
    return 0;
}

vaddr_t text_state_end(const struct text *text, vaddr_t addr, vaddr_t limit) {
    vaddr_t end = addr;
    if (!text->states)
        return limit;
    while (end < limit && *text_state(text, end) == *text_state(text, addr))
        end += STATE_BYTES;
    return end < limit ? end : limit;
}

static bool takes_lane(const struct analysis *a, const struct text *t) {
    for (size_t i = 0; i < t->size; i++)
        if (t->code[i] &&
            text_arch(a, t, t->start + i)->writes_lane(t->bytes + i, text_size(t, t->start + i)) &&
            func_at(a, t->start + i) != NO_FUNC)
            return true;
    return false;
}

bool text_takes_lane(const struct analysis *a) {
    if (!a->arch->writes_lane)
        return false;
    for (size_t i = 0; i < a->texts.count; i++)
        if (takes_lane(a, &a->texts.at[i]))
            return true;
    return false;
}

/* ---- the pass ---- */

struct sweep {
    struct analysis *a;
    struct text *text;
    const struct arch *arch; /* of the code that is being decoded */
    uint32_t func;           /* NO_FUNC between functions */
    vaddr_t called; /* target of a direct call just passed, while flags are as it left them */
    struct insn_constants *constants; /* non-PIE */
    struct insn_constants storage;
    struct trail trail;
    vaddr_t slot;      /* the word of memory at a known place that was accessed last; 0: none */
    vaddr_t exclusive; /* where a pair of exclusive accesses has begun; 0: nowhere */
};

static void begin_run(struct sweep *s, uint32_t func) {
    s->func = func;
    s->called = 0;
    s->slot = 0;
    s->exclusive = 0;
    s->trail = (struct trail){.known = 0};
}

/* Notes a branch to a return apart (returns.c). */
static bool note_to_return(struct sweep *s, const struct insn *in) {
    struct analysis *a = s->a;
    if (in->kind == INSN_FIXED || in->kind == INSN_LOOP || s->func == NO_FUNC ||
        !text_holds(s->text, in->target) || in->turns)
        return false;
    size_t room = s->text->size - (in->target - s->text->start);
    if (!s->arch->is_return(text_bytes(s->text, in->target), room))
        return false;
    const struct func *f = &a->funcs[s->func];
    bool inside = in->target >= f->start && in->target < f->end;
    uint32_t g = inside ? s->func : func_at(a, in->target);
    if (!func_is_described(a, f) || g == NO_FUNC || !func_is_described(a, &a->funcs[g]))
        return false;
    ARRAY_PUSH(&a->to_returns, ((struct return_branch){.to = in->target, .from = in->addr}));
    return true;
}

/* A return with a condition, or a jump through a register or memory. */
static void note_exit(struct sweep *s, const struct insn *in) {
    const struct transfer t = {
        .from = in->addr, .func = s->func, .kind = in->kind, .tails = in->tails};
    if (s->func != NO_FUNC)
        ARRAY_PUSH(&s->a->transfers, t);
}

static void note_branch(struct sweep *s, const struct insn *in) {
    struct analysis *a = s->a;
    if (insn_may_return(in)) {
        note_exit(s, in);
        return;
    }
    if (!note_to_return(s, in))
        text_note(a, in->target, FACT_TARGET);
    if (s->func == NO_FUNC)
        func_note_stray(a, in->target);
    else if (a->funcs[s->func].range)
        func_note_branch(a, in->target);
    if (s->func == NO_FUNC || in->kind == INSN_FIXED)
        return;
    const struct func *f = &a->funcs[s->func];
    bool inside = in->target > f->start && in->target < f->end && in->target != f->body;
    if (!inside)
        ARRAY_PUSH(&a->transfers, ((struct transfer){in->addr, in->target, s->func, in->kind, 0,
                                                     false, false, false}));
}

static void note_callee(struct sweep *s, const struct insn *in) {
    text_note(s->a, in->target, FACT_TARGET | FACT_CALLED);
    if (s->func != NO_FUNC && s->a->funcs[s->func].range)
        func_note_branch(s->a, in->target);
}

static void note_call(struct sweep *s, const struct insn *in) {
    if (in->kind == INSN_CALL)
        note_callee(s, in);
    text_note(s->a, in->addr + in->size, FACT_RETURN_POINT);
    controls_note_call(s->a, in, s->slot, s->func);
    s->slot = 0;
    s->called = in->kind == INSN_CALL ? in->target : 0;
}

/* Those tell of constants on machines without states (literals.c). */
static bool is_literal_load(const struct analysis *a, const struct insn *in) {
    return in->loads && !a->arch->other;
}

static void note_pc_address(struct sweep *s, const struct insn *in) {
    struct analysis *a = s->a;
    vaddr_t target = code_address(a, in->target);
    if (in->operand == OPERAND_PC_MEMORY) {
        s->slot = target;
        if (!is_literal_load(a, in))
            text_note(a, target, FACT_TARGET);
        return;
    }
    text_note(a, target, FACT_TARGET | FACT_TAKEN);
    if (s->func == NO_FUNC)
        return;
    const struct func *f = &a->funcs[s->func];
    struct address_load load = {target, s->func};
    if (target >= f->start && target < f->end)
        ARRAY_PUSH(&a->bases, load);
    else
        ARRAY_PUSH(&a->loads, load);
}

static void note_constants(struct sweep *s) {
    const struct insn_constants *c = s->constants;
    for (int i = 0; i < c->immediate_count; i++)
        text_note(s->a, c->immediate[i], FACT_TARGET | FACT_TAKEN);
    if (c->has_displacement)
        text_note(s->a, c->displacement, FACT_TARGET);
}

/* A callee whose caller reads flags right after the call returns them. */
static void note_flags(struct sweep *s, const struct insn *in) {
    if (!s->called)
        return;
    if (in->reads_flags)
        ARRAY_PUSH(&s->a->answers, s->called);
    if (in->reads_flags || in->writes_flags)
        s->called = 0;
}

/* No window may hold anything of those from FIRST to LAST. */
static void keep_together(const struct text *text, vaddr_t first, vaddr_t last) {
    for (vaddr_t at = first; at <= last && text_holds(text, at); at++)
        *text_fact(text, at) |= FACT_OWNED;
}

/* Between an exclusive load and the store that belongs to it other accesses may make that fail each
 * time, so stubs must not stand there. Pairs are short (Arm ARM, "Synchronization and semaphores":
 * 128 bytes). */
static void note_exclusive(struct sweep *s, const struct insn *in) {
    enum { LONGEST = 128 };
    if (in->exclusive == EXCLUSIVE_WITH_NEXT)
        keep_together(s->text, in->addr, in->addr + in->size);
    if (in->exclusive == EXCLUSIVE_BEGINS)
        s->exclusive = in->addr;
    if (in->exclusive != EXCLUSIVE_ENDS || !s->exclusive)
        return;
    if (in->addr - s->exclusive < LONGEST)
        keep_together(s->text, s->exclusive, in->addr);
    s->exclusive = 0;
}

const uint8_t *text_literal(const struct analysis *a, const struct insn *in) {
    bool memory = in->operand == OPERAND_PC_MEMORY && a->arch->other;
    return memory ? module_constant(a->module, in->target, a->arch->word_bytes) : NULL;
}

/* An address that several instructions make. */
static void note_trail(struct sweep *s, const struct insn *in) {
    struct insn whole;
    s->trail.literal = text_literal(s->a, in);
    if (!s->arch->follow(&s->trail, in, text_bytes(s->text, in->addr), &whole))
        return;
    if (whole.operand != OPERAND_ABSOLUTE || !s->a->module->position_independent)
        note_pc_address(s, &whole);
}

static void note_insn(struct sweep *s, const struct insn *in) {
    note_flags(s, in);
    if (in->exclusive)
        note_exclusive(s, in);
    if (is_literal_load(s->a, in))
        literals_note(s->a, in);
    if (s->arch->follow)
        note_trail(s, in);
    switch (in->kind) {
    case INSN_JUMP:
    case INSN_BRANCH:
    case INSN_LOOP:
        note_branch(s, in);
        return;
    case INSN_CALL:
    case INSN_CALL_INDIRECT:
        note_call(s, in);
        break;
    case INSN_RETURN:
    case INSN_JUMP_INDIRECT:
        if (s->func != NO_FUNC)
            ARRAY_PUSH(&s->a->transfers,
                       ((struct transfer){in->addr, 0, s->func, in->kind, 0, false, false, false}));
        break;
    case INSN_FIXED:
        if (in->operand == OPERAND_PLAIN && in->target)
            note_branch(s, in);
        break;
    default:
        break;
    }
    if (in->operand == OPERAND_PC_ADDRESS || in->operand == OPERAND_PC_MEMORY)
        note_pc_address(s, in);
    else if (s->constants)
        note_constants(s);
}

/* A return with a condition by which no branch can be made cannot be told apart. */
static bool is_unbranchable(const struct sweep *s, const struct insn *in) {
    uint8_t scratch[RELOCATED_MAX_BYTES];
    return insn_may_return(in) &&
           !s->arch->skip_unless(in, text_bytes(s->text, in->addr), STUB_MAX_BYTES, scratch);
}

/* A call that is a switch is an indirect jump from here on; it stays, as its table does. */
static bool take_switch(struct sweep *s, struct insn *in) {
    struct dispatch form;
    if (in->kind != INSN_CALL || !call_is_switch(s->a, s->arch, in, &form))
        return false;
    note_callee(s, in);
    in->kind = INSN_JUMP_INDIRECT;
    return true;
}

static void note_reference(struct text *text, vaddr_t at) {
    size_t i = at - text->start;
    text->refers[i / 8] |= (uint8_t)(1 << i % 8);
}

/* All of one state. */
static void decode_code(struct sweep *s, vaddr_t start, vaddr_t end) {
    struct func *f = s->func == NO_FUNC ? NULL : &s->a->funcs[s->func];
    s->arch = text_arch(s->a, s->text, start);
    bool (*decode)(const uint8_t *, size_t, vaddr_t, struct insn *, struct insn_constants *) =
        s->arch->decode;
    uint8_t *code = s->text->code - s->text->start;
    for (vaddr_t at = start; at < end;) {
        struct insn in;
        size_t room = end - at < UNIT_MAX_BYTES ? end - at : UNIT_MAX_BYTES;
        bool good = decode(text_bytes(s->text, at), room, at, &in, s->constants);
        if (in.copies && !module_constant(s->a->module, in.target, in.copies))
            in.kind = INSN_FIXED;
        bool stays = is_unbranchable(s, &in) || take_switch(s, &in);
        if (in.target)
            note_reference(s->text, at);
        code[at] = text_code(s->text, in.size, in.stays || stays ? INSN_FIXED : in.kind);
        if (f && !good && s->a->arch->other)
            f->bad = true;
        else if (f && !good)
            ARRAY_PUSH(&s->a->odd_words, ((struct address_load){at, s->func}));
        if (f && in.kind != INSN_NOP && in.kind != INSN_BREAK)
            f->last = at;
        if (f && at < f->body && in.kind == INSN_JUMP &&
            in.target > at) { /* over data: part of the landing */
            at = in.target;
            continue;
        }
        if (good)
            note_insn(s, &in);
        at += in.size;
    }
}

static void decode_range(struct sweep *s, vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start, next; at < end; at = next) {
        next = text_state_end(s->text, at, end);
        if (text_is_data(s->text, at))
            begin_run(s, s->func);
        else
            decode_code(s, at, next);
    }
}

/* Does control not simply go on behind an instruction of KIND? A call may not come back. */
static bool ends_run(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_CALL || kind == INSN_CALL_INDIRECT || kind == INSN_TRAP;
}

static bool is_filler(const struct arch *arch, const uint8_t *bytes, size_t room) {
    return arch->is_filler && arch->is_filler(bytes, room);
}

/* Bytes that belong to no function may be code or data. A run that would go on into what no program
 * executes is data: text and tables are full of such, and what reads like a branch in them is none.
 * What linkers fill gaps with is padding where no run comes to it. */
static void decode_gap_code(struct sweep *s, vaddr_t start, vaddr_t end) {
    const struct arch *arch = text_arch(s->a, s->text, start);
    vaddr_t run = start;
    begin_run(s, NO_FUNC);
    for (vaddr_t at = start; at < end;) {
        struct insn in;
        const uint8_t *bytes = text_bytes(s->text, at);
        size_t room = end - at < UNIT_MAX_BYTES ? end - at : UNIT_MAX_BYTES;
        if (at == run && is_filler(arch, bytes, room)) {
            s->text->code[at - s->text->start] = text_code(s->text, arch->insn_bytes, INSN_BREAK);
            run = at += arch->insn_bytes;
            continue;
        }
        bool good = arch->decode(bytes, room, at, &in, NULL) && !arch->is_barred(bytes, in.size);
        s->text->code[at - s->text->start] = text_code(s->text, in.size, in.kind);
        at += in.size;
        if (good && (ends_run(in.kind) || at >= end))
            decode_range(s, run, at);
        if (!good || ends_run(in.kind))
            run = at;
        if (!good)
            s->called = 0;
    }
}

static void decode_gap(struct sweep *s, vaddr_t start, vaddr_t end) {
    for (vaddr_t at = start, next; at < end; at = next) {
        next = text_state_end(s->text, at, end);
        if (!text_is_data(s->text, at))
            decode_gap_code(s, at, next);
    }
}

/* Decodes [start, end) with the functions in it, from *FUNC on. */
static void decode_span(struct sweep *s, vaddr_t start, vaddr_t end, uint32_t *func) {
    struct analysis *a = s->a;
    vaddr_t at = start;
    while (*func < a->func_count && a->funcs[*func].start < start)
        ++*func;
    for (; *func < a->func_count && a->funcs[*func].end <= end; ++*func) {
        decode_gap(s, at, a->funcs[*func].start);
        begin_run(s, *func);
        decode_range(s, a->funcs[*func].start, a->funcs[*func].end);
        at = a->funcs[*func].end;
    }
    decode_gap(s, at, end);
}

void text_decode(struct analysis *a) {
    const struct module *m = a->module;
    struct sweep s = {.a = a};
    s.constants = m->position_independent ? NULL : &s.storage;
    uint32_t func = 0;
    vaddr_t done = 0;
    for (size_t i = 0; i < m->section_count; i++) {
        const struct section *section = &m->sections[i];
        s.text = section->executable && section->bytes ? text_at(a, section->start) : NULL;
        if (!s.text || section->start < done)
            continue;
        vaddr_t limit = s.text->start + s.text->size;
        vaddr_t end =
            section->size < limit - section->start ? section->start + section->size : limit;
        decode_span(&s, section->start, end, &func);
        done = end;
    }
}
