/*
 * Proves that a function returns something, by what it does itself. Compilers that optimise make no
 * value that nobody needs. So one that is made in the register of the result, and that no
 * instruction reads before the function returns, is the result.
 *
 *     mov  %ebx,%eax        makes it
 *     add  $0x18,%rsp
 *     pop  %rbx
 *     ret
 *
 * What is read from memory, and what an instruction does besides something else, does not count:
 * these may have another reason. Nor does a zero right before a return: that may be cleaning up
 * (-fzero-call-used-regs).
 */
#include "plan/proof/callers.h"

struct making {
    const struct result_uses *u;
    const struct plan_function *f;
    uint64_t reg;
    bool returns;
};

enum step { STEP_ON, STEP_END, STEP_NEEDED };

static enum step data_step(const struct making *m, const struct insn *in, const uint8_t *bytes) {
    struct data_use use;
    if (!m->u->arch->data(bytes, in->size, &use) || use.may_read & m->reg)
        return STEP_NEEDED;
    return use.written & m->reg ? STEP_END : STEP_ON;
}

/* STEP_NEEDED: something else may need the value. */
static enum step step(struct making *m, struct ways *w, const struct insn *in,
                      const uint8_t *bytes) {
    switch (in->kind) {
    case INSN_NOP:
    case INSN_LANDING:
        return STEP_ON;
    case INSN_BRANCH:
        ways_add(w, in->target);
        return in->target - m->f->addr < m->f->size ? STEP_ON : STEP_NEEDED;
    case INSN_JUMP:
        ways_add(w, in->target);
        return in->target - m->f->addr < m->f->size ? STEP_END : STEP_NEEDED;
    case INSN_RETURN:
        m->returns = true;
        return STEP_END;
    case INSN_TRAP:
        return STEP_END;
    case INSN_OTHER:
        return data_step(m, in, bytes);
    default:
        return STEP_NEEDED;
    }
}

/* Whether the value that is in the register at PC only waits for the return. */
static bool is_for_caller(struct making *m, vaddr_t pc) {
    struct ways w = {.u = m->u, .function = m->f};
    const uint8_t *bytes;
    struct insn in;
    m->returns = false;
    for (ways_add(&w, pc); w.next < w.count; w.next++) {
        enum step now = STEP_ON;
        for (pc = w.at[w.next]; now == STEP_ON;)
            now = ways_step(&w, &pc, &in, &bytes) ? step(m, &w, &in, bytes) : STEP_NEEDED;
        if (now == STEP_NEEDED)
            return false;
    }
    return m->returns && !w.incomplete;
}

static bool is_return(const struct making *m, vaddr_t pc) {
    const uint8_t *bytes;
    struct insn in;
    return !callers_step(m->u, &pc, &in, &bytes) || in.kind == INSN_RETURN;
}

bool result_is_made(struct result_uses *u, uint32_t function, unsigned reg) {
    enum { MOST_BYTES = 1 << 16 };
    struct making m = {
        .u = u, .f = plan_function(u->plan, function), .reg = UINT64_C(1) << reg % DATA_REGISTERS};
    const uint8_t *bytes;
    struct data_use use;
    struct insn in;
    if (!u->arch || !u->arch->data || reg >= DATA_REGISTERS || m.f->size > MOST_BYTES)
        return false;
    for (vaddr_t pc = m.f->addr; pc - m.f->addr < m.f->size;) {
        if (!callers_step(u, &pc, &in, &bytes))
            return false;
        if (in.kind != INSN_OTHER || !u->arch->data(bytes, in.size, &use))
            continue;
        bool counts = use.made & m.reg || (use.cleared & m.reg && !is_return(&m, pc));
        if (counts && is_for_caller(&m, pc))
            return true;
    }
    return false;
}
