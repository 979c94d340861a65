/*
 * Decodes all code in one pass and records its references. Bytes between functions are decoded,
 * too, since code there may branch into functions. Data that is misread as code only adds targets.
 *
 * The code is divided into portions, which all processors decode at the same time. A portion
 * begins where a section or function does: there, nothing is known of the code before. It has lists
 * of its own, which are joined in the order of addresses. What several portions write, bits and
 * flags, is only ever set. So the result does not depend on the number of threads.
 */
#include "base/workers.h"
#include "plan/code/inline_tables.h"
#include "plan/code/reading.h"

struct sweep {
    struct reading *r;
    struct code *code;
    const struct text *text;
    const struct arch *arch; /* of the code at hand */
    uint32_t func;           /* NO_FUNC between functions */
    vaddr_t called; /* target of the direct call before, while flags are as the callee left them */
    struct insn_constants *constants; /* NULL in position-independent modules */
    struct insn_constants storage;
    struct trail trail;
    vaddr_t slot;      /* address of the word in memory that was accessed last; 0: unknown */
    vaddr_t exclusive; /* the exclusive load without its store so far; 0: none */
};

static void begin_run(struct sweep *s, uint32_t func) {
    s->func = func;
    s->called = 0;
    s->slot = 0;
    s->exclusive = 0;
    s->trail = (struct trail){.known = 0};
}

/* Code outside of all functions branches to ADDR. */
static void note_unknown_branch(const struct code *c, vaddr_t addr) {
    uint32_t i = code_func_at(c, addr);
    if (i != NO_FUNC && !c->funcs[i].range && !func_is_start(&c->funcs[i], addr))
        flag_set(&c->by_func[i].entered_inside);
}

/* A function with call-frame information branches to ADDR. */
static void note_branch_to(const struct code *c, vaddr_t addr) {
    const struct functions *all = c->functions;
    bool may_be = addr >= all->no_cfi_low && addr < all->no_cfi_high;
    uint32_t i = may_be ? code_func_at(c, addr) : NO_FUNC;
    if (i != NO_FUNC && !c->funcs[i].range)
        flag_set(&c->by_func[i].branched_to);
}

/* Records a branch to a return separately from other branches (window/returns.c). */
static bool note_to_return(struct sweep *s, const struct insn *in) {
    struct code *c = s->code;
    if (in->kind == INSN_FIXED || in->kind == INSN_LOOP || s->func == NO_FUNC ||
        !text_holds(s->text, in->target) || in->turns)
        return false;
    size_t room = s->text->size - (in->target - s->text->start);
    if (!s->arch->is_return(text_bytes(s->text, in->target), room))
        return false;
    const struct func *f = &c->funcs[s->func];
    bool inside = in->target >= f->start && in->target < f->end;
    uint32_t g = inside ? s->func : code_func_at(c, in->target);
    if (!func_is_described(c, f) || g == NO_FUNC || !func_is_described(c, &c->funcs[g]))
        return false;
    ARRAY_PUSH(&c->to_returns, ((struct return_branch){.to = in->target, .from = in->addr}));
    return true;
}

/* A conditional return, or a conditional jump through a register or memory. */
static void note_exit(struct sweep *s, const struct insn *in) {
    const struct transfer t = {
        .from = in->addr, .func = s->func, .kind = in->kind, .tails = in->tails};
    if (s->func != NO_FUNC)
        ARRAY_PUSH(&s->code->transfers, t);
}

static void note_branch(struct sweep *s, const struct insn *in) {
    struct code *c = s->code;
    if (insn_may_return(in)) {
        note_exit(s, in);
        return;
    }
    if (!note_to_return(s, in))
        code_note(c, c->targets, in->target);
    if (s->func == NO_FUNC)
        note_unknown_branch(c, in->target);
    else if (c->funcs[s->func].range)
        note_branch_to(c, in->target);
    if (s->func == NO_FUNC || in->kind == INSN_FIXED)
        return;
    const struct func *f = &c->funcs[s->func];
    bool inside = in->target > f->start && in->target < f->end && in->target != f->body;
    if (!inside)
        ARRAY_PUSH(&c->transfers,
                   ((struct transfer){
                       .from = in->addr, .to = in->target, .func = s->func, .kind = in->kind}));
}

