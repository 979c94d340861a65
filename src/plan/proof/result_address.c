/*
 * Proves that a function returns what it found in its first argument: the address of a result that
 * the caller wants in memory.
 *
 *     mov  %rdi,%rbx            or   mov  %rdi,0x8(%rsp)
 *     …                              …
 *     mov  %rbx,%rax                 mov  0x8(%rsp),%rax
 *     pop  %rbx                      add  $0x18,%rsp
 *     ret                            ret
 *
 * The register, or the slot, is written only once. No branch leads between the last two lines.
 */
#include "plan/origins.h"
#include "plan/proof/callers.h"

enum { RESULT = 0, ARGUMENT = 5, WORD = 8 }; /* rax, rdi */

struct returning {
    const struct result_uses *u;
    const struct plan_function *f;
    const struct unwind_range *range;
    const struct entry_code *entry;
    ARRAY(vaddr_t) targets;        /* of branches */
    unsigned written[DATA_VECTOR]; /* how often each register is, but by pops */
};

/* ---- the whole function ---- */

static bool is_pop(const struct returning *r, const uint8_t *bytes, size_t size) {
    struct stack_effect effects[STACK_MAX_EFFECTS];
    const size_t count = r->u->arch->stack(bytes, size, effects);
    return count == 1 && effects[0].op == STACK_POP;
}

static void count_writes(struct returning *r, const struct insn *in, const uint8_t *bytes) {
    struct data_use use;
    if (in->kind != INSN_OTHER || !r->u->arch->data(bytes, in->size, &use) ||
        is_pop(r, bytes, in->size))
        return;
    for (unsigned reg = 0; reg < DATA_VECTOR; reg++)
        r->written[reg] += use.written >> reg & 1;
}

/* False: some of its branches are not known. */
static bool survey(struct returning *r) {
    const uint8_t *bytes;
    struct insn in;
    for (vaddr_t pc = r->f->addr; pc - r->f->addr < r->f->size;) {
        if (!callers_step(r->u, &pc, &in, &bytes) || in.kind == INSN_JUMP_INDIRECT ||
            in.kind == INSN_FIXED)
            return false;
        count_writes(r, &in, bytes);
        if (in.kind == INSN_BRANCH || in.kind == INSN_JUMP || in.kind == INSN_LOOP)
            ARRAY_PUSH(&r->targets, in.target);
    }
    return true;
}

/* ---- memory ---- */

/* The distance from the CFA of the place that the instruction at PC accesses. */
static bool place_at(const struct returning *r, vaddr_t pc, const struct data_use *use,
                     int32_t *ret) {
    const struct cfa_row *row = module_row_at(r->u->module, r->range, pc);
    if (!row || row->reg != use->base)
        return false;
    *ret = use->displacement - row->offset;
    return true;
}

/* How many instructions store at CFA + AT. */
static unsigned count_stores(const struct returning *r, int32_t at) {
    const uint8_t *bytes;
    struct data_use use;
    struct insn in;
    unsigned count = 0;
    int32_t place;
    for (vaddr_t pc = r->f->addr; pc - r->f->addr < r->f->size;) {
        if (!callers_step(r->u, &pc, &in, &bytes))
            return 0;
        if (in.kind == INSN_OTHER && r->u->arch->data(bytes, in.size, &use) &&
            use.op == DATA_STORE && place_at(r, in.addr, &use, &place))
            count += place < at + WORD && at < place + use.bytes;
    }
    return count;
}

static bool is_argument(struct origin o, int32_t byte) {
    return o.kind == ORIGIN_REGISTER && o.reg == ARGUMENT && o.at == byte && !o.bit;
}

static bool slot_has_argument(const struct returning *r, int32_t at) {
    for (int32_t i = 0; i < WORD; i++)
        if (!is_argument(entry_code_first(r->entry, at + i), i))
            return false;
    return count_stores(r, at) == 1;
}

static bool register_has_argument(const struct returning *r, unsigned reg) {
    for (unsigned i = 0; i < WORD; i++)
        if (!is_argument(entry_code_register(r->entry, reg, i), (int32_t)i))
            return false;
    return r->written[reg] == (reg != ARGUMENT);
}

/* ---- one return ---- */

struct last_write { /* of the result's register, on the way to a return */
    bool known;
    vaddr_t at, behind;
    struct data_use use;
    uint64_t popped; /* registers that were restored before */
};

/* Whether the LAST write of the result's register copies the argument to it. */
static bool gives_argument(const struct returning *r, const struct last_write *last) {
    int32_t at;
    if (last->use.op == DATA_COPY && last->use.bytes == WORD)
        return !(last->popped >> last->use.from & 1) && last->use.from < DATA_VECTOR &&
               last->use.from != ARGUMENT && register_has_argument(r, last->use.from);
    return last->use.op == DATA_LOAD && last->use.bytes == WORD &&
           place_at(r, last->at, &last->use, &at) && slot_has_argument(r, at);
}

static bool is_reached_only_by(const struct returning *r, const struct last_write *last,
                               vaddr_t end) {
    for (size_t i = 0; i < r->targets.count; i++)
        if (r->targets.at[i] >= last->behind && r->targets.at[i] <= end)
            return false;
    return true;
}

static bool returns_argument(const struct returning *r, const struct last_write *last,
                             vaddr_t end) {
    if (register_has_argument(r, RESULT))
        return true;
    return last->known && gives_argument(r, last) && is_reached_only_by(r, last, end);
}

static void see(const struct returning *r, const struct insn *in, const uint8_t *bytes,
                struct last_write *last) {
    struct data_use use;
    if (in->kind == INSN_NOP || in->kind == INSN_LANDING || in->kind == INSN_BRANCH)
        return;
    if (in->kind != INSN_OTHER || !r->u->arch->data(bytes, in->size, &use)) {
        *last = (struct last_write){0};
    } else if (use.written >> RESULT & 1) {
        last->known = true;
        last->at = in->addr;
        last->behind = in->addr + in->size;
        last->use = use;
    } else if (is_pop(r, bytes, in->size) && !last->known) {
        last->popped |= use.written;
    }
}

static bool all_return_argument(const struct returning *r) {
    struct last_write last = {0};
    const uint8_t *bytes;
    struct insn in;
    unsigned returns = 0;
    for (vaddr_t pc = r->f->addr; pc - r->f->addr < r->f->size;) {
        if (!callers_step(r->u, &pc, &in, &bytes))
            return false;
        if (in.kind == INSN_RETURN && !returns_argument(r, &last, in.addr))
            return false;
        returns += in.kind == INSN_RETURN;
        see(r, &in, bytes, &last);
    }
    return returns;
}

bool result_is_first_argument(struct result_uses *u, uint32_t function) {
    struct returning r = {.u = u, .f = plan_function(u->plan, function)};
    if (!u->arch || !u->arch->data)
        return false;
    module_complete(u->module);
    r.range = module_range_at(u->module, r.f->addr);
    struct entry_code *entry = r.range ? entry_code_read(u->module, r.f->addr, 0) : NULL;
    r.entry = entry;
    const bool proven = entry && survey(&r) && all_return_argument(&r);
    entry_code_free(entry);
    ARRAY_FREE(&r.targets);
    return proven;
}
