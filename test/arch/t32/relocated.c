/*
 * Relocated T32 instructions. Each form that a relocation rewrites, and some that it copies, runs
 * in its place and in the place it was moved to, from many register states. The distance is a
 * multiple of four bytes, and once two bytes more. Both runs must leave by the same way, with the
 * same registers and the same memory. The branch that skips an exit which is not taken must lead
 * to where the exit itself would go on.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arm/t32.h"
#include "state.h"

enum {
    GROUND = 0x800000, /* within reach of `b.w` from the program; the program is in its reach */
    GROUND_BYTES = 0x800000,
    HERE = GROUND + 0x210000,
    STACK = GROUND + 0x100000,
    DATA = GROUND + 0x120000,
    PART = 256, /* this many bytes around stack pointer and data are compared */
    NEXT = 0,
    TARGET = 1,
    SEEDS = 16, /* all flags */
};
static const uint32_t places[] = {HERE + 0x2006, GROUND + 0x6bcde4, GROUND + 0x700002,
                                  HERE - 0x2ffa};
static int failures;

static void *pointer(uint32_t at) { return (void *)at; } /* NOLINT: a number given */

static void fail(const char *what, const char *detail) {
    printf("%s: %s\n", what, detail);
    failures++;
}

static void ground_open(void) {
    const int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
    uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE), leave = (uint32_t)state_leave;
    void *map = mmap(pointer(GROUND), GROUND_BYTES, rights,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    if (map != pointer(GROUND) || mprotect(pointer(leave & -page), page, rights) < 0) {
        printf("no memory at %#x: %s\n", GROUND, strerror(errno));
        exit(1);
    }
}

static void write_code(uint32_t at, const void *bytes, size_t size) {
    memcpy(pointer(at), bytes, size);
    __builtin___clear_cache(pointer(at), pointer(at + size));
}

static void write_jump(uint32_t at, uint32_t to) {
    uint8_t jump[4];
    if (arch_t32.jump(jump, at, to & ~1U))
        abort();
    write_code(at, jump, sizeof jump);
}

/* Writes A32 code at AT, a multiple of four. */
static void write_turning_jump(uint32_t at, uint32_t to) {
    const uint32_t jump[] = {0xe51ff004 /* ldr pc, [pc, #-4] */, to};
    write_code(at, jump, sizeof jump);
}

static uint32_t arrival(unsigned number) {
    return (uint32_t)(number == NEXT ? arrive_0 : arrive_1);
}