static void note_callee(struct sweep *s, const struct insn *in) {
    code_note(s->code, s->code->targets, in->target);
    code_note_called(s->code, in->target, false);
    if (s->func != NO_FUNC && s->code->funcs[s->func].range)
        note_branch_to(s->code, in->target);
}

/* A call through a register is taken to call the word of memory that was accessed last. If that is
 * wrong, the control site behind the call does no harm. */
static void note_second_return(const struct sweep *s, const struct insn *call) {
    vaddr_t target = call->target || call->kind == INSN_CALL ? call->target : s->slot;
    if (!s->r->returns_twice.count || s->func == NO_FUNC || !target)
        return;
    vaddr_t after = call->addr + call->size;
    if (list_holds(&s->r->returns_twice, target))
        ARRAY_PUSH(&s->code->second_returns, ((struct control_site){after, s->func}));
}

static void note_call(struct sweep *s, const struct insn *in) {
    if (in->kind == INSN_CALL)
        note_callee(s, in);
    code_note(s->code, s->code->return_points, in->addr + in->size);
    note_second_return(s, in);
    s->slot = 0;
    s->called = in->kind == INSN_CALL ? in->target : 0;
}

/* On machines without states these loads show constants in code (literals.c). */
static bool is_literal_load(const struct code *c, const struct insn *in) {
    return in->loads && !c->arch->other;
}

static void note_pc_address(struct sweep *s, const struct insn *in) {
    struct code *c = s->code;
    vaddr_t target = code_address(c->texts, in->target);
    if (in->operand == OPERAND_PC_MEMORY) {
        s->slot = target;
        if (!is_literal_load(c, in))
            code_note(c, c->targets, target);
        return;
    }
    code_note(c, c->targets, target);
    code_note_called(c, target, true);
    if (s->func == NO_FUNC)
        return;
    const struct func *f = &c->funcs[s->func];
    struct address_load load = {target, s->func};
    if (target >= f->start && target < f->end)
        ARRAY_PUSH(&c->bases, load);
    else
        ARRAY_PUSH(&c->loads, load);
}

static void note_constants(struct sweep *s) {
    const struct insn_constants *k = s->constants;
    struct code *c = s->code;
    for (int i = 0; i < k->immediate_count; i++) {
        code_note(c, c->targets, k->immediate[i]);
        code_note_called(c, k->immediate[i], true);
    }
    if (k->has_displacement)
        code_note(c, c->targets, k->displacement);
}

/* If a caller reads flags right after a call, the callee returns them. */
static void note_flags(struct sweep *s, const struct insn *in) {
    if (!s->called)
        return;
    if (in->reads_flags)
        ARRAY_PUSH(&s->code->flag_callees, s->called);
    if (in->reads_flags || in->writes_flags)
        s->called = 0;
}

/* No stub may stand between an exclusive load and its store: other accesses there may make the
 * store fail every time. Pairs are short (Arm ARM, "Synchronization and semaphores": 128 bytes). */
static void note_exclusive(struct sweep *s, const struct insn *in) {
    enum { LONGEST = 128 };
    if (in->exclusive == EXCLUSIVE_WITH_NEXT)
        code_keep(s->code, in->addr, in->size + 1u);
    if (in->exclusive == EXCLUSIVE_BEGINS)
        s->exclusive = in->addr;
    if (in->exclusive != EXCLUSIVE_ENDS || !s->exclusive)
        return;
    if (in->addr - s->exclusive < LONGEST)
        code_keep(s->code, s->exclusive, in->addr - s->exclusive + 1);
    s->exclusive = 0;
}

/* IN loads a constant from a fixed place. */
static void note_literal(const struct sweep *s, const struct insn *in) {
    if (code_func_at(s->code, in->target) != NO_FUNC)
        ARRAY_PUSH(&s->r->literals, ((struct literal){in->target, in->loads}));
}

/* Records an address that several instructions compute, of which IN is the last. */
static void note_trail(struct sweep *s, const struct insn *in) {
    struct insn whole;
    s->trail.literal = text_literal(s->code->texts, in);
    if (!s->arch->follow(&s->trail, in, text_bytes(s->text, in->addr), &whole))
        return;
    if (whole.operand != OPERAND_ABSOLUTE || !s->r->module->position_independent)
        note_pc_address(s, &whole);
}

