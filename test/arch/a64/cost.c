/*
 * One slice of a stack as in real programs, or one event, for bench/slices.py, which counts the
 * instructions. Used as a32/cost.c; STATE is ignored. The status is 1 if anything else was
 * recorded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/aarch64/stub.h"
#include "arch/arm_agent.h"
#include "code_memory.h"

enum { LANES = GROUND + 0x20000, AGENT = LANES + LANES_BYTES, STUB = AGENT + 0x12340 };
enum { LANE = GROUND + 0x300000, RING = 4096, DONE = 0, WORD = 8 };

static struct control control;

static void *pointer(uint64_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */

static void write_lane(uint32_t words) {
    struct lane_key *keys = pointer(LANES);
    uint64_t self;
    __asm__("mrs %0, tpidr_el0" : "=r"(self));
    keys[self >> LANES_SHIFT & ((1U << LANES_BITS) - 1)] = (struct lane_key){self, LANE};
    struct lane *lane = pointer(LANE);
    lane->limit = RING;
    lane->control = (uintptr_t)&control;
    lane->slice_bytes = words * WORD;
    lane->stack_bytes = INT64_MAX;
    lane->ring_mask = RING - 1;
}

/* Writes a stub and its agent; returns the end of the code. */
static uint64_t write_code(uint8_t variant) {
    uint8_t code[STUB_MAX_BYTES];
    const struct stub_spec spec = {
        .variant = variant, .ring_bytes = RING, .agent = (int64_t)AGENT - STUB};
    size_t size = a64_stub_emit(code, &spec);
    ground_write_bytes(LANES, a64_agent_bytes, a64_agent_size);
    ground_write_bytes(STUB, code, size);
    ground_write_jump(STUB + size, ground_arrival(DONE));
    ground_lead(STUB);
    return STUB + size;
}

/* A stack like that of a program: zeros, and at its start KEPT words that may be addresses. */
static void fill_stack(uint32_t words, uint32_t kept) {
    uint64_t *stack = pointer(GROUND_STACK);
    memset(stack, 0, words * sizeof *stack);
    for (uint32_t i = 0; i < kept; i++)
        stack[i] = 0x400000 + i * (uint64_t)WORD;
}

/* Runs the code; returns how many bytes it wrote into the ring. */
static uint64_t run_once(uint32_t words, uint32_t kept) {
    struct state in, out;
    ground_fill(&in, 1);
    write_lane(words);
    fill_stack(words, kept);
    ground_run(&in, &out);
    return out.arrived == DONE ? ((const struct lane *)pointer(LANE))->head : 0;
}

static int run_event(void) {
    write_code(0);
    return run_once(0, 0) != EVENT_BYTES;
}

static int run_slice(uint32_t words, uint32_t kept) {
    write_code(STUB_SLICE);
    return run_once(words, kept) != (SLICE_HEAD_SLOTS + kept) * (uint64_t)EVENT_BYTES;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4)
        return 2;
    ground_open();
    if (argc == 4)
        return run_slice((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
    if (argc == 3)
        return run_event();
    printf("%#x+%#x\n", (unsigned)AGENT, (unsigned)(write_code(STUB_SLICE) - AGENT));
    printf("%#x+%#x\n", (unsigned)AGENT, (unsigned)(write_code(0) - AGENT));
    return 0;
}
