/*
 * The tool takes branches, and other instructions that read the pc, for a stopped thread
 * (arch/arm/branch.c). Tool and processor start from the same registers and all flags, and must
 * end with the same registers, state and flags. Instructions that the tool takes cannot run on the
 * bridge.
 */
#include <string.h>

#include "arch/bridge.h"
#include "machine.h"

enum { PLACE = GROUND + 0x8000, DATA = STACK + 0x1000, NEAR = PLACE + 0x60, CODE = 8 };
/* ITSTATE: the next instruction is the last of an IT block, or the first of two (ITE_HI). */
enum { EQ = 0x08, NE = 0x18, GT = 0xc8, ITE_HI = 0x8c };

struct form {
    const char *what;
    uint8_t code[CODE];
    uint8_t size;
    uint8_t block; /* ITSTATE before it */
};
#define A32(word)                                                                                  \
    {(uint8_t)(word), (uint8_t)((word) >> 8), (uint8_t)((word) >> 16), (uint8_t)((word) >> 24)},   \
        4, 0
#define NARROW(half, block) {(uint8_t)(half), (uint8_t)((half) >> 8)}, 2, block
#define WIDE(one, two, block)                                                                      \
    {(uint8_t)(one), (uint8_t)((one) >> 8), (uint8_t)(two), (uint8_t)((two) >> 8)}, 4, block

