/*
 * Calls functions of A32 and T32 with entries and exits of all kinds (test/arch/arm/module.S), with
 * every register filled. Prints all registers afterwards: general registers, flags with Q and GE,
 * vector registers, FPSCR, and the stack. Traced, it must print the same. Some functions leave
 * addresses in registers, so the program must not be position-independent.
 *
 * registers-arm BURST: calls each function BURST times in a row while its tracer is stopped, so
 * that the ring gets full.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "tracer.h"

enum { LAPS = 12, FEW_LAPS = 3, WORDS = 64, SP = 13, LR = 14 };

void a_leaf(void), a_one(void), a_move(void), a_pops(void), a_ends_if(void), a_jumps_if(void),
    a_pops_one(void), a_pops_aligned(void), a_old_frame(void), a_all(void), a_returns_if(void),
    a_pops_if(void), a_tail(void), a_tail_at_once(void), a_tail_if(void), a_pops_and_tails(void),
    a_tail_through(void), a_tail_through_if(void), a_selects(void), a_loops(void),
    a_loops_behind(void), a_literal(void), a_address(void), a_vector(void), a_calls(void),
    a_comes_twice(void), a_runs_on(void), a_runs_into(void), a_other(void), a_called(void),
    t_leaf(void), t_one(void), t_pops(void), t_pops_wide(void), t_pops_one(void),
    t_pops_aligned(void), t_returns_to_returns(void), t_returns_if(void), t_pops_if(void),
    t_gives_back_if(void), t_tail(void), t_tail_short(void), t_tail_if(void),
    t_tail_in_blocks(void), t_tail_if_zero(void), t_pops_and_tails(void), t_tail_through(void),
    t_selects(void), t_loops(void), t_loops_in_blocks(void), t_loops_by_number(void),
    t_literal(void), t_literal_in_block(void), t_adds_pc(void), t_address(void), t_calls(void),
    t_calls_at_once(void), t_comes_twice(void), t_block_at_once(void), t_other(void),
    t_called(void), t_other_next(void), t_other_near(void);

#define FUNCTION(name)                                                                             \
    { #name, name }
struct function {
    const char *name;
    void (*at)(void);
};
static const struct function functions[] = {FUNCTION(a_leaf),
                                            FUNCTION(a_one),
                                            FUNCTION(a_move),
                                            FUNCTION(a_pops),
                                            FUNCTION(a_ends_if),
                                            FUNCTION(a_jumps_if),
                                            FUNCTION(a_pops_one),
                                            FUNCTION(a_pops_aligned),
                                            FUNCTION(a_old_frame),
                                            FUNCTION(a_all),
                                            FUNCTION(a_returns_if),
                                            FUNCTION(a_pops_if),
                                            FUNCTION(a_tail),
                                            FUNCTION(a_tail_at_once),
                                            FUNCTION(a_tail_if),
                                            FUNCTION(a_pops_and_tails),
                                            FUNCTION(a_tail_through),
                                            FUNCTION(a_tail_through_if),
                                            FUNCTION(a_selects),
                                            FUNCTION(a_loops),
                                            FUNCTION(a_loops_behind),
                                            FUNCTION(a_literal),
                                            FUNCTION(a_address),
                                            FUNCTION(a_vector),
                                            FUNCTION(a_calls),
                                            FUNCTION(a_comes_twice),
                                            FUNCTION(a_runs_on),
                                            FUNCTION(t_leaf),
                                            FUNCTION(t_one),
                                            FUNCTION(t_pops),
                                            FUNCTION(t_pops_wide),
                                            FUNCTION(t_pops_one),
                                            FUNCTION(t_pops_aligned),
                                            FUNCTION(t_returns_to_returns),
                                            FUNCTION(t_returns_if),
                                            FUNCTION(t_pops_if),
                                            FUNCTION(t_gives_back_if),
                                            FUNCTION(t_tail),
                                            FUNCTION(t_tail_short),
                                            FUNCTION(t_tail_if),
                                            FUNCTION(t_tail_in_blocks),
                                            FUNCTION(t_tail_if_zero),
                                            FUNCTION(t_pops_and_tails),
                                            FUNCTION(t_tail_through),
                                            FUNCTION(t_selects),
                                            FUNCTION(t_loops),
                                            FUNCTION(t_loops_in_blocks),
                                            FUNCTION(t_loops_by_number),
                                            FUNCTION(t_literal),
                                            FUNCTION(t_literal_in_block),
                                            FUNCTION(t_adds_pc),
                                            FUNCTION(t_address),
                                            FUNCTION(t_calls),
                                            FUNCTION(t_calls_at_once),
                                            FUNCTION(t_comes_twice),
                                            FUNCTION(t_block_at_once)};
/* Functions whose tail calls and calls are not counted. */
static const struct function others[] = {
    FUNCTION(a_runs_into), FUNCTION(a_other),      FUNCTION(a_called),    FUNCTION(t_other),
    FUNCTION(t_called),    FUNCTION(t_other_next), FUNCTION(t_other_near)};