static void note_insn(struct sweep *s, const struct insn *in) {
    note_flags(s, in);
    if (in->exclusive)
        note_exclusive(s, in);
    if (is_literal_load(s->code, in))
        note_literal(s, in);
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
            ARRAY_PUSH(&s->code->transfers,
                       ((struct transfer){.from = in->addr, .func = s->func, .kind = in->kind}));
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

/* True for a conditional return for whose condition no branch exists: a stub cannot tell the two
 * ways apart. */
static bool is_unbranchable(const struct sweep *s, const struct insn *in) {
    uint8_t scratch[RELOCATED_MAX_BYTES];
    return insn_may_return(in) &&
           !s->arch->skip_unless(in, text_bytes(s->text, in->addr), STUB_MAX_BYTES, scratch);
}

/* A call that is a switch becomes an indirect jump. Neither it nor its table may move. */
static bool make_switch(struct sweep *s, struct insn *in) {
    struct dispatch form;
    if (in->kind != INSN_CALL || !call_is_switch(s->code->states, s->arch, in, &form))
        return false;
    note_callee(s, in);
    in->kind = INSN_JUMP_INDIRECT;
    return true;
}

/* [START, END) is in one state. */
static void decode_code(struct sweep *s, vaddr_t start, vaddr_t end) {
    const struct func *f = s->func == NO_FUNC ? NULL : &s->code->funcs[s->func];
    struct func_code *known = f ? &s->code->by_func[s->func] : NULL;
    s->arch = code_arch(s->code, s->text, start);
    bool (*decode)(const uint8_t *, size_t, vaddr_t, struct insn *, struct insn_constants *) =
        s->arch->decode;
    for (vaddr_t at = start; at < end;) {
        struct insn in;
        size_t room = end - at < UNIT_MAX_BYTES ? end - at : UNIT_MAX_BYTES;
        bool good = decode(text_bytes(s->text, at), room, at, &in, s->constants);
        if (in.copies && !module_constant(s->r->module, in.target, in.copies))
            in.kind = INSN_FIXED;
        bool stays = is_unbranchable(s, &in) || make_switch(s, &in);
        if (in.target)
            bitmap_set_shared(s->code->refers, text_place(s->text, at));
        struct insn seen = in;
        seen.kind = in.stays || stays ? INSN_FIXED : in.kind;
        insn_write(s->code, s->text, at, &seen);
        if (f && !good && s->code->arch->other)
            known->undecodable = true;
        else if (f && !good)
            ARRAY_PUSH(&s->r->undecodable, ((struct address_load){at, s->func}));
        if (f && in.kind != INSN_NOP && in.kind != INSN_BREAK)
            known->last = at;
        if (f && at < f->body && in.kind == INSN_JUMP &&
            in.target > at) { /* a jump over data belongs to the landing */
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
        next = state_end(s->code->states, s->text, at, end);
        if (state_is_data(s->code->states, s->text, at))
            begin_run(s, s->func);
        else
            decode_code(s, at, next);
    }
}

/* True if control may not continue behind an instruction of KIND. A call may not return. */
static bool ends_run(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_CALL || kind == INSN_CALL_INDIRECT || kind == INSN_TRAP;
}

static bool is_filler(const struct arch *arch, const uint8_t *bytes, size_t room) {
    return arch->is_filler && arch->is_filler(bytes, room);
}

/* Bytes outside of functions may be code or data. A run of instructions that continues into bytes
 * which no program executes is data: text and tables often look like branches. The linker's filler
 * is padding where no run reaches it. */
static void decode_gap_code(struct sweep *s, vaddr_t start, vaddr_t end) {
    const struct arch *arch = code_arch(s->code, s->text, start);
    vaddr_t run = start;
    begin_run(s, NO_FUNC);
    for (vaddr_t at = start; at < end;) {
        struct insn in;
        const uint8_t *bytes = text_bytes(s->text, at);
        size_t room = end - at < UNIT_MAX_BYTES ? end - at : UNIT_MAX_BYTES;
        if (at == run && is_filler(arch, bytes, room)) {
            in = (struct insn){.size = arch->insn_bytes, .kind = INSN_BREAK};
            insn_write(s->code, s->text, at, &in);
            run = at += arch->insn_bytes;
            continue;
        }
        bool good = arch->decode(bytes, room, at, &in, NULL) && !arch->is_barred(bytes, in.size);
        insn_write(s->code, s->text, at, &in);
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
        next = state_end(s->code->states, s->text, at, end);
        if (!state_is_data(s->code->states, s->text, at))
            decode_gap_code(s, at, next);
    }
}

struct portion { /* code that is decoded in one go, with the lists of what is found there */
    const struct text *text;
    vaddr_t start, end;
    uint32_t func, func_end; /* the functions in it */
    struct reading reading;
    struct code code;
};
typedef ARRAY(struct portion) portion_list;

/* True if a portion may begin at F: no byte of a bitmap has places on both sides. */
static bool may_begin(const struct func *f) { return text_place(f->text, f->start) % 8 == 0; }

/* Adds portions for [WHOLE.start, WHOLE.end), whose functions begin with number WHOLE.func.
 * Returns the number behind the last one. */
static uint32_t add_portions(const struct code *c, const struct portion *whole, portion_list *ret) {
    enum { PORTION_BYTES = 256 * 1024 };
    struct portion s = *whole;
    while (s.func < c->func_count && c->funcs[s.func].start < s.start)
        s.func++;
    for (s.func_end = s.func; s.func_end < c->func_count; s.func_end++) {
        const struct func *f = &c->funcs[s.func_end];
        if (f->end > whole->end)
            break;
        if (f->start - s.start < PORTION_BYTES || !may_begin(f))
            continue;
        s.end = f->start;
        ARRAY_PUSH(ret, s);
        s.start = f->start;
        s.func = s.func_end;
    }
    s.end = whole->end;
    ARRAY_PUSH(ret, s);
    return s.func_end;
}

static portion_list divide(const struct code *c) {
    const struct module *m = c->module;
    portion_list ret = {0};
    struct portion whole = {0};
    for (size_t i = 0; i < m->section_count; i++) {
        const struct section *section = &m->sections[i];
        whole.text =
            section->executable && section->bytes ? text_at(c->texts, section->start) : NULL;
        if (!whole.text || section->start < whole.end)
            continue;
        vaddr_t limit = text_end(whole.text);
        whole.start = section->start;
        whole.end = section->size < limit - section->start ? section->start + section->size : limit;
        whole.func = add_portions(c, &whole, &ret);
    }
    return ret;
}

struct division { /* of READING's code */
    const struct reading *reading;
    portion_list portions;
};

/* Decodes one portion: its functions, and what is between them. */
static void decode_portion(void *arg, size_t index) {
    const struct division *all = arg;
    struct portion *part = &all->portions.at[index];
    struct code *c = &part->code;
    part->reading = *all->reading;
    part->reading.code = c;
    *c = *all->reading->code;
    struct sweep s = {.r = &part->reading, .code = c, .text = part->text};
    s.constants = c->module->position_independent ? NULL : &s.storage;
    vaddr_t at = part->start;
    for (uint32_t i = part->func; i < part->func_end; i++) {
        decode_gap(&s, at, c->funcs[i].start);
        begin_run(&s, i);
        decode_range(&s, c->funcs[i].start, c->funcs[i].end);
        at = c->funcs[i].end;
    }
    decode_gap(&s, at, part->end);
}

/* Moves the lists of PART to the end of R's. */
static void join(struct reading *r, struct portion *part) {
    struct code *c = r->code, *from = &part->code;
    ARRAY_MOVE(&c->transfers, &from->transfers);
    ARRAY_MOVE(&c->to_returns, &from->to_returns);
    ARRAY_MOVE(&c->loads, &from->loads);
    ARRAY_MOVE(&c->bases, &from->bases);
    ARRAY_MOVE(&c->flag_callees, &from->flag_callees);
    ARRAY_MOVE(&c->second_returns, &from->second_returns);
    ARRAY_MOVE(&r->literals, &part->reading.literals);
    ARRAY_MOVE(&r->undecodable, &part->reading.undecodable);
}

void decode_all(struct reading *r) {
    struct division all = {r, divide(r->code)};
    workers_run(all.portions.count, decode_portion, &all);
    for (size_t i = 0; i < all.portions.count; i++)
        join(r, &all.portions.at[i]);
    ARRAY_FREE(&all.portions);
}
