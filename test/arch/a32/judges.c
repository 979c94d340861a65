/*
 * Stubs of A32 and T32 that judge calls, with those of the events behind them. They change no
 * register, no flag, and no memory above the stack pointer. ../judge_cases.h has the cases.
 */
#include "arch/regs.h"
#include "stub_setup.h"

enum { HOLE = GROUND_DATA + 0x1000, PAGE = 0x1000, BACK_BIT = 1 };
enum { REGISTERS = 15, SP_NUMBER = ARM_SP, WORD_BYTES = 4 };

static uint64_t faults;
static uint32_t stop_at;
static unsigned stops;
static uint8_t stopped_bytes[4];

static uint64_t sp_of(const struct state *s) { return s->r[ARM_SP]; }
static void set_register(struct state *s, unsigned number, uint64_t value) {
    s->r[number] = (uint32_t)value;
}
static void fresh_lane(void) { write_lane(0, RING, 0); }

static size_t emit(uint8_t *out, struct stub_spec *spec, uint32_t offset) {
    spec->ring_bytes = RING;
    spec->agent = (int64_t)AGENT - stub_at - offset;
    return t32 ? t32_stub_emit(out, spec) : a32_stub_emit(out, spec);
}
static uint32_t plain_bytes(uint8_t variant) {
    return (t32 ? t32_stub_size : a32_stub_size)(variant, OVERFLOW_WAIT);
}
static uint32_t judge_bytes(enum judged judged, const struct predicate *p) {
    return (t32 ? t32_stub_judge_bytes : a32_stub_judge_bytes)(judged, p);
}
static uint32_t capture_at(uint8_t variant) {
    return (t32 ? t32_stub_capture_at : a32_stub_capture_at)(variant, OVERFLOW_WAIT);
}
static bool state_at(uint8_t variant, uint32_t offset, struct stub_state *ret) {
    return (t32 ? t32_stub_state : a32_stub_state)(variant, OVERFLOW_WAIT, offset, ret);
}
static uint32_t read_switch(uint32_t at, uint8_t *ret_byte) {
    return (t32 ? t32_stub_read_switch : a32_stub_read_switch)(pointer(stub_at), at, ret_byte);
}

static void put_code(const uint8_t *bytes, uint32_t size) {
    ground_write_bytes(stub_at, bytes, size);
    write_end(stub_at + size);
}
static void run_code(const struct state *in, struct state *out) {
    ground_run(stub_at | t32, in, out);
}
static uint32_t insn_bytes(uint32_t offset) {
    const struct arch *arch = t32 ? &arch_t32 : &arch_a32;
    struct insn in;
    if (!arch->decode(pointer(stub_at + offset), 4, stub_at + offset, &in, NULL))
        abort();
    return in.size;
}
static void break_at(uint32_t offset) {
    static const uint8_t undefined[2][4] = {{0xf0, 0x00, 0xf0, 0xe7}, {0xfe, 0xde}};
    stop_at = stub_at + offset;
    memcpy(stopped_bytes, pointer(stop_at), sizeof stopped_bytes);
    ground_write_bytes(stop_at, undefined[t32], t32 ? 2 : 4);
}

#include "../judge_cases.h"

/* As value_fault_pass() of the tool. */
static void pass_fault(int signal, siginfo_t *info, void *context) {
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    const uint32_t back = (uint32_t)m->arm_r0 & ~(uint32_t)BACK_BIT;
    (void)signal, (void)info;
    if (m->arm_pc - stub_at >= code_bytes || back - stub_at >= code_bytes ||
        (m->arm_r0 & BACK_BIT) != t32)
        abort();
    m->arm_pc = back;
    m->arm_cpsr = (m->arm_cpsr & ~0x0600fc20UL) | (t32 ? 0x20 : 0);
    faults++;
}

static void stop(int sig, siginfo_t *info, void *frame) {
    mcontext_t *m = &((ucontext_t *)frame)->uc_mcontext;
    unsigned long *const words = &m->arm_r0; /* up to arm_cpsr: 17 words */
    struct stub_state state;
    struct regs regs;
    uint64_t saved[STUB_MOST_PUSHED];
    if (m->arm_pc != stop_at) {
        read_for(sig, info, frame);
        return;
    }
    const struct site_stub *p = part_at(stop_at - stub_at);
    if (!stub_state_at(stop_at - stub_at, &state))
        abort();
    ground_write_bytes(stop_at, stopped_bytes, sizeof stopped_bytes);
    stops++;
    memcpy(regs.raw.uregs, words, 17 * sizeof *words);
    for (int i = 0; i < state.pushed; i++)
        saved[i] = ((uint32_t *)pointer((uint32_t)m->arm_sp))[i];
    regs_leave_stub(&regs, p->variant, &state, saved);
    regs_set_pc(&regs, stub_at + p->at);
    regs_set_state(&regs, t32, 0);
    memcpy(words, regs.raw.uregs, 17 * sizeof *words);
    stop_at = 0; /* the counter may be read there, next */
}

static void check_all(void) {
    check_judges(600);
    check_wild(0xffff0fe0, false); /* the last 64 KiB */
    check_wild(UINT32_MAX - 100, false);
    check_wild(0xfffeff00, true);
}

int main(void) {
    catch (SIGILL, stop);
    catch (SIGSEGV, pass_fault);
    ground_open();
    munmap(pointer(HOLE), PAGE);
    write_agent(0);
    check_all();
    t32 = true;
    check_all();
    stub_at += 2;
    check_all();
    printf("%d failures of judges\n", ground_failures);
    return ground_failures != 0;
}
