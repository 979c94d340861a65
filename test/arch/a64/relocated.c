/*
 * Relocated A64 instructions. Each form that a relocation rewrites, and some that it copies, runs
 * in its place and in the place it was moved to, from many register states. Both runs must leave
 * by the same way, with the same registers and the same memory.
 */
#include <stdio.h>
#include <string.h>

#include "arch/aarch64/aarch64.h"
#include "code_memory.h"

enum { HERE = GROUND + 0x10000, NEXT = 0, TARGET = 1, SEEDS = 32 };
static const uint64_t places[] = {HERE + 0x1004, GROUND + 0x2abcde8, HERE - 0x2ffc};

struct form {
    const char *what;
    uint32_t word, last; /* all words in [word, last] by `step`: registers, conditions, bits */
    uint32_t step;
    int32_t target; /* the place that it branches to or reads, from HERE; 0: none */
    bool data;      /* which is data */
};

static const struct form forms[] = {
    {"b", 0x14000010, 0x14000010, 1, 0x40, false},
    {"b, backwards", 0x17fffff0, 0x17fffff0, 1, -0x40, false},
    {"b.cond", 0x54000200, 0x5400020f, 1, 0x40, false},
    {"b.cond, backwards", 0x54fffe00, 0x54fffe0f, 1, -0x40, false},
    {"cbz w", 0x34000200, 0x3400021f, 1, 0x40, false},
    {"cbz x", 0xb4000200, 0xb400021f, 1, 0x40, false},
    {"cbnz w", 0x35fffe00, 0x35fffe1f, 1, -0x40, false},
    {"cbnz x", 0xb5000200, 0xb500021f, 1, 0x40, false},
    {"tbz w3", 0x36000203, 0x36f80203, 0x80000, 0x40, false},
    {"tbz x3", 0xb6000203, 0xb6f80203, 0x80000, 0x40, false},
    {"tbnz w3", 0x3707fe03, 0x37fffe03, 0x80000, -0x40, false},
    {"tbnz x30", 0xb700021e, 0xb7f8021e, 0x80000, 0x40, false},
    {"adr", 0x10000200, 0x1000021f, 1, 0, false},
    {"adr, odd", 0x30000200, 0x3000021f, 1, 0, false},
    {"adr, backwards", 0x70fffe00, 0x70fffe1e, 1, 0, false},
    {"adr, far", 0x107fffe0, 0x107ffffe, 1, 0, false},
    {"adrp", 0x90000000, 0x9000001f, 1, 0, false},
    {"adrp, far", 0xf03fffe0, 0xf03ffffe, 1, 0, false},
    {"ldr w, literal", 0x18000200, 0x1800021e, 1, 0x40, true},
    {"ldr x, literal", 0x58000200, 0x5800021e, 1, 0x40, true},
    {"ldr x, literal not aligned", 0x58000220, 0x5800023e, 1, 0x44, true},
    {"ldr x, literal before", 0x58fffe00, 0x58fffe1e, 1, -0x40, true},
    {"ldrsw, literal", 0x98000200, 0x9800021e, 1, 0x40, true},
    {"ldrsw, literal before", 0x98fffe20, 0x98fffe3e, 1, -0x3c, true},
    {"ldr s, literal", 0x1c000200, 0x1c00021f, 1, 0x40, true},
    {"ldr d, literal", 0x5c000200, 0x5c00021f, 1, 0x40, true},
    {"ldr q, literal", 0x9c000200, 0x9c00021f, 1, 0x40, true},
    {"ldr q, literal before", 0x9cfffe20, 0x9cfffe3f, 1, -0x3c, true},
    {"prfm, literal", 0xd8000200, 0xd8000202, 1, 0x40, true},
    {"bl", 0x94000010, 0x94000010, 1, 0x40, false},
    {"bl, backwards", 0x97fffff0, 0x97fffff0, 1, -0x40, false},
    {"br", 0xd61f0200, 0xd61f0200, 1, 0x40, false},
    {"ret", 0xd65f03c0, 0xd65f03c0, 1, 0x40, false},
    {"ret x16", 0xd65f0200, 0xd65f0200, 1, 0x40, false},
    {"adc x0, x1, x2", 0x9a020020, 0x9a020020, 1, 0, false},
    {"adds x0, x1, x2", 0xab020020, 0xab020020, 1, 0, false},
    {"csel", 0x9a820020, 0x9a82f020, 0x1000, 0, false},
    {"stp x29, x30, [sp, #-16]!", 0xa9bf7bfd, 0xa9bf7bfd, 1, 0, false},
    {"ldp x29, x30, [sp], #16", 0xa8c17bfd, 0xa8c17bfd, 1, 0, false},
    {"sub sp, sp, #32", 0xd10083ff, 0xd10083ff, 1, 0, false},
    {"ldr x3, [x1, #8]", 0xf9400423, 0xf9400423, 1, 0, false},
    {"str x3, [x1], #8", 0xf8008423, 0xf8008423, 1, 0, false},
    {"fadd d0, d1, d2", 0x1e622820, 0x1e622820, 1, 0, false},
    {"mrs x0, tpidr_el0", 0xd53bd040, 0xd53bd040, 1, 0, false},
};

