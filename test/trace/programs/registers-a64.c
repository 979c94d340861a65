/*
 * Calls functions without a common calling convention, with every register filled, and prints which
 * registers came back different. Registers are the general ones, the stack pointer and the memory
 * above it, flags, and vector registers. On processors with SVE they have their full width, with
 * predicates and FFR. Also compared: FPCR, FPSR, the thread pointer, and errno.
 *
 * registers-a64 BURST: calls each function BURST times in a row while its tracer is stopped, so
 * that the ring gets full.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "expect.h"
#include "tracer.h"

enum { GENERAL = 31, STACK_WORDS = 32, VECTOR_BYTES = 256, LAPS = 20, FEW_LAPS = 4 };
enum { X8 = 8, X9, X10, X11, X12, X16 = 16, X17, X19 = 19, X20, LINK = 30 };
enum { HAS_SVE = 1 << 22, HAS_PAC = 1 << 30, CARRY = 1 << 29, ZERO = 1 << 30 };
/* The bits of FPCR for rounding, flushing and NaNs, which trap nothing; the cumulative bits of
 * FPSR. */
enum { CONTROLS = 0x07c00000, CUMULATED = 0x0800009f };

/* The layout is known to registers-a64-code.S. */
struct state {
    uint64_t general[GENERAL], sp, flags, fpcr, fpsr, thread;
    uint64_t times;
    uint64_t scalable; /* the size of a vector register, if there is SVE */
    uint64_t stack[STACK_WORDS];
    unsigned char vectors[32 * VECTOR_BYTES]; /* consecutive, at their actual size */
    unsigned char predicates[16 * VECTOR_BYTES / 8], faults[VECTOR_BYTES / 8];
};
_Static_assert(offsetof(struct state, stack) == (size_t)38 * 8, "registers-a64-code.S: STACK");

void _registers_call(struct state *before, struct state *after, void (*thunk)(void)); /* NOLINT */
extern const uint64_t literal[2];

#define SHAPES(x)                                                                                  \
    x(plain) x(landing) x(signed) x(signed_tail) x(tail) x(tail_register) x(tail_if_carry)         \
        x(tail_if_zero) x(tail_if_bit) x(calls) x(calls_signed) x(takes_carry) x(reads_flags)      \
            x(reads_by_tail) x(loop_head) x(begins_with_place) x(begins_with_page)                 \
                x(begins_with_word) x(begins_with_half) x(begins_with_signed)                      \
                    x(begins_with_vector) x(begins_with_branch) x(links) x(returns_elsewhere)      \
                        x(exclusive) x(runs_on) x(pad) x(pad_before) x(comes_back)
#define DECLARE(shape)                                                                             \
    void shape_##shape(void);                                                                      \
    void _call_##shape(void); /* NOLINT */
SHAPES(DECLARE)
#define NUMBER(shape) IS_##shape,
enum { SHAPES(NUMBER) COUNT };

static unsigned long laps = LAPS, burst = 1, to_plain, to_landing;

/* The size of a vector register, found without instructions that need SVE. */
static uint64_t scalable_bytes(void) {
    uint64_t bytes = 0;
    if (getauxval(AT_HWCAP) & HAS_SVE)
        __asm__(".arch_extension sve\n\trdvl %0, #1" : "=r"(bytes));
    return bytes;
}

static uint64_t random_word(void) {
    static uint64_t seed = 88172645463325252ull;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void fill_bytes(void *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = random_word();
        memcpy((unsigned char *)bytes + i, &word, size - i < 8 ? size - i : 8);
    }
}

static void fill(struct state *s, int shape) {
    s->scalable = scalable_bytes();
    fill_bytes(s->general, sizeof s->general);
    fill_bytes(s->stack, sizeof s->stack);
    fill_bytes(s->vectors, sizeof s->vectors);
    fill_bytes(s->predicates, sizeof s->predicates);
    s->faults[0] = (unsigned char)(random_word() | 1); /* FFR is ones, then zeros */
    for (uint64_t i = 0, ones = random_word() % VECTOR_BYTES; i < VECTOR_BYTES; i++)
        s->faults[i / 8] = (unsigned char)((i % 8 ? s->faults[i / 8] : 0) | (i < ones) << i % 8);
    s->flags = random_word() & 0xf0000000;
    s->fpcr = random_word() & CONTROLS;
    s->fpsr = random_word() & CUMULATED;
    if (shape == IS_tail_register)
        s->general[X16] = (uintptr_t)shape_landing;
    if (random_word() & 1) /* for the branches that test it */
        s->general[X19] = 0;
}

/* Counts which way the conditional tail calls take. */
static void count_tails(const struct state *s, int shape) {
    uint64_t x19 = s->general[X19], x20 = s->general[X20];
    to_landing += shape == IS_tail_register;
    to_plain += shape == IS_tail_if_carry && s->flags & CARRY;
    to_plain += shape == IS_tail_if_zero && !x19;
    to_landing += shape == IS_tail_if_zero && x19 && (uint32_t)x19;
    to_plain += shape == IS_tail_if_bit && !(x19 >> 40 & 1);
    to_landing += shape == IS_tail_if_bit && x19 >> 40 & 1 && x20 >> 3 & 1;
}

