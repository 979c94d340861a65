/* The bridge of 32-bit Arm (src/agent/arm.S), for code of both states. */
#include "arch/bridge.h"

#include <errno.h>
#include <string.h>

#include "arch/arm/a32.h"
#include "arch/arm/psr.h"
#include "arch/arm/t32.h"
#include "arch/arm_agent.h"

/* Behind the instructions is a jump to the gate: `b`. T32 has no jump to A32 and loads the pc from
 * an aligned word. */
enum {
    LOAD_BYTES = 4,
    JUMP_BYTES = LOAD_BYTES + T32_HALF + ARM_WORD,
    ROOM = BRIDGE_BYTES - JUMP_BYTES
};

static const struct arch *arch_of(bool t32) { return t32 ? &arch_t32 : &arch_a32; }

/* Whether an instruction, or a whole block, has the same bytes when relocated. */
static bool is_same_anywhere(bool t32, const struct insn *insn, const uint8_t *code) {
    enum { ELSEWHERE = 1 << 20 };
    bool straight =
        insn->kind == INSN_OTHER || insn->kind == INSN_NOP || insn->kind == INSN_LANDING;
    struct relocated moved;
    return straight && !insn->stays &&
           arch_of(t32)->relocate(insn, code, insn->addr + ELSEWHERE, &moved) == 0 &&
           moved.size == insn->size && memcmp(moved.bytes, code, moved.size) == 0;
}

static size_t fit_from(bool t32, const uint8_t *code, size_t size, taddr_t from, unsigned most) {
    size_t fit = 0;
    struct insn insn;
    for (unsigned i = 0; i < most && fit < size; i++) {
        if (!arch_of(t32)->decode(code + fit, size - fit, from + fit, &insn, NULL) ||
            !is_same_anywhere(t32, &insn, code + fit) || fit + insn.size > ROOM)
            break;
        fit += insn.size;
    }
    return fit;
}

/* How many instructions are left of a block with this ITSTATE. */
static unsigned left_of(uint8_t block) {
    return block ? (unsigned)(T32_BLOCK_INSNS - __builtin_ctz(block)) : 0;
}

/* A thread inside a block runs all that is left of the block, or nothing. */
size_t bridge_fit(const struct regs *regs, const uint8_t *code, size_t size) {
    const uint32_t psr = (uint32_t)regs->raw.uregs[PSR];
    const unsigned left = left_of(psr_block(psr));
    struct insn insn;
    size_t at = 0;
    for (unsigned i = 0; i < left; i++) {
        if (at >= size || !t32_decode(code + at, size - at, regs_pc(regs) + at, &insn, NULL) ||
            !is_same_anywhere(true, &insn, code + at))
            return 0;
        at += insn.size;
    }
    return left ? at : fit_from(psr_is_t32(psr), code, size, regs_pc(regs), BRIDGE_BYTES);
}

static bool is_t32(const struct bridge_notes *notes) { return notes->back & 1; }
static size_t size_of(const struct bridge_notes *notes) {
    return (notes->back & ~(taddr_t)1) - notes->from;
}

/* Writes a jump from AT to GATE to OUT. */
static int write_jump(bool t32, taddr_t at, taddr_t gate, uint8_t *out) {
    const uint32_t load = 0xf000f8df; /* ldr.w pc, [pc, #0], as it is stored */
    const taddr_t pc = (at + T32_PC) & ~(taddr_t)3, word_at = pc + (at % ARM_WORD ? ARM_WORD : 0);
    const uint32_t word = (uint32_t)gate, distance = (uint32_t)(word_at - pc);
    if (!t32)
        return a32_jump(out, at, gate);
    const uint32_t insn = load | distance << 16;
    memcpy(out, &insn, sizeof insn);
    memcpy(out + (word_at - at), &word, sizeof word);
    return 0;
}

bool bridge_returns(const uint8_t *code, size_t size) {
    (void)code, (void)size;
    return false;
}

int bridge_write(const uint8_t *code, const struct bridge_notes *notes, taddr_t area,
                 uint8_t out[BRIDGE_WRITTEN]) {
    struct arm_agent_labels entries = arm_agent_labels();
    const size_t size = size_of(notes);
    const uint32_t back = (uint32_t)notes->back;
    memcpy(out, arm_agent_bytes + entries.bridge, BRIDGE_WRITTEN);
    memcpy(out + (entries.gate_back - entries.bridge), &back, sizeof back);
    memcpy(out, code, size);
    return write_jump(is_t32(notes), bridge_at(area) + size, area + entries.gate, out + size);
}

/* Returns false at the few instructions that use the stack. Threads are stopped there only by a
 * tracer that follows a killed one; it tries again later. */
bool bridge_leave(struct regs *regs, taddr_t area, const struct bridge_notes *notes,
                  const regs_word_t words[BRIDGE_WORDS]) {
    static const uint8_t saved[BRIDGE_WORDS] = {0, 1, 2, 3, 7};
    struct arm_agent_labels entries = arm_agent_labels();
    const taddr_t back = notes->back & ~(taddr_t)1;
    uint64_t at = regs_pc(regs) - area;
    if (at < entries.gate) {
        regs_set_pc(regs, notes->from + (at - entries.bridge));
        return regs_pc(regs) <= back;
    }
    if (at >= entries.gate_saving && at < entries.gate_saved)
        return false;
    for (int i = 0; at >= entries.gate_saved && at < entries.gate_restored && i < BRIDGE_WORDS; i++)
        regs->raw.uregs[saved[i]] = words[i];
    regs_set_pc(regs, back);
    regs_set_state(regs, notes->back & 1, 0);
    return true;
}