enum { COUNTED = sizeof functions / sizeof *functions, OTHERS = sizeof others / sizeof *others };

static unsigned long burst = 1;

static uint32_t random_word(void) {
    static uint64_t seed = 88172645463325252ull;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16);
}

/* STACK: the words above the stack pointer. The word right below it is the address to go to. */
static void fill(struct state *s, uint32_t stack[WORDS], void (*function)(void)) {
    memset(s, 0, sizeof *s);
    for (int i = 0; i < LR; i++)
        s->r[i] = random_word() % 4 ? random_word() : 0;
    for (int i = 0; i < 32; i++)
        s->d[i] = (uint64_t)random_word() << 32 | random_word();
    for (int i = 0; i < WORDS; i++)
        stack[i] = random_word();
    s->apsr = random_word() & STATE_APSR_BITS;
    s->fpscr = random_word() & STATE_FPSCR_BITS;
    s->r[8] = s->r[9] = 0; /* the functions count calls here */
    s->r[SP] = (uint32_t)(uintptr_t)stack;
    s->r[LR] = (uint32_t)(uintptr_t)arrive_0;
    stack[-1] = (uint32_t)(uintptr_t)function;
}

/* Adds all bytes to a checksum (FNV-1a). */
static uint64_t add_to(uint64_t sum, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    return sum;
}

static void print_state(const char *name, const struct state *s, uint64_t sum) {
    printf("%s:", name);
    for (int i = 0; i < 15; i++)
        printf(" %x", (unsigned)s->r[i]);
    printf(", flags %x, fpscr %x, sum of all %llx\n", (unsigned)s->apsr, (unsigned)s->fpscr,
           (unsigned long long)sum);
}

static void run(const struct function *f) {
    static _Alignas(8) uint32_t memory[16 * WORDS];
    uint32_t *stack = memory + 15 * WORDS;
    struct state in, out;
    uint64_t sum = 0xcbf29ce484222325;
    for (unsigned long lap = 0; lap < (burst > 1 ? FEW_LAPS : LAPS); lap++) {
        pid_t stopped = burst > 1 ? stop_tracer() : 0;
        const int error = errno = 1 + (int)(random_word() & 127);
        for (unsigned long i = 0; i < burst; i++) {
            fill(&in, stack, f->at);
            state_run(&in, &out);
            out.apsr &= STATE_APSR_BITS;
            sum = add_to(add_to(sum, &out, sizeof out), stack, WORDS * sizeof *stack);
        }
        if (errno != error)
            printf("%s: errno %d became %d\n", f->name, error, errno);
        if (stopped)
            kill(stopped, SIGCONT);
        print_state(f->name, &out, sum);
    }
}

int main(int argc, char **argv) {
    burst = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    if (burst > 1)
        setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < COUNTED; i++)
        run(&functions[i]);
    for (int i = 0; i < OTHERS; i++)
        run(&others[i]);
    for (int i = 0; i < COUNTED; i++)
        printf("calls: %s %lu\n", functions[i].name, burst * (burst > 1 ? FEW_LAPS : LAPS));
    return 0;
}
