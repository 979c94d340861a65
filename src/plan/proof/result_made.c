/*
 * Proves that a function returns something, by what it does itself. Compilers that optimise make no
 * value that nobody needs. So one that is made in the register of the result right before the
 * function puts the stack pointer back and returns is the result.
 *
 *     mov  %ebx,%eax        makes it
 *     add  $0x18,%rsp
 *     pop  %rbx
 *     ret
 *
 * There are other reasons to make a value:
 *  - an `asm` without instructions may take it (black_box() of Rust): a constant, a comparison, an
 *    address. Such a register needs two places that make it, where ways to the return begin. A copy
 *    of another register counts by itself: for an `asm` that register would do;
 *  - it is read from memory for the sake of reading (volatile): that does not count;
 *  - a zero right before a return may clean up (-fzero-call-used-regs): nor does that.
 */
#include "plan/proof/callers.h"

enum { ENOUGH = 2, MOST_STEPS = 32 };

struct making {
    const struct result_uses *u;
    const struct plan_function *f;
    uint64_t reg;
};

static uint64_t stack_pointer(const struct making *m) {
    return UINT64_C(1) << m->u->arch->sp_register;
}

/* Whether the instruction only gives room back on the stack, and leaves the register alone. */
static bool is_epilogue(const struct making *m, const struct insn *in, const uint8_t *bytes) {
    struct data_use use;
    if (in->kind == INSN_NOP)
        return true;
    return in->kind == INSN_OTHER && m->u->arch->data(bytes, in->size, &use) &&
           use.written & stack_pointer(m) && !((use.written | use.may_read) & m->reg);
}

/* Whether nothing but the end of the function follows at PC. */
static bool ends_at(const struct making *m, vaddr_t pc) {
    const uint8_t *bytes;
    struct insn in;
    for (unsigned i = 0; i < MOST_STEPS && pc - m->f->addr < m->f->size; i++) {
        if (!callers_step(m->u, &pc, &in, &bytes))
            return false;
        if (in.kind == INSN_RETURN)
            return true;
        if (in.kind == INSN_JUMP)
            pc = in.target;
        else if (!is_epilogue(m, &in, bytes))
            return false;
    }
    return false;
}

static bool is_return(const struct making *m, vaddr_t pc) {
    const uint8_t *bytes;
    struct insn in;
    return !callers_step(m->u, &pc, &in, &bytes) || in.kind == INSN_RETURN;
}

/* How much the instruction before PC tells: ENOUGH, 1, or nothing. */
static unsigned weight(const struct making *m, const struct data_use *use, vaddr_t pc) {
    const bool made = use->made & m->reg || (use->cleared & m->reg && !is_return(m, pc));
    if (!made || !ends_at(m, pc))
        return 0;
    return use->op == DATA_COPY && use->from != m->u->arch->sp_register ? ENOUGH : 1;
}

bool result_is_made(struct result_uses *u, uint32_t function, unsigned reg) {
    enum { MOST_BYTES = 1 << 16 };
    const struct making m = {
        .u = u, .f = plan_function(u->plan, function), .reg = UINT64_C(1) << reg % DATA_REGISTERS};
    const uint8_t *bytes;
    unsigned found = 0;
    struct data_use use;
    struct insn in;
    if (!u->arch || !u->arch->data || reg >= DATA_REGISTERS || m.f->size > MOST_BYTES)
        return false;
    for (vaddr_t pc = m.f->addr; found < ENOUGH && pc - m.f->addr < m.f->size;) {
        if (!callers_step(u, &pc, &in, &bytes))
            return false;
        if (in.kind == INSN_OTHER && u->arch->data(bytes, in.size, &use))
            found += weight(&m, &use, pc);
    }
    return found >= ENOUGH;
}
