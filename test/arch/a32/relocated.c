/*
 * Relocated A32 instructions. Each form that a relocation rewrites, and some that it copies, runs
 * in its place and in the place it was moved to, from many register states. Both runs must leave
 * by the same way, with the same registers and the same memory. Conditional exits run as in a
 * trampoline: behind a branch that skips them.
 */
#include <stdio.h>
#include <string.h>

#include "arch/arm/a32.h"
#include "code_memory.h"

enum { HERE = GROUND + 0x10000, NEXT = 0, TARGET = 1, SEEDS = 32, FAR = 0x40 };
static const uint32_t places[] = {HERE + 0x1004, GROUND + 0x15bcde8, HERE - 0x2ffc};

struct form {
    const char *what;
    uint32_t word, last; /* all words in [word, last] by `step`: registers, conditions, bits */
    uint32_t step;
    int32_t target; /* the place that it branches to or reads, from HERE; 0: none */
    bool data;      /* which is data */
};

enum { RD = 1 << 12, CONDITION = 1 << 28 };

/* All conditions: from 0 (eq) to 14 (always). */
static const struct form forms[] = {
    {"b", 0x0a00000e, 0xea00000e, CONDITION, FAR, false},
    {"b, backwards", 0x0affffee, 0xeaffffee, CONDITION, -FAR, false},
    {"bl", 0xeb00000e, 0xeb00000e, 1, FAR, false},
    {"bl, backwards", 0xebffffee, 0xebffffee, 1, -FAR, false},
    {"add pc, pc", 0x028ff038, 0xe28ff038, CONDITION, FAR, false},
    {"sub pc, pc", 0x024ff048, 0xe24ff048, CONDITION, -FAR, false},
    {"adr", 0xe28f0038, 0xe28fc038, RD, 0, false},
    {"adr, lr", 0xe28fe038, 0xe28fe038, 1, 0, false},
    {"adr on a condition", 0x028f3038, 0xe28f3038, CONDITION, 0, false},
    {"adr, odd", 0xe28f0039, 0xe28fc039, RD, 0, false},
    {"adr, backwards", 0xe24f0048, 0xe24fc048, RD, 0, false},
    {"adr, far", 0xe28f04ab, 0xe28fc4ab, RD, 0, false},
    {"mov rd, pc", 0xe1a0000f, 0xe1a0c00f, RD, 0, false},
    {"mov lr, pc", 0xe1a0e00f, 0xe1a0e00f, 1, 0, false},
    {"add rd, pc, r6", 0xe08f0006, 0xe08f5006, RD, 0, false},
    {"add rd, pc, r6 on a condition", 0x008f0006, 0xe08f0006, CONDITION, 0, false},
    {"add rd, pc, r6, ror #3", 0xe08f01e6, 0xe08f51e6, RD, 0, false},
    {"add rd, pc, r6, rrx", 0xe08f0066, 0xe08f5066, RD, 0, false},
    {"add rd, r6, pc", 0xe086000f, 0xe086500f, RD, 0, false},
    {"sub rd, pc, r6", 0xe04f0006, 0xe04f5006, RD, 0, false},
    {"ldr, literal", 0xe59f0038, 0xe59fc038, RD, FAR, true},
    {"ldr lr, literal", 0xe59fe038, 0xe59fe038, 1, FAR, true},
    {"ldr, literal on a condition", 0x059f0038, 0xe59f0038, CONDITION, FAR, true},
    {"ldr, literal before", 0xe51f0048, 0xe51fc048, RD, -FAR, true},
    {"ldr, literal askew", 0xe59f0039, 0xe59fc039, RD, FAR, true},
    {"ldrb, literal", 0xe5df0039, 0xe5dfc039, RD, FAR, true},
    {"ldrh, literal", 0xe1df03b8, 0xe1dfc3b8, RD, FAR, true},
    {"ldrsb, literal before", 0xe15f04d7, 0xe15fc4d7, RD, -FAR, true},
    {"ldrsh, literal", 0xe1df03fa, 0xe1dfc3fa, RD, FAR, true},
    {"ldrd, literal", 0xe1cf03d8, 0xe1cfa3d8, 2 * RD, FAR, true},
    {"ldrd, literal before", 0xe14f04d8, 0xe14fa4d8, 2 * RD, -FAR, true},
    {"ldr rd, [pc, r2]", 0xe79f3002, 0xe79fc002, RD, FAR, true},
    {"ldr rd, [pc, r2] on a condition", 0x079f3002, 0xe79f3002, CONDITION, FAR, true},
    {"ldr rd, [pc, -r4]", 0xe71f5004, 0xe71fc004, RD, -FAR, true},
    {"ldr rd, [pc, r3, lsl #2]", 0xe79f5103, 0xe79fc103, RD, FAR, true},
    {"ldrb rd, [pc, r2]", 0xe7df3002, 0xe7dfc002, RD, FAR, true},
    {"ldrh rd, [pc, r2]", 0xe19f30b2, 0xe19fc0b2, RD, FAR, true},
    {"ldrsh rd, [pc, -r4]", 0xe11f50f4, 0xe11fc0f4, RD, -FAR, true},
    {"ldrd rd, [pc, r2]", 0xe18f40d2, 0xe18fa0d2, 2 * RD, FAR, true},
    {"vldr d, literal", 0xed9f0b0e, 0xed9ffb0e, RD, FAR, true},
#ifndef ARMV6 /* Armv6 has no upper ones */
    {"vldr d, upper", 0xeddf0b0e, 0xeddffb0e, RD, FAR, true},
#endif
    {"vldr d, before, on a condition", 0x0d1f3b12, 0xed1f3b12, CONDITION, -FAR, true},
    {"vldr s, literal", 0xed9f0a0e, 0xed9ffa0e, RD, FAR, true},
    {"pld, literal", 0xf5dff038, 0xf5dff038, 1, FAR, true},
    {"bx", 0x012fff1e, 0xe12fff1e, CONDITION, FAR, false},
    {"bx r12", 0xe12fff1c, 0xe12fff1c, 1, FAR, false},
    {"mov pc, lr", 0x01a0f00e, 0xe1a0f00e, CONDITION, FAR, false},
    {"add pc, lr, #0", 0x028ef000, 0xe28ef000, CONDITION, FAR, false},
    {"adc r0, r1, r2", 0xe0a10002, 0xe0a10002, 1, 0, false},
    {"adds r0, r1, r2", 0xe0910002, 0xe0910002, 1, 0, false},
    {"movne r0, r3", 0x11a00003, 0x11a00003, 1, 0, false},
    {"push {r4-fp, lr}", 0xe92d4ff0, 0xe92d4ff0, 1, 0, false},
    {"pop {r4-fp, lr}", 0xe8bd4ff0, 0xe8bd4ff0, 1, 0, false},
    {"sub sp, sp, #32", 0xe24dd020, 0xe24dd020, 1, 0, false},
    {"ldr r3, [r1, #8]", 0xe5913008, 0xe5913008, 1, 0, false},
    {"str r3, [r1], #8", 0xe4813008, 0xe4813008, 1, 0, false},
    {"vadd.f64 d0, d1, d2", 0xee310b02, 0xee310b02, 1, 0, false},
    {"mrc p15, 0, r0, c13, c0, 3", 0xee1d0f70, 0xee1d0f70, 1, 0, false},
};