/* Applies the changes that the shape makes on purpose to the expected state. */
static void expect_effect(struct state *s, int shape) {
    uint64_t *x = s->general;
    if (shape == IS_takes_carry)
        x[X10] = (s->flags & CARRY) != 0;
    if (shape == IS_reads_flags || shape == IS_reads_by_tail) {
        x[X10] = x[X8] > x[X9];
        x[X11] = (int64_t)x[X8] < (int64_t)x[X9];
        x[X12] = s->flags;
    }
    if (shape == IS_loop_head)
        x[X8] |= 1 << 3;
    if (shape == IS_begins_with_place || shape == IS_begins_with_page)
        x[X10] = (uintptr_t)literal;
    if (shape == IS_begins_with_word)
        x[X10] = literal[0];
    if (shape == IS_begins_with_half)
        x[X10] = literal[0] >> 32;
    if (shape == IS_begins_with_signed)
        x[X10] = (uint64_t)((int64_t)literal[0] >> 32);
    if (shape == IS_begins_with_vector) {
        size_t each = s->scalable ? s->scalable : 16;
        memset(s->vectors + 10 * each, 0, each);
        memcpy(s->vectors + 10 * each, literal, 16);
    }
    if (shape == IS_begins_with_branch)
        x[X10] = (s->flags & (CARRY | ZERO)) == CARRY;
    if (shape == IS_returns_elsewhere)
        x[X17] = x[LINK];
    if (shape == IS_exclusive)
        x[X10] = s->stack[0];
    if (shape == IS_exclusive || shape == IS_comes_back)
        x[X11] = 0;
    if (shape == IS_comes_back)
        x[X10] = x[X12] = 0;
}

static void compare_bytes(const char *shape, const char *what, const void *before,
                          const void *after, size_t size) {
    const unsigned char *a = before, *b = after;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i]) {
            printf("%s: %s differs at byte %zu\n", shape, what, i);
            return;
        }
}

static void compare(const char *shape, const struct state *before, const struct state *after) {
    size_t each = before->scalable ? before->scalable : 16;
    for (int i = 0; i < GENERAL; i++)
        if (before->general[i] != after->general[i])
            printf("%s: x%d %lx became %lx\n", shape, i, before->general[i], after->general[i]);
    if (before->sp != after->sp)
        printf("%s: sp %lx became %lx\n", shape, before->sp, after->sp);
    if (before->flags != after->flags)
        printf("%s: flags %lx became %lx\n", shape, before->flags, after->flags);
    if (before->fpcr != after->fpcr || before->fpsr != after->fpsr)
        printf("%s: fpcr %lx became %lx, fpsr %lx %lx\n", shape, before->fpcr, after->fpcr,
               before->fpsr, after->fpsr);
    if (before->thread != after->thread)
        printf("%s: the thread pointer became %lx\n", shape, after->thread);
    compare_bytes(shape, "the stack", before->stack, after->stack, sizeof before->stack);
    compare_bytes(shape, "a vector", before->vectors, after->vectors, 32 * each);
    if (before->scalable) {
        compare_bytes(shape, "a predicate", before->predicates, after->predicates, 2 * each);
        compare_bytes(shape, "FFR", before->faults, after->faults, each / 8);
    }
}

static void run(const char *name, int shape, void (*thunk)(void)) {
    static struct state before, after;
    for (unsigned long lap = 0; lap < laps; lap++) {
        fill(&before, shape);
        after = before;
        before.times = burst;
        count_tails(&before, shape);
        pid_t stopped = burst > 1 ? stop_tracer() : 0;
        const int error = errno = 1 + (int)(random_word() & 127);
        _registers_call(&before, &after, thunk);
        if (errno != error)
            printf("%s: errno %d became %d\n", name, error, errno);
        if (stopped)
            kill(stopped, SIGCONT);
        before.general[LINK] = (uintptr_t)thunk + 4;
        if (shape == IS_links) /* the address behind its call */
            before.general[X17] = after.general[X17];
        expect_effect(&before, shape);
        compare(name, &before, &after);
    }
    printf("%s: done\n", name);
}

static void print_calls(const char *shape, unsigned long count) {
    printf("calls: shape_%s %lu\n", shape, count * burst);
}

int main(int argc, char **argv) {
    if (!(getauxval(AT_HWCAP) & HAS_PAC))
        return 77;
    if (argc > 1) {
        burst = strtoul(argv[1], NULL, 10);
        laps = FEW_LAPS;
        setvbuf(stdout, NULL, _IOLBF, 0);
    }
#define RUN(shape) run("shape_" #shape, IS_##shape, _call_##shape);
    SHAPES(RUN)
#define PRINT(shape)                                                                               \
    if (IS_##shape > IS_signed)                                                                    \
        print_calls(#shape, laps);
    SHAPES(PRINT)
    print_calls("plain", 4 * laps + to_plain);
    print_calls("landing", laps + to_landing);
    print_calls("signed", 2 * laps);
    print_calls("returns_signed", laps);
    print_calls("gives_flags", 2 * laps);
    print_calls("gives_by_tail", laps);
    print_calls("begins_with_call", laps);
    print_calls("run_on_to", laps);
    print_calls("jumps_back", laps);
    return 0;
}
