/*
 * Executes branches for a stopped thread. Facts: Arm ARM, C6.2, B, B.cond, CBZ, TBZ, BR and RET;
 * conditions: C1.2.4.
 */
#include "arch/aarch64/aarch64.h"
#include "arch/regs.h"

static bool holds(unsigned condition, uint64_t pstate) {
    bool n = pstate >> 31 & 1, z = pstate >> 30 & 1, c = pstate >> 29 & 1, v = pstate >> 28 & 1;
    const bool all[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    bool always = condition >> 1 == 7;
    return always || all[condition >> 1] != (condition & 1);
}

static uint64_t value_of(const struct user_regs_struct *r, unsigned reg) {
    return reg == A64_ZERO ? 0 : r->regs[reg];
}

/* b.cond, cbz, cbnz, tbz and tbnz. */
static bool is_taken(const struct user_regs_struct *r, uint32_t word) {
    uint64_t value = value_of(r, a64_rd(word));
    bool wide = word >> 31, other = word >> 24 & 1;
    if (word >> 25 == 0x2a) /* bc.cond differs by bit 4 */
        return holds(word & 15, r->pstate);
    if ((word >> 25 & 0x3f) == 0x1a)
        return !(wide ? value : (uint32_t)value) != other;
    unsigned bit = a64_bits(word, 19, 5) | (wide ? 32 : 0);
    return (value >> bit & 1) == other;
}

/* Plain br and ret. Only the processor can run authenticated ones. */
static bool is_plain(uint32_t word) {
    return (word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfffffc1f) == 0xd65f0000;
}

enum regs_emulated regs_emulate(struct regs *regs, const uint8_t *code, size_t room,
                                const struct regs_access *reach) {
    const struct user_regs_struct *r = &regs->raw;
    struct insn insn;
    (void)reach;
    if (!a64_decode(code, room, r->pc, &insn, NULL))
        return REGS_NOT_EMULATED;
    uint32_t word = a64_word(code);
    switch (insn.kind) {
    case INSN_JUMP:
        regs_set_pc(regs, insn.target);
        return REGS_EMULATED;
    case INSN_BRANCH:
        regs_set_pc(regs, is_taken(r, word) ? insn.target : insn.addr + insn.size);
        return REGS_EMULATED;
    case INSN_JUMP_INDIRECT:
    case INSN_RETURN:
        if (!is_plain(word))
            return REGS_NOT_EMULATED;
        regs_set_pc(regs, value_of(r, a64_rn(word)));
        return insn.kind == INSN_RETURN ? REGS_RETURNED : REGS_EMULATED;
    default:
        return REGS_NOT_EMULATED;
    }
}
