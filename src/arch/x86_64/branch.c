/*
 * Executes branches for a stopped thread. Facts: Intel SDM volume 2, Jcc, LOOP, JCXZ, JMP and RET;
 * numbers of conditions in appendix B.1.4.
 */
#include <string.h>

#include "arch/regs.h"
#include "arch/x86_64/operands.h"

enum { CARRY = 1, PARITY = 4, ZERO = 0x40, SIGN = 0x80, OVERFLOWED = 0x800, RESUME = 0x10000 };

static bool holds(unsigned condition, uint64_t flags) {
    bool less = !(flags & SIGN) != !(flags & OVERFLOWED);
    const bool all[] = {flags & OVERFLOWED, flags & CARRY,  flags & ZERO, flags & (CARRY | ZERO),
                        flags & SIGN,       flags & PARITY, less,         less || flags & ZERO};
    return all[condition >> 1] != (condition & 1);
}

/* Executes loopne, loope, loop or jrcxz (OPCODE's last two bits). Returns whether it branches. */
static bool loop_is_taken(struct user_regs_struct *r, uint8_t opcode) {
    enum { LOOPNE, LOOPE, LOOP, JRCXZ };
    bool zero = r->eflags & ZERO;
    switch (opcode & 3) {
    case LOOPNE:
        return --r->rcx && !zero;
    case LOOPE:
        return --r->rcx && zero;
    case LOOP:
        return --r->rcx;
    default:
        return r->rcx == 0;
    }
}

/* An address-size prefix makes the counter ecx. No known code does this. */
static bool has_small_counter(const struct insn *insn, const uint8_t *code) {
    return memchr(code, 0x67, insn->field - 1u);
}

static void set_context(const struct user_regs_struct *r, ZydisRegisterContext *ret) {
    const uint64_t values[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                               r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
    memset(ret, 0, sizeof *ret);
    memcpy(&ret->values[ZYDIS_REGISTER_RAX], values, sizeof values);
}

/* Sets the pc to the word at AT. */
static bool go_through(struct user_regs_struct *r, taddr_t at, const struct regs_access *reach) {
    uint64_t to;
    if (!reach->read(reach->from, at, &to))
        return false;
    r->rip = to;
    return true;
}

static enum regs_emulated jump_indirect(struct user_regs_struct *r, const uint8_t *code,
                                        size_t room, const struct regs_access *reach) {
    taddr_t word;
    struct operands o;
    ZydisRegisterContext context;
    if (!x86_64_operands(code, room, &o) || o.at[0].size != 64 || o.in.address_width != 64)
        return REGS_NOT_EMULATED;
    set_context(r, &context);
    if (o.at[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        r->rip = context.values[o.at[0].reg.value];
        return REGS_EMULATED;
    }
    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&o.in, &o.at[0], r->rip, &context, &word)))
        return REGS_NOT_EMULATED;
    if (o.at[0].mem.segment == ZYDIS_REGISTER_FS)
        word += r->fs_base;
    if (o.at[0].mem.segment == ZYDIS_REGISTER_GS)
        word += r->gs_base;
    return go_through(r, word, reach) ? REGS_EMULATED : REGS_NOT_EMULATED;
}

static enum regs_emulated return_to(struct user_regs_struct *r, const struct insn *insn,
                                    const uint8_t *code, const struct regs_access *reach) {
    enum { RET_MORE = 0xc2, MORE_BYTES = 3 };
    uint16_t more = 0;
    if (insn->size >= MORE_BYTES && code[insn->size - MORE_BYTES] == RET_MORE)
        memcpy(&more, code + insn->size - sizeof more, sizeof more);
    if (!go_through(r, r->rsp, reach))
        return REGS_NOT_EMULATED;
    r->rsp += sizeof r->rip + more;
    return REGS_RETURNED;
}

static enum regs_emulated take(struct user_regs_struct *r, const uint8_t *code, size_t room,
                               const struct regs_access *reach) {
    struct insn insn;
    bool taken = true;
    if (!x86_64_decode(code, room, r->rip, &insn, NULL))
        return REGS_NOT_EMULATED;
    switch (insn.kind) {
    case INSN_JUMP:
        break;
    case INSN_BRANCH:
        taken = holds(code[insn.field - 1] & 15, r->eflags);
        break;
    case INSN_LOOP:
        if (has_small_counter(&insn, code))
            return REGS_NOT_EMULATED;
        taken = loop_is_taken(r, code[insn.field - 1]);
        break;
    case INSN_JUMP_INDIRECT:
        return jump_indirect(r, code, room, reach);
    case INSN_RETURN:
        return return_to(r, &insn, code, reach);
    default:
        return REGS_NOT_EMULATED;
    }
    r->rip = taken ? insn.target : insn.addr + insn.size;
    return REGS_EMULATED;
}

enum regs_emulated regs_emulate(struct regs *regs, const uint8_t *code, size_t room,
                                const struct regs_access *reach) {
    enum regs_emulated taken = take(&regs->raw, code, room, reach);
    /* The processor sets this flag for a fault; it holds for one instruction (Intel SDM volume 3,
     * Instruction-Breakpoint Exception Condition). */
    if (taken != REGS_NOT_EMULATED)
        regs->raw.eflags &= ~(uint64_t)RESUME;
    return taken;
}