static const struct form a32_forms[] = {
    {"b", A32(0xea00000eU)},
    {"b, backwards", A32(0xeaffffeeU)},
    {"beq", A32(0x0a00000eU)},
    {"bne", A32(0x1a00000eU)},
    {"bhs", A32(0x2a00000eU)},
    {"bmi", A32(0x4a00000eU)},
    {"bvs", A32(0x6a00000eU)},
    {"bhi", A32(0x8a00000eU)},
    {"bls", A32(0x9a00000eU)},
    {"bge", A32(0xaa00000eU)},
    {"blt", A32(0xba00000eU)},
    {"bgt", A32(0xca00000eU)},
    {"ble", A32(0xda00000eU)},
    {"bx lr", A32(0xe12fff1eU)},
    {"bxne lr", A32(0x112fff1eU)},
    {"bx r3", A32(0xe12fff13U)},
    {"mov pc, lr", A32(0xe1a0f00eU)},
    {"add pc, lr, #0", A32(0xe28ef000U)},
    {"moveq pc, r3", A32(0x01a0f003U)},
    {"pop {r4, pc}", A32(0xe8bd8010U)},
    {"popeq {r4-r11, pc}", A32(0x08bd8ff0U)},
    {"ldmdb r11, {r4, r11, sp, pc}", A32(0xe91ba810U)},
    {"ldmib r1, {r2, r3, pc}", A32(0xe991800cU)},
    {"ldmda r1!, {r2, pc}", A32(0xe8318004U)},
    {"pop {pc}", A32(0xe49df004U)},
    {"ldr pc, [r1]", A32(0xe591f000U)},
    {"ldr pc, [r1, #-8]!", A32(0xe531f008U)},
    {"ldrls pc, [r1], #-4", A32(0x9411f004U)},
    {"ldr pc, [r1, r6]", A32(0xe791f006U)},
    {"ldr pc, [r1, r6, lsl #2]", A32(0xe791f106U)},
    {"ldr pc, [r1, -r6, lsl #3]", A32(0xe711f186U)},
    {"ldr pc, [pc, #n]", A32(0xe59ff058U)},
    {"add r4, pc, #n", A32(0xe28f4e12U)},
    {"sub r10, pc, #n", A32(0xe24fae12U)},
    {"addhi r4, pc, #n", A32(0x828f4e12U)},
    {"add r4, pc, r6", A32(0xe08f4006U)},
    {"add r4, r6, pc", A32(0xe086400fU)},
    {"sub r4, pc, r6, lsl #3", A32(0xe04f4186U)},
    {"sub r4, r6, pc", A32(0xe046400fU)},
    {"add r4, pc, r5, lsr #7", A32(0xe08f43a5U)},
    {"add r4, pc, r5, lsr #32", A32(0xe08f4025U)},
    {"add r4, pc, r5, asr #7", A32(0xe08f43c5U)},
    {"add r4, pc, r5, asr #32", A32(0xe08f4045U)},
    {"add r4, pc, r5, ror #7", A32(0xe08f43e5U)},
    {"add r4, pc, r5, rrx", A32(0xe08f4065U)},
    {"ldr r4, [pc, #n]", A32(0xe59f4058U)},
    {"ldr r4, [pc, #n], not aligned", A32(0xe59f405bU)},
    {"ldrls r4, [pc, #-n]", A32(0x951f4018U)},
    {"ldrb r4, [pc, #n]", A32(0xe5df405aU)},
    {"ldrh r4, [pc, #n]", A32(0xe1df45baU)},
    {"ldrsb r4, [pc, #n]", A32(0xe1df45dfU)},
    {"ldrsh r4, [pc, #n]", A32(0xe1df45feU)},
    {"ldrd r4, r5, [pc, #n]", A32(0xe1cf45d8U)},
    {"vldr s5, [pc, #n]", A32(0xeddf2a16U)},
    {"vldr d9, [pc, #n]", A32(0xed9f9b16U)},
    {"vldr d20, [pc, #-n]", A32(0xed5f4b06U)},
    {"vldreq d9, [pc, #n]", A32(0x0d9f9b16U)},
};
static const struct form t32_forms[] = {
    {"b.n", NARROW(0xe02e, 0)},
    {"b.n, backwards", NARROW(0xe7e0, 0)},
    {"b.w", WIDE(0xf000, 0xb82e, 0)},
    {"beq.n", NARROW(0xd02e, 0)},
    {"bge.n", NARROW(0xda2e, 0)},
    {"bls.w", WIDE(0xf240, 0x802e, 0)},
    {"cbz r0", NARROW(0xb170, 0)},
    {"cbz r5", NARROW(0xb175, 0)},
    {"cbnz r0", NARROW(0xb970, 0)},
    {"cbnz r5", NARROW(0xb975, 0)},
    {"bx lr", NARROW(0x4770, 0)},
    {"bx r3", NARROW(0x4718, 0)},
    {"mov pc, lr", NARROW(0x46f7, 0)},
    {"pop {r4, pc}", NARROW(0xbd10, 0)},
    {"pop.w {r4-r11, pc}", WIDE(0xe8bd, 0x8ff0, 0)},
    {"ldmdb r1!, {r2, pc}", WIDE(0xe931, 0x8004, 0)},
    {"pop.w {pc}", WIDE(0xf85d, 0xfb04, 0)},
    {"ldr.w pc, [r1]", WIDE(0xf8d1, 0xf000, 0)},
    {"ldr.w pc, [r1, #-8]!", WIDE(0xf851, 0xfd08, 0)},
    {"ldr.w pc, [r1, r6, lsl #2]", WIDE(0xf851, 0xf026, 0)},
    {"ldr.w pc, [pc, #n]", WIDE(0xf8df, 0xf05c, 0)},
    {"add r4, pc", NARROW(0x447c, 0)},
    {"add r10, pc", NARROW(0x44fa, 0)},
    {"vldr s5, [pc, #n]", WIDE(0xeddf, 0x2a16, 0)},
    {"vldr d9, [pc, #n]", WIDE(0xed9f, 0x9b16, 0)},
    {"vldr d20, [pc, #-n]", WIDE(0xed5f, 0x4b06, 0)},
    {"addne r4, pc", NARROW(0x447c, NE)},
    {"itt eq; movweq r4, #n; addeq r4, pc", {0x04, 0xbf, 0x41, 0xf2, 0x34, 0x24, 0x7c, 0x44}, 8, 0},
    {"itt gt; movtgt r4, #n; addgt r4, pc", {0xc4, 0xbf, 0xc1, 0xf6, 0x34, 0x24, 0x7c, 0x44}, 8, 0},
    {"beq in a block", NARROW(0xe02e, EQ)},
    {"bne.w in a block", WIDE(0xf000, 0xb82e, NE)},
    {"bxne lr", NARROW(0x4770, NE)},
    {"popgt {r4, pc}", NARROW(0xbd10, GT)},
    {"popeq.w {pc}", WIDE(0xf85d, 0xfb04, EQ)},
    {"it eq; bxeq lr", {0x08, 0xbf, 0x70, 0x47}, 4, 0},
    {"it gt; bgt.w", {0xc8, 0xbf, 0x00, 0xf0, 0x2e, 0xb8}, 6, 0},
};

/* Fills memory with addresses of different places. */
static void write_addresses(uint32_t start, uint32_t end, uint32_t to) {
    for (uint32_t at = start; at < end; at += sizeof to, to += (uint32_t)sizeof to)
        machine_write(at, &to, sizeof to);
}

/* Registers and memory lead to code of either state. */
static void fill_targets(struct machine *m, bool t32) {
    const uint32_t to = NEAR + 0x1000 + t32;
    write_addresses(DATA - 128, DATA + 128, NEAR + 0x800 + t32);
    write_addresses(STACK - 128, STACK + 128, NEAR + 0xa00 + t32);
    write_addresses(NEAR, NEAR + 16, NEAR + 0xc00 + t32);
    m->regs.raw.uregs[0] = 0;
    m->regs.raw.uregs[1] = m->regs.raw.uregs[11] = DATA;
    m->regs.raw.uregs[3] = m->regs.raw.uregs[14] = to;
    m->regs.raw.uregs[6] = 8;
}