static uint32_t next(uint32_t *state) { /* xorshift, Marsaglia 2003 */
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void fill_part(uint32_t middle, uint32_t *seed) {
    for (uint32_t at = middle - PART; at < middle + PART; at += 4) {
        uint32_t value = next(seed);
        memcpy(pointer(at), &value, sizeof value);
    }
}

/* Sets the registers that forms jump through or access memory by, and zeros for their tests. */
static void fill(struct state *state, uint32_t number) {
    uint32_t seed = 2463534242U + number * 7919U;
    memset(state, 0, sizeof *state);
    for (int i = 0; i < 15; i++)
        state->r[i] = number % 3 == 0 && number % 2 ? 0 : next(&seed);
    for (int i = 0; i < 32; i++)
        state->d[i] = (uint64_t)next(&seed) << 32 | next(&seed);
    state->apsr = ((number & 15) << 28) | (next(&seed) & STATE_APSR_BITS & 0x0fffffff);
    state->fpscr = next(&seed) & STATE_FPSCR_BITS;
    state->r[1] = DATA;
    state->r[4] = state->r[14] = arrival(TARGET);
    state->r[13] = STACK;
    fill_part(STACK, &seed);
    fill_part(DATA, &seed);
}

struct outcome {
    struct state state;
    uint8_t stack[PART], data[2 * PART]; /* memory below the stack pointer is not compared */
};

/* Runs the code at START once for each seed. (Setting the start takes the time: it writes code.) */
static void run_all(uint32_t start, struct outcome ret[SEEDS]) {
    struct state in;
    write_jump((uint32_t)state_leave, start);
    for (uint32_t number = 0; number < SEEDS; number++) {
        struct outcome *o = &ret[number];
        memset(o, 0, sizeof *o);
        fill(&in, number);
        state_run(&in, &o->state);
        memcpy(o->stack, pointer(STACK), sizeof o->stack);
        memcpy(o->data, pointer(DATA - PART), sizeof o->data);
    }
}

static void compare(const char *what, const struct outcome *here, const struct outcome *there) {
    char text[128];
    const uint32_t *e = (const uint32_t *)here, *f = (const uint32_t *)there;
    for (size_t i = 0; i < sizeof *here / sizeof *e; i++) {
        if (e[i] == f[i])
            continue;
        (void)snprintf(text, sizeof text, "word %zu is %x, not %x", i, f[i], e[i]);
        fail(what, text);
        return;
    }
}

/* Writes the form at AT, the code behind it, and its target. */
static void write_surroundings(const struct form *form, uint32_t at, const struct insn *in) {
    const uint32_t size = (uint32_t)(form->end - form->start);
    uint32_t seed = 1;
    fill_part((at & ~3U) + 4, &seed);
    write_code(at, form->start, size);
    write_jump(at + size, arrival(NEXT));
    bool leads = in->operand == OPERAND_PLAIN && in->target;
    if (leads && in->turns)
        write_turning_jump((uint32_t)in->target, arrival(TARGET));
    else if (leads)
        write_jump((uint32_t)in->target, arrival(TARGET));
}

/* Moves IN to TO, as in a trampoline. */
static bool move(const struct form *form, const struct insn *in, uint32_t to) {
    struct relocated out = {0};
    bool call = in->kind == INSN_CALL || in->kind == INSN_CALL_INDIRECT;
    if (in->stays || in->kind == INSN_FIXED || (call && !arch_t32.can_call(in, form->start)) ||
        arch_t32.relocate(in, form->start, to, &out) || out.size > arch_t32.relocated_bytes(in))
        return false;
    if (out.copy_bytes)
        memcpy(out.bytes + out.copy_at, pointer((uint32_t)out.copy), out.copy_bytes);
    if (out.address_at) {
        const uint32_t address = (uint32_t)out.address;
        memcpy(out.bytes + out.address_at, &address, sizeof address);
    }
    write_code(to, out.bytes, out.size);
    write_jump(to + out.size, (uint32_t)in->addr + in->size);
    return true;
}

/* If the exit is not taken, the branch that skips it leads behind it. SKIP bytes of code between
 * them report that it was taken. */
static void check_skip(const struct form *form, const struct insn *in, uint32_t skip) {
    static struct outcome here[SEEDS], there[SEEDS];
    uint8_t out[RELOCATED_MAX_BYTES];
    size_t size = arch_t32.skip_unless(in, form->start, skip, out);
    const uint32_t to = places[0];
    if (!size) {
        fail(form->name, "cannot be skipped");
        return;
    }
    write_code(to, out, size);
    write_jump(to + (uint32_t)size, arrival(TARGET));
    write_jump(to + (uint32_t)size + skip, arrival(NEXT));
    run_all((uint32_t)in->addr, here);
    run_all(to, there);
    for (int i = 0; i < SEEDS; i++)
        if (here[i].state.arrived != there[i].state.arrived)
            fail(form->name, "is skipped, or not");
}

static void check_form(const struct form *form, uint32_t at) {
    static struct outcome here[SEEDS], there[SEEDS];
    struct insn in;
    size_t size = (size_t)(form->end - form->start);
    if (!arch_t32.decode(form->start, size, at, &in, NULL) || in.size != size) {
        fail(form->name, "is not decoded");
        return;
    }
    write_surroundings(form, at, &in);
    run_all(at, here);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!move(form, &in, places[i])) {
            fail(form->name, "cannot be moved");
            return;
        }
        run_all(places[i], there);
        for (int k = 0; k < SEEDS; k++)
            compare(form->name, &here[k], &there[k]);
    }
    for (uint32_t skip = 4; in.kind == INSN_BRANCH && skip <= 400; skip += 132)
        check_skip(form, &in, skip);
}

int main(void) {
    size_t count = 0;
    ground_open();
    for (const struct form *f = forms; f->name; f++, count++) {
        check_form(f, HERE);
        check_form(f, HERE + 2);
    }
    printf("%zu forms run, %d failures\n", count, failures);
    return failures != 0;
}
