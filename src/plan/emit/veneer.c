/*
 * Veneers: stubs that linkers put between a branch and a target that is too far away or in the
 * other state (A32, T32). Some have a symbol and so count as functions. Those of GNU ld and lld:
 *
 *     ldr ip, literal; add ip, pc, ip; bx ip        A32 to T32, or farther
 *     ldr ip, literal; add pc, ip, pc               A32 to A32
 *     bx pc; nop; b f                               T32 to A32; or with one of the above behind it
 *     movw ip; movt ip; add ip, pc; bx ip           either
 *     adrp x16; add x16, x16, #low; br x16          AArch64
 */
#include "plan/code/stack.h"
#include "plan/emit/planned.h"

/* True if IN, which continues to the next instruction, may be in a veneer. */
static bool may_come_before(const struct plan *plan, const struct insn *in) {
    const struct arch *arch = plan_arch_at(plan, in->addr);
    const uint8_t *bytes = module_bytes(plan->module, in->addr, in->size);
    return in->kind == INSN_LANDING ||
           (in->kind == INSN_OTHER && stack_is_kept(arch, bytes, in->size));
}

vaddr_t veneer_target(const struct plan *plan, vaddr_t addr) {
    enum { MOST = 5 };
    struct trail trail = {.known = 0};
    struct insn in = {.kind = INSN_OTHER};
    bool turned = false;
    for (int i = 0; i < MOST && plan_decode(plan, addr, &trail, &in, NULL); i++) {
        bool known = in.operand == OPERAND_PC_ADDRESS || in.operand == OPERAND_ABSOLUTE;
        if (in.kind == INSN_JUMP_INDIRECT)
            return known ? plan_code_address(plan, in.target) : 0;
        if (in.kind == INSN_JUMP && !in.turns)
            return turned ? in.target : 0;
        turned |= in.kind == INSN_JUMP;
        if (in.kind != INSN_JUMP && !may_come_before(plan, &in))
            return 0;
        addr = in.kind == INSN_JUMP ? in.target : addr + in.size;
    }
    return 0;
}