static bool fill(const void *from, unsigned first, const regs_word_t *words, unsigned count) {
    struct machine *m = (struct machine *)(uintptr_t)from; /* NOLINT: take_branches() passed it */
    memcpy((uint8_t *)m->vectors + first * sizeof *words, words, count * sizeof *words);
    return true;
}

/* The tool takes branches until the machine is out of the form and of the IT block. Returns whether
 * it gets so far. */
static bool take_branches(const struct form *form, struct machine *m) {
    struct regs *regs = &m->regs;
    const struct regs_access reach = {machine_read, fill, m};
    const uint32_t end = (uint32_t)regs_pc(regs) + form->size, start = (uint32_t)regs_pc(regs);
    if (bridge_fit(regs, form->code, form->size))
        machine_fail(form->what, "is accepted by the bridge");
    for (uint32_t at = start; at - start < form->size; at = (uint32_t)regs_pc(regs))
        if (regs_emulate(regs, form->code + (at - start), end - at, &reach) != REGS_EMULATED)
            return false;
    return true;
}

static void check_form(const struct form *form, uint32_t place, struct machine *in) {
    struct machine tool = *in, processor;
    in->regs.raw.uregs[15] = tool.regs.raw.uregs[15] = place;
    machine_write(place, form->code, form->size);
    if (!take_branches(form, &tool)) {
        machine_fail(form->what, "is not taken");
        return;
    }
    machine_end((uint32_t)regs_pc(&tool.regs), regs_is_other(&tool.regs));
    machine_run(in, &processor);
    machine_compare(form->what, &processor, &tool);
}

static void check_all(const struct form *forms, size_t count, bool t32) {
    struct machine in;
    for (size_t i = 0; i < count; i++)
        for (uint32_t seed = 0; seed < 32; seed++) {
            machine_clear();
            machine_fill(&in, seed);
            fill_targets(&in, seed >> 4);
            regs_set_state(&in.regs, t32, forms[i].block);
            check_form(&forms[i], t32 && seed % 2 ? PLACE + 2 : PLACE, &in);
        }
}

static bool read_nothing(const void *from, taddr_t at, regs_word_t *ret) {
    (void)from;
    (void)at;
    (void)ret;
    return false;
}

/* The tool changes nothing for instructions that are no branches, or that it cannot take. */
static void check_none(void) {
    static const struct form none[] = {
        {"bl", A32(0xeb00000eU)},           {"blx r3", A32(0xe12fff33U)},
        {"blx to T32", A32(0xfa00000eU)},   {"svc", A32(0xef000000U)},
        {"add", A32(0xe0800001U)},          {"pop without the pc", A32(0xe8bd0010U)},
        {"pop, unread", A32(0xe8bd8010U)},  {"ldr pc with ror", A32(0xe791f1e6U)},
        {"ldr, unread", A32(0xe59f4058U)},  {"ldr by r1", A32(0xe5914058U)},
        {"vldr, unread", A32(0xed9f9b16U)}, {"adds with pc", A32(0xe29f4004U)},
        {"bl", WIDE(0xf000, 0xf82e, 0)},    {"blx r3", NARROW(0x4798, 0)},
        {"svc", NARROW(0xdf00, 0)},         {"add", NARROW(0x1840, 0)},
        {"tbb", WIDE(0xe8d1, 0xf006, 0)},   {"pop, unread", NARROW(0xbd10, 0)},
        {"add pc, r3", NARROW(0x449f, 0)},  {"add r4, r3", NARROW(0x441c, 0)},
    };
    const struct regs_access nowhere = {.read = read_nothing};
    enum { OF_A32 = 12 };
    struct machine m, before;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        machine_fill(&m, 1);
        m.regs.raw.uregs[15] = PLACE;
        regs_set_state(&m.regs, i >= OF_A32, 0);
        before = m;
        if (regs_emulate(&m.regs, none[i].code, none[i].size, &nowhere) != REGS_NOT_EMULATED)
            machine_fail(none[i].what, "is taken");
        machine_compare(none[i].what, &before, &m);
    }
}

int main(void) {
    machine_open();
    check_all(a32_forms, sizeof a32_forms / sizeof *a32_forms, false);
    check_all(t32_forms, sizeof t32_forms / sizeof *t32_forms, true);
    check_none();
    return machine_failures != 0;
}
