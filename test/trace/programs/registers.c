/*
 * Calls functions of their own conventions with every register filled, and says which register came
 * back different: general registers, flags, vector, mask and x87 registers, MXCSR and the x87
 * control word.
 */
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { GENERAL = 16, RBP = 6, RSP = 7, R8 = 8, R9 = 9, AREA_BYTES = 16384, LAPS = 20 };
enum { CARRY = 1, ALL_FLAGS = 0x8d5, DIRECTION = 0x400, FIXED_FLAGS = 0x202 };
enum { X87_CONTROL = 0, MXCSR_AT = 24, MXCSR_MASK_AT = 28, HEADER_AT = 512, HEADER_BYTES = 64 };

/* registers-code.S knows this order. */
struct state {
    uint64_t general[GENERAL]; /* rax rbx rcx rdx rsi rdi rbp (rsp) r8 … r15 */
    uint64_t flags;
    uint64_t mask; /* of the state components */
    void (*function)(void);
    unsigned char *area; /* for xsave */
};

void registers_call(const struct state *before, struct state *after);

void shape_plain(void), shape_landing(void), shape_tail(void), shape_tail_memory(void);
void shape_tail_if_carry(void), shape_calls(void), shape_takes_carry(void), shape_red_zone(void);
void shape_reads_flags(void), shape_gives_flags(void);
extern uint16_t flag_answer;

static const char *const names[GENERAL] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
                                           "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static int carry_laps;

static uint64_t components(void) {
    unsigned a, b, c, d;
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return ((uint64_t)d << 32 | a) & 0xe7; /* x87, SSE, AVX, AVX-512 */
}

static uint64_t random_word(void) {
    static uint64_t seed = 88172645463325252ull;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Exceptions stay masked, and the x87 registers full. */
static void fill(struct state *s) {
    for (int i = 0; i < GENERAL; i++)
        s->general[i] = random_word();
    s->flags = FIXED_FLAGS | (random_word() & (ALL_FLAGS | DIRECTION));
    for (size_t i = 0; i < AREA_BYTES; i += 8) {
        uint64_t word = random_word();
        memcpy(s->area + i, &word, 8);
    }
    memset(s->area + HEADER_AT, 0, HEADER_BYTES);
    memcpy(s->area + HEADER_AT, &s->mask, 8);
    memset(s->area, 0, 32);
    uint16_t control = (uint16_t)(0x037f & ~(random_word() & 0xf00));
    uint32_t mxcsr = 0x1f80 | (random_word() & 0xe000);
    memcpy(s->area + X87_CONTROL, &control, 2);
    s->area[4] = 0xff;
    memcpy(s->area + MXCSR_AT, &mxcsr, 4);
    for (int i = 0; i < 8; i++) /* ten bytes of each, then reserved ones */
        memset(s->area + 32 + i * 16 + 10, 0, 6);
}

static void compare(const char *shape, const struct state *before, const struct state *after) {
    for (int i = 0; i < GENERAL; i++)
        if (i != RSP && before->general[i] != after->general[i])
            printf("%s: %s %lx became %lx\n", shape, names[i], before->general[i],
                   after->general[i]);
    if ((before->flags ^ after->flags) & DIRECTION)
        printf("%s: flags %lx became %lx\n", shape, before->flags, after->flags);
    for (int i = 0; i < AREA_BYTES; i++) {
        bool header = i >= HEADER_AT && i < HEADER_AT + HEADER_BYTES;
        bool fixed = (i >= MXCSR_MASK_AT && i < 32) || (i >= 416 && i < 512);
        if (!header && !fixed && before->area[i] != after->area[i]) {
            printf("%s: saved state differs at byte %d\n", shape, i);
            return;
        }
    }
}

/* What the shape does to registers on purpose is done to the expectation too. */
static void expect_effect(struct state *s) {
    if (s->function == shape_takes_carry)
        s->general[R8] = s->flags & CARRY;
}

static void check_answer(const struct state *s) {
    uint64_t a = s->general[R8], b = s->general[R9];
    unsigned right = (a > b) | (unsigned)(a < b) << 8;
    if (s->function == shape_reads_flags && flag_answer != right)
        printf("shape_reads_flags: answered %x instead of %x\n", flag_answer, right);
}

static void run(const char *name, void (*function)(void), uint64_t mask) {
    static _Alignas(64) unsigned char areas[2][AREA_BYTES];
    for (int lap = 0; lap < LAPS; lap++) {
        struct state before = {.function = function, .mask = mask, .area = areas[0]};
        fill(&before);
        struct state after = before;
        after.area = areas[1];
        memcpy(after.area, before.area, AREA_BYTES);
        registers_call(&before, &after);
        carry_laps += function == shape_tail_if_carry && (before.flags & CARRY);
        expect_effect(&before);
        compare(name, &before, &after);
        check_answer(&before);
    }
    printf("%s: done\n", name);
}

int main(void) {
    uint64_t mask = components();
    if (!mask)
        return 77;
#define RUN(shape) run(#shape, shape, mask)
    RUN(shape_plain);
    RUN(shape_landing);
    RUN(shape_tail);
    RUN(shape_tail_memory);
    RUN(shape_tail_if_carry);
    RUN(shape_calls);
    RUN(shape_takes_carry);
    RUN(shape_reads_flags);
    RUN(shape_red_zone);
    /* shape_plain also from shape_tail, shape_tail_memory, shape_calls and, with the carry flag
     * set, shape_tail_if_carry */
    static const char *const once[] = {"landing",       "tail",        "tail_memory",
                                       "tail_if_carry", "calls",       "takes_carry",
                                       "reads_flags",   "gives_flags", "red_zone"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        printf("calls: shape_%s %d\n", once[i], LAPS);
    printf("calls: shape_plain %d\n", 4 * LAPS + carry_laps);
    return 0;
}
