/*
 * Are flags live at a function's start? By the ABI never; hand-written helpers
 * hand carry chains to each other. Follows the straight line; where it ends
 * without an answer the ABI decides at calls, returns and indirect jumps, and
 * "live" is the answer otherwise.
 */
#include "plan/analysis.h"

enum { FLAGS_STEPS = 24 };

bool flags_live_at(const struct analysis *a, vaddr_t addr) {
    uint32_t written = 0;
    if (!a->arch->all_flags) /* of no interest to stubs */
        return false;
    for (int i = 0; i < FLAGS_STEPS; i++) {
        const struct text *t = text_at(a, addr);
        if (!t || !t->code[addr - t->start])
            return true;
        uint8_t kind = text_kind(t, addr), size = text_size(t, addr);
        struct insn in;
        switch (kind) {
        case INSN_CALL:
        case INSN_CALL_INDIRECT:
        case INSN_RETURN:
        case INSN_JUMP_INDIRECT:
        case INSN_SYSCALL:
        case INSN_TRAP:
            return false;
        case INSN_JUMP:
            text_arch(a, t, addr)->decode(text_bytes(t, addr), size, addr, &in, NULL);
            addr = in.target;
            if (!text_at(a, addr)) /* another module: the ABI holds */
                return false;
            continue;
        default:
            break;
        }
        struct flags_use use = text_arch(a, t, addr)->flags(text_bytes(t, addr), size);
        if (use.tested & ~written)
            return true;
        written |= use.written;
        if (written == a->arch->all_flags)
            return false;
        addr += size;
    }
    return true;
}
