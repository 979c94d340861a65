/*
 * Calls functions without a common calling convention, with every register filled, and prints which
 * registers came back different. Compared are general registers, flags, vector, mask, tile (AMX)
 * and x87 registers, MXCSR, the x87 control and status words, protection keys, and errno.
 *
 * registers BURST: calls each function BURST times in a row while its tracer is stopped, so that
 * the ring gets full.
 */
#include <cpuid.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"
#include "tracer.h"

enum { GENERAL = 16, RSP = 7, R8 = 8, R9 = 9, R11 = 11, AREA_BYTES = 16384, LAPS = 20 };
enum { FEW_LAPS = 4 }; /* with bursts */
/* ALIGNMENT makes every unaligned access fault. */
enum { CARRY = 1, ALL_FLAGS = 0x8d5, DIRECTION = 0x400, ALIGNMENT = 0x40000, IDENTITY = 0x200000 };
enum { KEPT_FLAGS = DIRECTION | ALIGNMENT | IDENTITY, FIXED_FLAGS = 0x202 };
enum { X87_CONTROL = 0, X87_STATUS = 2, X87_TAGS = 4, MXCSR_AT = 24, MXCSR_MASK_AT = 28 };
enum {
    HEADER_AT = 512,
    HEADER_BYTES = 64,
    KEYS = 1 << 9,
    TILES = 3 << 17, /* tile configuration and tile data */
    X87_MASKS = 0x3f,
    X87_CONDITIONS = 0x7f00
};

/* The layout is known to registers-code.S. */
struct state {
    uint64_t general[GENERAL]; /* rax rbx rcx rdx rsi rdi rbp (rsp) r8 … r15 */
    uint64_t flags;
    uint64_t mask; /* of the state components */
    void (*function)(void);
    unsigned char *area; /* for xsave */
    uint64_t times;
};

void registers_call(const struct state *before, struct state *after);

#define SHAPES(x)                                                                                  \
    x(plain, 0) x(landing, 1) x(tail, 1) x(tail_memory, 1) x(tail_register, 1) x(tail_if_carry, 1) \
        x(calls, 1) x(takes_carry, 1) x(reads_flags, 1) x(reads_by_tail, 1) x(calls_middle, 1)     \
            x(takes_flags, 1) x(loop_head, 1) x(calls_many, 1) x(return_bounds, 1) x(red_zone, 1)  \
                x(narrow, 1) x(remote, 1) x(begins_with_call, 1) x(begins_with_pointer, 1)         \
                    x(pad, 1) x(pad_before, 1) x(pun, 1) x(pun_return, 1)
#define DECLARE(shape, counted) void shape_##shape(void);
SHAPES(DECLARE)

extern uint16_t flag_answer;
extern unsigned char *ordinary_area;

static const char *const names[GENERAL] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
                                           "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

static unsigned long carry_laps, laps = LAPS, burst = 1;
static uint32_t keys_at, tile_config_at; /* in the area */