/* Conditional exits, which continue behind themselves; fill_stack() sets what they pop. */
static const struct form exits[] = {
    {"pop<c> {r4, pc}", 0x08bd8010, 0xd8bd8010, CONDITION, FAR, false},
    {"ldr<c> pc, [sp], #4", 0x049df004, 0xd49df004, CONDITION, FAR, false},
    {"ldm<c>db fp, {r4, fp, sp, pc}", 0x091ba810, 0xd91ba810, CONDITION, FAR, false},
    {"bx<c> lr", 0x012fff1e, 0xd12fff1e, CONDITION, FAR, false},
    {"mov<c> pc, r12", 0x01a0f00c, 0xd1a0f00c, CONDITION, FAR, false},
    {"b<c>", 0x0a00000e, 0xda00000e, CONDITION, FAR, false},
};

struct memory {
    uint8_t stack[2 * GROUND_PART], data[2 * GROUND_PART];
};

static void read_memory(struct memory *ret) {
    memcpy(ret->stack, (const void *)(GROUND_STACK - GROUND_PART), sizeof ret->stack); /* NOLINT */
    memcpy(ret->data, (const void *)(GROUND_DATA - GROUND_PART), sizeof ret->data);    /* NOLINT */
}

/* Sets the registers that forms jump through or access memory by. */
static void fill(struct state *state, uint64_t seed) {
    ground_fill(state, seed);
    state->r[1] = GROUND_DATA;
    state->r[2] = FAR - 8;
    state->r[3] = (FAR - 8) / 4;
    state->r[4] = FAR + 8;
    state->r[12] = state->r[14] = HERE + FAR;
}

