/*
 * What reads the pc goes over the bridge (arch/bridge.h) as what reads the same there: pages, and
 * constants behind loads; only what is too far from it, or no straight code, does not.
 */
#include <stdio.h>
#include <string.h>

#include "arch/aarch64/aarch64.h"
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
            fail(p->what, "is something else on the bridge");
        if (own.operand == OPERAND_PLAIN && memcmp(word, out + A64_BYTES * i, A64_BYTES) != 0)
            fail(p->what, "has changed");
    }
}

static void check(const struct piece *p) {
    struct regs regs = {.raw = {.pc = p->from}};
    uint8_t code[sizeof p->words], out[BRIDGE_WRITTEN];
    memcpy(code, p->words, sizeof code);
    size_t fits = bridge_fit(&regs, code, A64_BYTES * (size_t)p->count);
    const struct bridge_notes notes = {.from = p->from, .back = p->from + fits};
    if (fits != A64_BYTES * (size_t)p->fits)
        fail(p->what, "fits otherwise");
    int rc = bridge_write(code, &notes, AREA, out);
    if ((rc < 0) != p->too_far)
        fail(p->what, rc < 0 ? "is refused" : "is let over");
    if (rc == 0)
        compare(p, out);
}

int main(void) {
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        check(&pieces[i]);
    return failures != 0;
}