/* A program must request tiles (Linux, Documentation/arch/x86/xstate.rst). */
static bool may_use_tiles(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

static uint64_t components(void) {
    unsigned a, b, c, d;
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    uint64_t mask = ((uint64_t)d << 32 | a) & (0xe7 | KEYS | TILES); /* x87, SSE, AVX, AVX-512 */
    if ((mask & TILES) != TILES || !may_use_tiles())
        mask &= ~(uint64_t)TILES;
    if (mask & KEYS)
        __cpuid_count(0xd, 9, a, keys_at, c, d);
    if (mask & TILES)
        __cpuid_count(0xd, 17, a, tile_config_at, c, d);
    return mask;
}

static uint64_t random_word(void) {
    static uint64_t seed = 88172645463325252ull;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void put16(unsigned char *at, uint64_t value) {
    uint16_t word = (uint16_t)value;
    memcpy(at, &word, sizeof word);
}

static void put32(unsigned char *at, uint64_t value) {
    uint32_t word = (uint32_t)value;
    memcpy(at, &word, sizeof word);
}

/* Configures eight tiles of the largest size, so that all of their data is compared. */
static void configure_tiles(unsigned char *config) {
    enum { CONFIG_BYTES = 64, TILE_COUNT = 8, WIDTHS_AT = 16, HEIGHTS_AT = 48 };
    memset(config, 0, CONFIG_BYTES);
    config[0] = 1; /* the palette */
    for (int i = 0; i < TILE_COUNT; i++) {
        put16(config + WIDTHS_AT + 2 * (size_t)i, 64);
        config[HEIGHTS_AT + i] = 16;
    }
}

/* Exceptions stay masked, the x87 registers full, and ordinary memory accessible. */
static void fill(struct state *s) {
    for (int i = 0; i < GENERAL; i++)
        s->general[i] = random_word();
    s->flags = FIXED_FLAGS | (random_word() & (ALL_FLAGS | KEPT_FLAGS));
    for (size_t i = 0; i < AREA_BYTES; i += 8) {
        uint64_t word = random_word();
        memcpy(s->area + i, &word, 8);
    }
    memset(s->area + HEADER_AT, 0, HEADER_BYTES);
    memcpy(s->area + HEADER_AT, &s->mask, 8);
    memset(s->area, 0, 32);
    put16(s->area + X87_CONTROL, 0x40 | X87_MASKS | (random_word() & 0xf00));
    put16(s->area + X87_STATUS, random_word() & X87_CONDITIONS);
    s->area[X87_TAGS] = 0xff;
    put32(s->area + MXCSR_AT, 0x1f80 | (random_word() & 0xe03f));
    for (int i = 0; i < 8; i++) /* ten bytes each, then reserved ones */
        memset(s->area + 32 + i * 16 + 10, 0, 6);
    if (s->mask & KEYS)
        put32(s->area + keys_at, random_word() & ~3ull);
    if (s->mask & KEYS)
        put32(s->area + keys_at + 4, 0);
    if (s->mask & TILES)
        configure_tiles(s->area + tile_config_at);
    s->general[R11] = s->function == shape_tail_register ? (uintptr_t)shape_plain : s->general[R11];
}

static void compare(const char *shape, const struct state *before, const struct state *after) {
    for (int i = 0; i < GENERAL; i++)
        if (i != RSP && before->general[i] != after->general[i])
            printf("%s: %s %lx became %lx\n", shape, names[i], before->general[i],
                   after->general[i]);
    if ((before->flags ^ after->flags) & KEPT_FLAGS)
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

/* Applies the changes that the shape makes on purpose to the expected state. */
static void expect_effect(struct state *s) {
    if (s->function == shape_takes_carry)
        s->general[R8] = s->flags & CARRY;
    if (s->function == shape_takes_flags)
        s->general[R8] = s->general[R9] = s->flags;
    if (s->function == shape_loop_head || s->function == shape_narrow ||
        s->function == shape_remote || s->function == shape_pun)
        s->general[R8] |= 1 << 3;
}

static void check_answer(const struct state *s) {
    uint64_t a = s->general[R8], b = s->general[R9];
    unsigned right = (a > b) | (unsigned)(a < b) << 8;
    bool asks = s->function == shape_reads_flags || s->function == shape_reads_by_tail ||
                s->function == shape_calls_middle;
    if (asks && flag_answer != right)
        printf("flags: answered %x instead of %x\n", flag_answer, right);
}

static void run(const char *name, void (*function)(void), uint64_t mask) {
    static _Alignas(64) unsigned char areas[3][AREA_BYTES];
    ordinary_area = areas[2];
    memcpy(ordinary_area + HEADER_AT, &(uint64_t){3}, 8);
    put16(ordinary_area + X87_CONTROL, 0x37f);
    put32(ordinary_area + MXCSR_AT, 0x1f80);
    for (unsigned long lap = 0; lap < laps; lap++) {
        struct state before = {
            .function = function, .mask = mask, .area = areas[0], .times = burst};
        fill(&before);
        struct state after = before;
        after.area = areas[1];
        memcpy(after.area, before.area, AREA_BYTES);
        pid_t stopped = burst > 1 ? stop_tracer() : 0;
        const int error = errno = 1 + (int)(random_word() & 127);
        registers_call(&before, &after);
        if (errno != error)
            printf("%s: errno %d became %d\n", name, error, errno);
        if (stopped)
            kill(stopped, SIGCONT);
        carry_laps += function == shape_tail_if_carry && (before.flags & CARRY);
        expect_effect(&before);
        compare(name, &before, &after);
        check_answer(&before);
    }
    printf("%s: done\n", name);
}

static void print_calls(const char *shape, unsigned long count) {
    printf("calls: shape_%s %lu\n", shape, count * burst);
}

int main(int argc, char **argv) {
    uint64_t mask = components();
    if (!mask)
        return 77;
    if (argc > 1) {
        burst = strtoul(argv[1], NULL, 10);
        laps = FEW_LAPS;
        setvbuf(stdout, NULL, _IOLBF, 0);
    }
#define RUN(shape, counted) run("shape_" #shape, shape_##shape, mask);
    SHAPES(RUN)
#define PRINT(shape, counted)                                                                      \
    if (counted)                                                                                   \
        print_calls(#shape, laps);
    SHAPES(PRINT)
    print_calls("gives_flags", 2 * laps);
    print_calls("gives_by_tail", laps);
    print_calls("passes_flags", laps);
    print_calls("return_many", laps);
    print_calls("plain", 7 * laps + carry_laps);
    return 0;
}
