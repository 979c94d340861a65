/*
 * Stubs of A64 that judge calls, with those of the events behind them. They change no register, no
 * flag, and no memory above the stack pointer. ../judge_cases.h has the cases.
 */
#include "arch/aarch64/aarch64.h"
#include "arch/aarch64/reading.h"
#include "arch/regs.h"

enum { RING = 4096 };
#include "stub_setup.h"

enum { REGISTERS = 31, SP_NUMBER = A64_SP, WORD_BYTES = 8, DONE = 0 };

static uint64_t faults, stop_at;
static unsigned stops;
static uint32_t stopped_word;

static uint64_t sp_of(const struct state *s) { return s->sp; }
static void set_register(struct state *s, unsigned number, uint64_t value) {
    if (number == SP_NUMBER)
        s->sp = value;
    else
        s->x[number] = value;
}

static void fresh_lane(void) { write_lane(0, RING, true); }

static size_t emit(uint8_t *out, struct stub_spec *spec, uint32_t offset) {
    spec->ring_bytes = RING;
    spec->agent = (int64_t)AGENT - STUB - offset;
    return a64_stub_emit(out, spec);
}
static uint32_t plain_bytes(uint8_t variant) { return a64_stub_size(variant, OVERFLOW_WAIT); }
static uint32_t judge_bytes(enum judged judged, const struct predicate *p) {
    return a64_stub_judge_bytes(judged, p);
}
static uint32_t capture_at(uint8_t variant) { return a64_stub_capture_at(variant, OVERFLOW_WAIT); }
static bool state_at(uint8_t variant, uint32_t offset, struct stub_state *ret) {
    return a64_stub_state(variant, OVERFLOW_WAIT, offset, ret);
}
static uint32_t read_switch(uint32_t at, uint8_t *ret_byte) {
    return a64_read_switch(pointer(STUB), at, ret_byte);
}

static void put_code(const uint8_t *bytes, uint32_t size) {
    ground_write_bytes(STUB, bytes, size);
    ground_write_jump(STUB + size, ground_arrival(DONE));
    ground_lead(STUB);
}
static void run_code(const struct state *in, struct state *out) { ground_run(in, out); }
static uint32_t insn_bytes(uint32_t offset) {
    (void)offset;
    return A64_BYTES;
}
static void break_at(uint32_t offset) { /* udf */
    stop_at = STUB + offset;
    memcpy(&stopped_word, pointer(stop_at), sizeof stopped_word);
    ground_write(stop_at, 0);
}

#include "../judge_cases.h"

/* As value_fault_pass() of the tool. */
static void pass_fault(int signal, siginfo_t *info, void *context) {
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    (void)signal, (void)info;
    if (m->pc - STUB >= code_bytes || m->regs[A64_BACK] - STUB >= code_bytes)
        abort();
    m->pc = m->regs[A64_BACK];
    faults++;
}

static void stop(int signal, siginfo_t *info, void *context) {
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    struct stub_state state;
    struct regs regs;
    (void)signal, (void)info;
    if (m->pc != stop_at || !stub_state_at((uint32_t)(stop_at - STUB), &state))
        abort();
    ground_write(stop_at, stopped_word);
    stops++;
    memcpy(regs.raw.regs, m->regs, sizeof regs.raw.regs);
    regs.raw.sp = m->sp;
    const struct site_stub *p = part_at((uint32_t)(stop_at - STUB));
    regs_leave_stub(&regs, p->variant, &state, pointer(m->sp));
    memcpy(m->regs, regs.raw.regs, sizeof regs.raw.regs);
    m->sp = regs.raw.sp;
    m->pc = STUB + p->at;
}

int main(void) {
    ground_open();
    catch (SIGSEGV, pass_fault);
    catch (SIGILL, stop);
    munmap(pointer(HOLE), PAGE);
    ground_write_bytes(LANES, a64_agent_bytes, a64_agent_size);
    check_judges(1000);
    check_wild(UINT64_C(1) << 52, false); /* no user's address */
    check_wild(UINT64_MAX - 100, false);
    check_wild(HOLE | UINT64_C(0x7f) << 56, true); /* with a tag */
    return ground_failures > 255 ? 255 : ground_failures;
}
