/* The bridge of AArch64 (src/agent/aarch64.S). */
#include "arch/bridge.h"

#include <errno.h>
#include <string.h>

#include "arch/aarch64/aarch64.h"
#include "arch/arm_agent.h"

enum { ROOM = BRIDGE_BYTES - A64_BYTES, LINK = 30 };

static bool is_straight(const struct insn *insn) {
    bool on = insn->kind == INSN_OTHER || insn->kind == INSN_NOP || insn->kind == INSN_LANDING;
    return on && !insn->stays && insn->exclusive != EXCLUSIVE_WITH_NEXT;
}

/* Relocates an instruction of a trampoline to TO. −ERANGE also if it would become longer. */
static int move(const struct insn *insn, const uint8_t *code, taddr_t to, uint32_t *ret) {
    struct relocated moved;
    *ret = a64_word(code);
    if (insn->copies)
        return a64_load_by_pc(ret, to, insn->target);
    if (a64_relocate(insn, code, to, &moved) < 0 || moved.size != A64_BYTES)
        return -ERANGE;
    *ret = a64_word(moved.bytes);
    return 0;
}

static bool fits(const struct insn *insn, const uint8_t *code) {
    uint32_t moved;
    return is_straight(insn) &&
           (insn->operand == OPERAND_PLAIN || move(insn, code, insn->addr, &moved) == 0);
}

size_t bridge_fit(const struct regs *regs, const uint8_t *code, size_t size) {
    taddr_t from = regs->raw.pc;
    size_t fit = 0;
    struct insn insn;
    while (fit < size && a64_decode(code + fit, size - fit, from + fit, &insn, NULL) &&
           fits(&insn, code + fit) && fit + insn.size <= ROOM)
        fit += insn.size;
    return fit;
}

static const uint32_t retaa = 0xd65f0bff, retab = 0xd65f0fff;

bool bridge_returns(const uint8_t *code, size_t size) {
    return size >= A64_BYTES && (a64_word(code) == retaa || a64_word(code) == retab);
}

static int write_return(const uint8_t *code, taddr_t area, uint8_t out[BRIDGE_WRITTEN]) {
    static const uint32_t autiasp = 0xd50323bf, autibsp = 0xd50323ff, ret = 0xd65f03c0;
    struct arm_agent_labels entries = arm_agent_labels();
    memcpy(out, a64_word(code) == retaa ? &autiasp : &autibsp, A64_BYTES);
    memcpy(out + (entries.gate_restored - entries.bridge), &ret, sizeof ret);
    return a64_jump(out + A64_BYTES, bridge_at(area) + A64_BYTES, area + entries.gate);
}

int bridge_write(const uint8_t *code, const struct bridge_notes *notes, taddr_t area,
                 uint8_t out[BRIDGE_WRITTEN]) {
    struct arm_agent_labels entries = arm_agent_labels();
    size_t size = notes->back - notes->from;
    taddr_t to = bridge_at(area);
    uint32_t moved;
    struct insn insn;
    memcpy(out, a64_agent_bytes + entries.bridge, BRIDGE_WRITTEN);
    if (!size)
        return bridge_returns(code, A64_BYTES) ? write_return(code, area, out) : -ERANGE;
    for (size_t at = 0; at < size; at += insn.size) {
        if (!a64_decode(code + at, size - at, notes->from + at, &insn, NULL) ||
            move(&insn, code + at, to + at, &moved) < 0)
            return -ERANGE;
        memcpy(out + at, &moved, sizeof moved);
    }
    int rc = a64_jump(out + size, to + size, area + entries.gate);
    return rc < 0 ? rc
                  : a64_jump(out + (entries.gate_restored - entries.bridge),
                             area + entries.gate_restored, notes->back);
}

/* Returns false at the few instructions that use the stack. Threads are stopped there only by a
 * tracer that follows a killed one; it tries again later. */
bool bridge_leave(struct regs *regs, taddr_t area, const struct bridge_notes *notes,
                  const regs_word_t words[BRIDGE_WORDS]) {
    static const uint8_t saved[BRIDGE_WORDS] = {0, 1, 2, 3, 8};
    struct arm_agent_labels entries = arm_agent_labels();
    struct user_regs_struct *r = &regs->raw;
    uint64_t at = r->pc - area;
    bool returns = notes->back == notes->from;
    if (at < entries.gate) {
        regs_set_pc(regs, returns && at > entries.bridge ? r->regs[LINK]
                                                         : notes->from + (at - entries.bridge));
        return returns || r->pc <= notes->back;
    }
    if (at >= entries.gate_saving && at < entries.gate_saved)
        return false;
    for (int i = 0; at >= entries.gate_saved && at < entries.gate_restored && i < BRIDGE_WORDS; i++)
        r->regs[saved[i]] = words[i];
    regs_set_pc(regs, returns ? r->regs[LINK] : notes->back);
    return true;
}