struct memory {
    uint8_t stack[2 * GROUND_PART], data[2 * GROUND_PART];
};

static void read_memory(struct memory *ret) {
    memcpy(ret->stack, (const void *)(GROUND_STACK - GROUND_PART), sizeof ret->stack); /* NOLINT */
    memcpy(ret->data, (const void *)(GROUND_DATA - GROUND_PART), sizeof ret->data);    /* NOLINT */
}

/* Sets the registers that forms jump through or access memory by, and zeros for their tests. */
static void fill(struct state *state, uint64_t seed) {
    ground_fill(state, seed);
    state->x[1] = GROUND_DATA;
    state->x[16] = state->x[30] = HERE + 0x40;
    for (int i = 2; seed % 3 == 0 && i < 30; i++)
        if (i != 16)
            state->x[i] = seed % 2 ? 0 : state->x[i] << 32;
}

static void write_surroundings(const struct form *form, uint32_t word) {
    static const uint64_t data[] = {0x8123456789abcdef, 0xfedcba9876543210, 0x1122334455667788};
    ground_write(HERE, word);
    ground_write_jump(HERE + 4, ground_arrival(NEXT));
    if (form->data)
        ground_write_bytes((uint64_t)(HERE + form->target), data, sizeof data);
    else if (form->target)
        ground_write_jump((uint64_t)(HERE + form->target), ground_arrival(TARGET));
}

/* Moves the instruction at HERE to TO, as in a trampoline. */
static bool move(uint32_t word, uint64_t to) {
    struct insn in;
    struct relocated out = {0};
    const uint8_t *bytes = (const uint8_t *)&word;
    if (!arch_aarch64.decode(bytes, sizeof word, HERE, &in, NULL) || in.kind == INSN_FIXED ||
        arch_aarch64.relocate(&in, bytes, to, &out))
        return false;
    if (out.copy_bytes)
        memcpy(out.bytes + out.copy_at, (const void *)(uintptr_t)out.copy,
               out.copy_bytes); /* NOLINT */
    ground_write_bytes(to, out.bytes, out.size);
    ground_write_jump(to + out.size, HERE + 4);
    return true;
}

struct outcome {
    struct state state;
    struct memory memory;
};

/* Runs the code at START once for each seed. (ground_lead() takes the time: it writes code.) */
static void run_all(uint64_t start, struct outcome ret[SEEDS]) {
    struct state in;
    ground_lead(start);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        fill(&in, seed);
        ground_run(&in, &ret[seed].state);
        read_memory(&ret[seed].memory);
    }
}

static void check_word(const struct form *form, uint32_t word, uint64_t to) {
    static struct outcome here[SEEDS], there[SEEDS];
    write_surroundings(form, word);
    if (!move(word, to)) {
        ground_fail(form->what, word, "cannot be moved");
        return;
    }
    run_all(HERE, here);
    run_all(to, there);
    for (int i = 0; i < SEEDS; i++) {
        ground_compare(form->what, word, &here[i].state, &there[i].state);
        if (memcmp(&here[i].memory, &there[i].memory, sizeof here[i].memory) != 0)
            ground_fail(form->what, word, "leaves other memory");
    }
}

int main(void) {
    size_t count = 0;
    const size_t place_count = sizeof places / sizeof *places;
    ground_open();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *f = &forms[i];
        for (size_t k = 0; k < place_count; k++, count++)
            check_word(f, f->word, places[k]);
        for (uint64_t word = (uint64_t)f->word + f->step; word <= f->last; word += f->step, count++)
            check_word(f, (uint32_t)word, places[count % place_count]);
    }
    printf("%zu relocations run, %d failures\n", count, ground_failures);
    return ground_failures != 0;
}
