/*
 * The agent makes the remainder of an interrupted system call (arch/remainder.h). The thread then
 * returns as from the call itself, with all registers and flags, in A32 and T32. This also holds
 * where the remainder fails, and where its result says that it can be made again.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/agent.h"
#include "arch/arm/stub.h"
#include "arch/arm_agent.h"
#include "arch/remainder.h"
#include "machine.h"

enum { AREA = GROUND + 0x20000, AGENT = AREA + LANES_BYTES, LANE = GROUND + 0x80000 };
enum { FROM = CODE_LOW + 0x400, TEXT = GROUND + 0x90000, WANTED = 100, DONE = 40 };

static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */

static struct remainder *remainder_of_lane(void) {
    return &((struct lane *)pointer(LANE))->remainder;
}

/* The state behind write(FD, TEXT, WANTED), which has done DONE bytes. */
static void fill(struct machine *m, int fd, uint32_t seed, bool t32) {
    machine_fill(m, seed);
    regs_set_pc(&m->regs, FROM);
    regs_set_state(&m->regs, t32, 0);
    m->regs.raw.uregs[ORIGINAL_R0] = (uint32_t)fd;
    m->regs.raw.uregs[0] = DONE;
    m->regs.raw.uregs[1] = TEXT;
    m->regs.raw.uregs[2] = WANTED;
    m->regs.raw.uregs[7] = SYS_write;
}

/* Turns REGS into those of the remainder of the call behind which they are. */
static void begin(struct machine *m, struct remainder *remainder) {
    const struct remainder_place place = {AGENT, LANE};
    struct remainder_call call;
    uint64_t args[CALL_ARGUMENTS];
    uint8_t vectors[32 * 8 + 4];
    static uint8_t frame[4096];
    size_t size;
    if (remainder_needed(&m->regs, &call) != REMAINDER_OF_WRITING)
        machine_fail("a call that has done a part", "has no remainder");
    memcpy(vectors, m->vectors, sizeof m->vectors);
    memcpy(vectors + sizeof m->vectors, &m->vector_control, sizeof m->vector_control);
    uint8_t *out = remainder_frame(remainder, &size);
    regs_signal_frame(frame, LANE + LANE_REMAINDER + REMAINDER_FRAME, &m->regs, 0,
                      &(struct regs_extended){vectors, sizeof vectors});
    memcpy(out, frame, size);
    remainder_arguments(&call, args);
    remainder_begin(&m->regs, &place, &call, args, remainder);
}

/* The thread returns by itself. If the remainder has not begun or is over, the tool takes it out,
 * with the result SUM. */
static void check_remainder(const char *what, int fd, uint32_t seed, uint32_t sum) {
    struct machine expected, in, out;
    struct remainder_call call;
    bool t32 = seed & 1;
    machine_clear();
    machine_end(FROM, t32);
    machine_write(AREA, arm_agent_bytes, arm_agent_size);
    fill(&expected, fd, seed, t32);
    in = expected;
    begin(&in, remainder_of_lane());
    expected.regs.raw.uregs[0] = sum;
    struct machine taken = in;
    machine_run(&in, &out);
    machine_compare(what, &expected, &out);
    if (!remainder_end(&taken.regs, AGENT, remainder_of_lane(), &call) || call.done != DONE)
        machine_fail(what, "seems done before it begins");
    taken.regs.raw.uregs[15] = (uint32_t)(AGENT + agent_remainder().made) + 4;
    if (remainder_end(&taken.regs, AGENT, remainder_of_lane(), &call) || call.done != sum)
        machine_fail(what, "does not end");
    machine_compare(what, &expected, &taken);
    taken.regs.raw.uregs[15] = (uint32_t)(AGENT + agent_remainder().made);
    taken.regs.raw.uregs[0] = 20;
    if (!remainder_end(&taken.regs, AGENT, remainder_of_lane(), &call) || call.done != DONE + 20)
        machine_fail(what, "has no remainder after an interruption");
}

int main(void) {
    int ends[2];
    char got[WANTED];
    machine_open();
    if (pipe(ends) < 0)
        return 1;
    memset(pointer(TEXT), 'x', DONE);
    memset(pointer(TEXT + DONE), 'y', WANTED - DONE);
    for (uint32_t seed = 0; seed < 8; seed++) {
        check_remainder("a rest", ends[1], seed, WANTED);
        if (read(ends[0], got, sizeof got) != WANTED - DONE || memchr(got, 'x', WANTED - DONE))
            machine_fail("a rest", "writes something else");
        check_remainder("a rest that fails", 1000, seed, DONE);
    }
    return machine_failures != 0;
}
