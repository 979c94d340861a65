/*
 * Finds functions that read the table behind their call. Imported ones are known by name, others
 * by their code, also behind the linker's veneers. If the table's form is unknown, so is where
 * control goes on.
 */
#include "plan/code/inline_tables.h"

#include "elf/sort.h"
#include "plan/code/plt_stubs.h"

struct callee {
    vaddr_t addr;
    const struct arch *arch; /* of its code */
};

static void note_stub(void *ctx, vaddr_t stub, const char *name) {
    struct states *states = ctx;
    struct dispatch how = states->texts->arch->other->inline_table_named(name);
    if (how.kind != DISPATCH_ANY)
        ARRAY_PUSH(&states->table_readers, ((struct table_reader){stub, how}));
}

void inline_tables_find(struct states *states) {
    if (!states->texts->arch->other->inline_table_named)
        return;
    plt_stubs_of_imports(states, note_stub, states);
    sort_by_address(states->table_readers.at, states->table_readers.count,
                    sizeof *states->table_readers.at);
}

/* NULL: ADDR is no stub of an imported reader. */
static const struct table_reader *reader_at(const struct states *s, vaddr_t addr) {
    for (size_t i = 0; i < s->table_readers.count; i++)
        if (s->table_readers.at[i].addr == addr)
            return &s->table_readers.at[i];
    return NULL;
}

/* One instruction of a veneer at C: C becomes the next address or the target. False: no veneer. */
static bool veneer_step(const struct states *s, struct callee *c, struct trail *trail) {
    const struct text *t = text_at(s->texts, c->addr);
    struct insn in, whole;
    if (!t ||
        !c->arch->decode(text_bytes(t, c->addr), t->start + t->size - c->addr, c->addr, &in, NULL))
        return false;
    trail->literal = text_literal(s->texts, &in);
    if (!c->arch->follow(trail, &in, text_bytes(t, c->addr), &whole))
        whole = in;
    if (in.kind == INSN_JUMP) {
        *c = (struct callee){in.target, in.turns ? c->arch->other : c->arch};
        return true;
    }
    const bool known = whole.operand == OPERAND_PC_ADDRESS || whole.operand == OPERAND_ABSOLUTE;
    if (in.kind == INSN_JUMP_INDIRECT && known) {
        *c = (struct callee){code_address(s->texts, whole.target),
                             whole.target & 1 ? s->texts->arch->other : s->texts->arch};
        return true;
    }
    c->addr += in.size;
    return in.kind == INSN_OTHER || in.kind == INSN_NOP;
}

static struct dispatch read_at(const struct states *s, const struct callee *c) {
    const struct text *t = text_at(s->texts, c->addr);
    if (!t || !c->arch->inline_table_read)
        return (struct dispatch){.kind = DISPATCH_ANY};
    return c->arch->inline_table_read(text_bytes(t, c->addr), t->start + t->size - c->addr);
}

/* True if C begins a veneer for callers in Thumb-1: a jump that changes the state. */
static bool begins_veneer(const struct states *s, const struct callee *c) {
    const struct text *t = text_at(s->texts, c->addr);
    struct insn in;
    return t &&
           c->arch->decode(text_bytes(t, c->addr), t->start + t->size - c->addr, c->addr, &in,
                           NULL) &&
           in.kind == INSN_JUMP && in.turns;
}

static struct dispatch read_behind(const struct states *s, struct callee c) {
    enum { LONGEST = 6 };
    const struct dispatch none = {.kind = DISPATCH_ANY};
    const struct arch *from = c.arch;
    struct trail trail = {.known = 0};
    for (int i = 0; i < LONGEST; i++) {
        if (!veneer_step(s, &c, &trail))
            return none;
        if (c.arch == from)
            return read_at(s, &c);
    }
    return none;
}

bool call_is_switch(const struct states *s, const struct arch *arch, const struct insn *call,
                    struct dispatch *ret) {
    if (!s->texts->arch->other || call->kind != INSN_CALL || call->goes_on)
        return false;
    const struct table_reader *reader = reader_at(s, call->target);
    const struct callee c = {call->target, call->turns ? arch->other : arch};
    *ret = reader ? reader->how : read_at(s, &c);
    if (ret->kind == DISPATCH_ANY && begins_veneer(s, &c))
        *ret = read_behind(s, c);
    return ret->kind != DISPATCH_ANY;
}

struct dispatch dispatch_of(const struct states *s, const struct arch *arch,
                            const struct insn *jump, const struct code_line *line) {
    struct dispatch form, d = arch->dispatch(line->jump, line->past, line->count);
    if (!call_is_switch(s, arch, jump, &form))
        return d;
    form.count = d.count;
    if (form.entry_bytes) {
        const vaddr_t behind = jump->addr + jump->size, over = behind % form.entry_bytes;
        form.table = form.base = behind + (over ? form.entry_bytes - over : 0);
    }
    return form;
}