/* Puts the target on the stack where exits find it: pop {r4, pc} takes the second word, ldr the
 * first. */
static void fill_stack(uint32_t word, struct state *state) {
    const uint32_t to = HERE + FAR, sp = GROUND_STACK;
    bool many = (word & 0x0e000000) == 0x08000000;
    bool old = many && a32_rn(word) == ARM_FP;
    if (old) /* r4, fp, sp and pc are at sp, and fp points behind them */
        state->r[11] = GROUND_STACK + 16;
    uint32_t at = GROUND_STACK + (old ? 12 : many ? 4 : 0);
    memcpy((void *)(uintptr_t)at, &to, sizeof to); /* NOLINT */
    if (old)
        memcpy((void *)(uintptr_t)(GROUND_STACK + 8), &sp, sizeof sp); /* NOLINT */
}

static void write_surroundings(const struct form *form, uint32_t word) {
    static const uint64_t data[] = {0x8123456789abcdef, 0xfedcba9876543210, 0x1122334455667788};
    ground_write(HERE, word);
    ground_write_jump(HERE + 4, ground_arrival(NEXT));
    if (form->data)
        ground_write_bytes((uint32_t)(HERE + form->target), data, sizeof data);
    else if (form->target)
        ground_write_jump((uint32_t)(HERE + form->target), ground_arrival(TARGET));
}

/* Moves the instruction at HERE to TO, as in a trampoline; SKIPS: behind a branch over it. */
static bool move(uint32_t word, uint32_t to, bool skips) {
    struct insn in;
    struct relocated out = {0};
    uint8_t skip[RELOCATED_MAX_BYTES];
    const uint8_t *bytes = (const uint8_t *)&word;
    uint32_t at = to + (skips ? A32_BYTES : 0);
    if (!a32_decode(bytes, sizeof word, HERE, &in, NULL) || in.kind == INSN_FIXED || in.stays ||
        a32_relocate(&in, bytes, at, &out))
        return false;
    if (out.copy_bytes)
        memcpy(out.bytes + out.copy_at, (const void *)(uintptr_t)out.copy, out.copy_bytes);
    if (skips) {
        if (a32_skip_unless(&in, bytes, out.size, skip) != A32_BYTES)
            return false;
        ground_write_bytes(to, skip, A32_BYTES);
    }
    ground_write_bytes(at, out.bytes, out.size);
    ground_write_jump(at + out.size, HERE + 4);
    return true;
}

struct outcome {
    struct state state;
    struct memory memory;
};

/* Runs the code at START once for each seed. */
static void run_all(uint32_t start, uint32_t word, bool lay, struct outcome ret[SEEDS]) {
    struct state in;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fill(&in, seed);
        if (lay)
            fill_stack(word, &in);
        ground_run(start, &in, &ret[seed].state);
        read_memory(&ret[seed].memory);
    }
}

static void check_word(const struct form *form, uint32_t word, uint32_t to, bool skips) {
    static struct outcome here[SEEDS], there[SEEDS];
    int taken = 0;
    write_surroundings(form, word);
    if (!move(word, to, skips)) {
        ground_fail(form->what, word, "cannot be moved");
        return;
    }
    run_all(HERE, word, skips, here);
    run_all(to, word, skips, there);
    for (int i = 0; i < SEEDS; i++) {
        taken += here[i].state.arrived == TARGET;
        ground_compare(form->what, word, &here[i].state, &there[i].state);
        if (memcmp(&here[i].memory, &there[i].memory, sizeof here[i].memory) != 0)
            ground_fail(form->what, word, "leaves other memory");
    }
    if (skips && (!taken || taken == SEEDS))
        ground_fail(form->what, word, "is taken always or never");
}

static size_t check_all(const struct form *all, size_t form_count, bool skips) {
    const size_t place_count = sizeof places / sizeof *places;
    size_t count = 0;
    for (size_t i = 0; i < form_count; i++) {
        const struct form *f = &all[i];
        for (size_t k = 0; k < place_count; k++, count++)
            check_word(f, f->word, places[k], skips);
        for (uint64_t word = (uint64_t)f->word + f->step; word <= f->last; word += f->step, count++)
            check_word(f, (uint32_t)word, places[count % place_count], skips);
    }
    return count;
}

int main(void) {
    ground_open();
    size_t count = check_all(forms, sizeof forms / sizeof *forms, false);
    count += check_all(exits, sizeof exits / sizeof *exits, true);
    printf("%zu relocations run, %d failures\n", count, ground_failures);
    return ground_failures != 0;
}
