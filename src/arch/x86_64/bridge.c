/* The bridge of x86-64 (src/agent/x86_64.S). */
#include "arch/bridge.h"

#include <errno.h>
#include <string.h>

#include "arch/x86_64/stub.h"
#include "arch/x86_64/x86_64.h"

enum { ROOM = BRIDGE_BYTES - X86_JUMP_BYTES };

static bool is_straight(const struct insn *insn) {
    return insn->kind == INSN_OTHER || insn->kind == INSN_NOP || insn->kind == INSN_LANDING;
}

size_t bridge_fit(const struct regs *regs, const uint8_t *code, size_t size) {
    taddr_t from = regs->raw.rip;
    size_t fit = 0;
    struct insn insn;
    while (fit < size && x86_64_decode(code + fit, size - fit, from + fit, &insn, NULL) &&
           is_straight(&insn) && fit + insn.size <= ROOM)
        fit += insn.size;
    return fit;
}

bool bridge_returns(const uint8_t *code, size_t size) {
    (void)code, (void)size;
    return false;
}

int bridge_write(const uint8_t *code, const struct bridge_notes *notes, taddr_t area,
                 uint8_t out[BRIDGE_WRITTEN]) {
    struct agent_entries entries = agent_entries();
    size_t size = notes->back - notes->from;
    taddr_t to = bridge_at(area);
    struct relocated moved;
    struct insn insn;
    memcpy(out, agent_bytes + entries.bridge, BRIDGE_WRITTEN);
    for (size_t at = 0; at < size; at += insn.size) {
        if (!x86_64_decode(code + at, size - at, notes->from + at, &insn, NULL) ||
            x86_64_relocate(&insn, code + at, to + at, &moved) < 0)
            return -ERANGE;
        memcpy(out + at, moved.bytes, insn.size);
    }
    memcpy(out + BRIDGE_WRITTEN - sizeof notes->saved, &notes->saved, sizeof notes->saved);
    return x86_64_jump(out + size, to + size, area + entries.gate);
}

taddr_t bridge_at(taddr_t area) { return area + agent_entries().bridge; }
taddr_t bridge_notes_at(taddr_t area) { return area + agent_entries().notes; }

bool bridge_is_gate(taddr_t area, taddr_t addr) {
    struct agent_entries entries = agent_entries();
    return addr - area >= entries.gate && addr - area < entries.gate_end;
}

bool bridge_leave(struct regs *regs, taddr_t area, const struct bridge_notes *notes,
                  const regs_word_t words[BRIDGE_WORDS]) {
    struct agent_entries entries = agent_entries();
    struct user_regs_struct *r = &regs->raw;
    unsigned long long *const saved[BRIDGE_WORDS] = {&r->rax, &r->rcx, &r->rdx, &r->rsi,
                                                     &r->rdi, &r->r10, &r->r11};
    uint64_t at = r->rip - area;
    if (at < entries.gate) {
        r->rip = notes->from + (at - entries.bridge);
        return r->rip <= notes->back;
    }
    int count = at < entries.gate_saving || at >= entries.gate_restored ? 0
                : at < entries.gate_saved                               ? 1
                                                                        : BRIDGE_WORDS;
    for (int i = 0; i < count; i++)
        *saved[i] = words[i];
    r->rip = notes->back;
    return true;
}
