/*
 * Instructions that read the pc run on the bridge (arch/bridge.h) as in their place: page
 * addresses, and constants behind loads. Code that is too far from its constants, or that
 * branches, is refused. A return that authenticates runs in two parts. A thread that is moved
 * keeps no trace of an indirect branch (PSTATE.BTYPE).
 */
#include <stdio.h>
#include <string.h>

#include "arch/aarch64/aarch64.h"
#include "arch/aarch64/stub.h"
#include "arch/arm_agent.h"
#include "arch/bridge.h"

enum { AREA = 0x40000000, NEAR = AREA + 0x8000, FAR = AREA + 0x200000, MOST = 4 };

static const struct piece {
    const char *what;
    uint32_t words[MOST];
    uint32_t from;
    uint8_t count, fits;
    bool too_far;
} pieces[] = {
    {"adrp; add; b", {0xb0000003, 0x91012063, 0x14000010}, NEAR, 3, 2, false},
    {"adrp, far away", {0xb0000003}, FAR, 1, 1, false},
    {"ldr q; b", {0x9c000045, 0x14000005}, NEAR, 2, 1, false},
    {"ldr d; ldr s; fadd", {0x5c000165, 0x1c000146, 0x1e6528c5}, NEAR, 3, 3, false},
    {"ldr q, far away", {0x9c000045}, FAR, 1, 1, true},
    {"add; bl", {0x8b020020, 0x94000010}, NEAR, 2, 1, false},
    {"add; autiasppc", {0x8b020020, 0xf380021f}, NEAR, 2, 1, false},
    {"add; pacm; autiasp", {0x8b020020, 0xd50324ff, 0xd50323bf}, NEAR, 3, 1, false},
};

static int failures;
static void fail(const char *what, const char *why) {
    printf("%s: %s\n", what, why);
    failures++;
}

static void compare(const struct piece *p, const uint8_t *out) {
    for (uint32_t i = 0; i < p->fits; i++) {
        const uint8_t *word = (const uint8_t *)&p->words[i];
        struct insn own, there;
        a64_decode(word, A64_BYTES, p->from + A64_BYTES * i, &own, NULL);
        a64_decode(out + A64_BYTES * i, A64_BYTES, bridge_at(AREA) + A64_BYTES * i, &there, NULL);
        if (own.kind != there.kind || own.operand != there.operand || own.target != there.target ||
            own.copies != there.copies)
            fail(p->what, "has another effect on the bridge");
        if (own.operand == OPERAND_PLAIN && memcmp(word, out + A64_BYTES * i, A64_BYTES) != 0)
            fail(p->what, "has changed");
    }
}

static void check_piece(const struct piece *p) {
    struct regs regs = {.raw = {.pc = p->from}};
    uint8_t code[sizeof p->words], out[BRIDGE_WRITTEN];
    memcpy(code, p->words, sizeof code);
    size_t fits = bridge_fit(&regs, code, A64_BYTES * (size_t)p->count);
    const struct bridge_notes notes = {.from = p->from, .back = p->from + fits};
    if (fits != A64_BYTES * (size_t)p->fits)
        fail(p->what, "fits in another number of words");
    int rc = bridge_write(code, &notes, AREA, out);
    if ((rc < 0) != p->too_far)
        fail(p->what, rc < 0 ? "is refused" : "is accepted by the bridge");
    if (rc == 0)
        compare(p, out);
}

/* The notes of an authenticating return span no bytes. */
static void check_return(const char *what, uint32_t word, uint32_t authenticates) {
    static const uint32_t ret = 0xd65f03c0;
    static const regs_word_t words[BRIDGE_WORDS] = {10, 11, 12, 13, 18};
    const struct bridge_notes notes = {.from = NEAR, .back = NEAR};
    const struct arm_agent_labels e = arm_agent_labels();
    struct regs regs = {.raw = {.pc = NEAR}};
    uint8_t code[A64_BYTES], out[BRIDGE_WRITTEN];
    memcpy(code, &word, sizeof code);
    if (bridge_fit(&regs, code, sizeof code) || !bridge_returns(code, sizeof code) ||
        bridge_write(code, &notes, AREA, out) < 0) {
        fail(what, "is refused by the bridge");
        return;
    }
    if (memcmp(out, &authenticates, A64_BYTES) != 0 ||
        memcmp(out + (e.gate_restored - e.bridge), &ret, A64_BYTES) != 0)
        fail(what, "is not cut in two");
    const struct {
        taddr_t at, to;
        uint64_t first;
    } places[] = {{bridge_at(AREA), NEAR, 1},
                  {bridge_at(AREA) + A64_BYTES, FAR, 1},
                  {AREA + e.gate_saved, FAR, 10},
                  {AREA + e.gate_restored, FAR, 1}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        regs = (struct regs){.raw = {.pc = places[i].at, .regs = {[0] = 1, [30] = FAR}}};
        if (!bridge_leave(&regs, AREA, &notes, words) || regs_pc(&regs) != places[i].to ||
            regs.raw.regs[0] != places[i].first)
            fail(what, "leads back to another place");
    }
}

/* After an indirect branch a thread may be continued at any instruction (BTI). */
static void check_branched(void) {
    static const uint64_t btype = 3 << 10, flags = UINT64_C(0xa) << 28;
    struct regs regs = {.raw = {.pc = NEAR, .pstate = btype | flags}};
    regs_set_pc(&regs, FAR);
    if (regs.raw.pc != FAR || regs.raw.pstate != flags)
        fail("a state after a branch", "keeps BTYPE");
}

int main(void) {
    check_branched();
    check_return("retaa", 0xd65f0bff, 0xd50323bf);
    check_return("retab", 0xd65f0fff, 0xd50323ff);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        check_piece(&pieces[i]);
    return failures != 0;
}
