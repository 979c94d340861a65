/*
 * One slice of a stack as in real programs, or one event, for bench/slices.py, which counts the
 * instructions.
 *
 *     cost STATE                 prints where the code of a slice is, and that of an event, in the
 *                                form of qemu's -dfilter
 *     cost STATE WORDS KEPT      makes a slice of WORDS, of which KEPT look like addresses
 *     cost STATE event           writes an event
 *
 * STATE is a32 or t32. The status is 1 if anything else was recorded.
 */
#include "stub_setup.h"

/* A stack like that of a program: zeros, and at its start KEPT words that may be addresses. */
static void fill_stack(uint32_t words, uint32_t kept) {
    uint32_t *stack = pointer(GROUND_STACK);
    memset(stack, 0, words * sizeof *stack);
    for (uint32_t i = 0; i < kept; i++)
        stack[i] = 0x400000 + i * ARM_WORD;
}

static uint32_t write_code(uint8_t variant) {
    return STUB + (uint32_t)write_stub((struct stub_spec){.variant = variant});
}

/* Runs the code; returns how many bytes it wrote into the ring. */
static uint64_t run_once(uint32_t words, uint32_t kept) {
    struct state in, out;
    ground_fill(&in, 1);
    in.r[ARM_LR] = CALLER;
    write_lane(0, RING, 0);
    lane()->slice_bytes = words * ARM_WORD;
    lane()->stack_bytes = INT32_MAX;
    lane()->ring_mask = RING - 1;
    fill_stack(words, kept);
    ground_run(stub_at | t32, &in, &out);
    return out.arrived == DONE ? lane()->head : 0;
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
    t32 = argv[1][0] == 't';
    catch (SIGILL, read_for);
    ground_open();
    write_agent(0);
    if (argc == 4)
        return run_slice((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
    if (argc == 3)
        return run_event();
    printf("%#x+%#x\n", AGENT, write_code(STUB_SLICE) - AGENT);
    printf("%#x+%#x\n", AGENT, write_code(0) - AGENT);
    return 0;
}
