/*
 * Calls that are switches: of functions that do not come back right behind them, as a table stands
 * there (arch.inline_table_read). They are known by their names where they are imported, else by
 * their code, through veneers of the linker, too. Where the table's form is not known neither is
 * where control goes on.
 */
#include "elf/sort.h"
#include "plan/analysis.h"

struct callee {
    vaddr_t addr;
    const struct arch *arch; /* of its code */
};

static void note_stub(void *ctx, vaddr_t stub, const char *name) {
    struct analysis *a = ctx;
    struct dispatch how = a->arch->other->inline_table_named(name);
    if (how.kind != DISPATCH_ANY)
        ARRAY_PUSH(&a->table_readers, ((struct table_reader){stub, how}));
}

void inline_tables_find(struct analysis *a) {
    if (!a->arch->other->inline_table_named)
        return;
    stubs_of_imports(a, note_stub, a);
    sort_by_address(a->table_readers.at, a->table_readers.count, sizeof *a->table_readers.at);
}

/* NULL: it is no stub of one that is imported. */
static const struct table_reader *reader_at(const struct analysis *a, vaddr_t addr) {
    for (size_t i = 0; i < a->table_readers.count; i++)
        if (a->table_readers.at[i].addr == addr)
            return &a->table_readers.at[i];
    return NULL;
}

/* One instruction of a veneer at C, which becomes where it leads to. False: it is none. */
static bool veneer_step(const struct analysis *a, struct callee *c, struct trail *trail) {
    const struct text *t = text_at(a, c->addr);
    struct insn in, whole;
    if (!t ||
        !c->arch->decode(text_bytes(t, c->addr), t->start + t->size - c->addr, c->addr, &in, NULL))
        return false;
    trail->literal = text_literal(a, &in);
    if (!c->arch->follow(trail, &in, text_bytes(t, c->addr), &whole))
        whole = in;
    if (in.kind == INSN_JUMP) {
        *c = (struct callee){in.target, in.turns ? c->arch->other : c->arch};
        return true;
    }
    const bool known = whole.operand == OPERAND_PC_ADDRESS || whole.operand == OPERAND_ABSOLUTE;
    if (in.kind == INSN_JUMP_INDIRECT && known) {
        *c = (struct callee){code_address(a, whole.target),
                             whole.target & 1 ? a->arch->other : a->arch};
        return true;
    }
    c->addr += in.size;
    return in.kind == INSN_OTHER || in.kind == INSN_NOP;
}

static struct dispatch read_at(const struct analysis *a, const struct callee *c) {
    const struct text *t = text_at(a, c->addr);
    if (!t || !c->arch->inline_table_read)
        return (struct dispatch){.kind = DISPATCH_ANY};
    return c->arch->inline_table_read(text_bytes(t, c->addr), t->start + t->size - c->addr);
}

/* Does a veneer for callers of Thumb-1 begin there? By a jump that turns. */
static bool begins_veneer(const struct analysis *a, const struct callee *c) {
    const struct text *t = text_at(a, c->addr);
    struct insn in;
    return t &&
           c->arch->decode(text_bytes(t, c->addr), t->start + t->size - c->addr, c->addr, &in,
                           NULL) &&
           in.kind == INSN_JUMP && in.turns;
}

static struct dispatch read_behind(const struct analysis *a, struct callee c) {
    enum { LONGEST = 6 };
    const struct dispatch none = {.kind = DISPATCH_ANY};
    const struct arch *from = c.arch;
    struct trail trail = {.known = 0};
    for (int i = 0; i < LONGEST; i++) {
        if (!veneer_step(a, &c, &trail))
            return none;
        if (c.arch == from)
            return read_at(a, &c);
    }
    return none;
}

bool call_is_switch(const struct analysis *a, const struct arch *arch, const struct insn *call,
                    struct dispatch *ret) {
    if (!a->arch->other || call->kind != INSN_CALL || call->goes_on)
        return false;
    const struct table_reader *reader = reader_at(a, call->target);
    const struct callee c = {call->target, call->turns ? arch->other : arch};
    *ret = reader ? reader->how : read_at(a, &c);
    if (ret->kind == DISPATCH_ANY && begins_veneer(a, &c))
        *ret = read_behind(a, c);
    return ret->kind != DISPATCH_ANY;
}

struct dispatch dispatch_of(const struct analysis *a, const struct arch *arch,
                            const struct insn *jump, const struct code_line *line) {
    struct dispatch form, d = arch->dispatch(line->jump, line->past, line->count);
    if (!call_is_switch(a, arch, jump, &form))
        return d;
    form.count = d.count;
    if (form.entry_bytes) {
        const vaddr_t behind = jump->addr + jump->size, over = behind % form.entry_bytes;
        form.table = form.base = behind + (over ? form.entry_bytes - over : 0);
    }
    return form;
}
