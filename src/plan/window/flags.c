/* Looks for the first use of flags at a function's start. */
#include "plan/window/flags.h"

enum { FLAGS_STEPS = 24 };

bool flags_live_at(const struct code *code, vaddr_t addr) {
    uint32_t written = 0;
    if (!code->arch->all_flags) /* stubs never change flags */
        return false;
    for (int i = 0; i < FLAGS_STEPS; i++) {
        const struct text *t = text_at(code->texts, addr);
        if (!t || !insn_begins(code, t, addr))
            return true;
        uint8_t kind = insn_kind(code, t, addr), size = insn_size(code, t, addr);
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
            code_arch(code, t, addr)->decode(text_bytes(t, addr), size, addr, &in, NULL);
            addr = in.target;
            if (!text_at(code->texts, addr)) /* in another module: the ABI holds */
                return false;
            continue;
        default:
            break;
        }
        struct flags_use use = code_arch(code, t, addr)->flags(text_bytes(t, addr), size);
        if (use.tested & ~written)
            return true;
        written |= use.written;
        if (written == code->arch->all_flags)
            return false;
        addr += size;
    }
    return true;
}
