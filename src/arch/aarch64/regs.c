/*
 * Registers of stopped AArch64 threads. Facts: AAPCS64; Linux arch/arm64/kernel/signal.c (restart
 * of system calls, signal frames) and arch/arm64/include/uapi/asm/sigcontext.h.
 */
#include "arch/regs.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/aarch64/aarch64.h"
#include "arch/aarch64/stub.h"
#include "arch/arm_agent.h"
#include "arch/interrupted.h"
#include "arch/remainder.h"
#include "wire/lane_lookup.h"

enum { CALL_NUMBER = 8, SVC = 0xd4000001 };
enum { BTYPE = 3 << 10 }; /* of pstate */

taddr_t regs_pc(const struct regs *regs) { return regs->raw.pc; }

/* BTYPE says that the last instruction was an indirect branch (of the agent, for example). On
 * guarded pages only some instructions may follow one. */
void regs_set_pc(struct regs *regs, taddr_t pc) {
    regs->raw.pc = pc;
    regs->raw.pstate &= ~(uint64_t)BTYPE;
}
taddr_t regs_sp(const struct regs *regs) { return regs->raw.sp; }
void regs_set_sp(struct regs *regs, taddr_t sp) { regs->raw.sp = sp; }

void regs_set_slice(struct regs *regs, const uint64_t values[SLICE_REGISTERS], taddr_t sp,
                    uint64_t top) {
    (void)top;
    memcpy(&regs->raw.regs[A64_LR + 1 - SLICE_REGISTERS], values, SLICE_REGISTERS * sizeof *values);
    regs->raw.pc = regs->raw.regs[A64_LR];
    regs->raw.sp = sp;
}

void regs_dwarf(const struct regs *regs, uint64_t ret[REGS_DWARF_COUNT]) {
    memcpy(ret, regs->raw.regs, sizeof regs->raw.regs);
    ret[REGS_DWARF_SP] = regs->raw.sp;
    ret[REGS_DWARF_PC] = regs->raw.pc;
}

bool regs_link(const uint64_t registers[REGS_DWARF_COUNT], uint64_t *ret) {
    *ret = registers[A64_LR];
    return true;
}

/* A signature is above the bits of an address. */
taddr_t regs_plain_address(uint64_t kept) { return kept & ((UINT64_C(1) << 48) - 1); }
taddr_t regs_kept_address(uint64_t kept) { return regs_plain_address(kept); }

/* ---- system calls ---- */

void regs_set_syscall(struct regs *regs, taddr_t code, taddr_t sp, long number,
                      const uint64_t args[6]) {
    struct user_regs_struct *r = &regs->raw;
    regs_set_pc(regs, code);
    r->sp = sp;
    r->regs[CALL_NUMBER] = (uint64_t)number;
    memcpy(r->regs, args, 6 * sizeof *args);
}

int64_t regs_syscall_result(const struct regs *regs) { return (int64_t)regs->raw.regs[0]; }
void regs_set_syscall_result(struct regs *regs, int64_t result, const uint64_t args[6]) {
    memcpy(regs->raw.regs, args, 6 * sizeof *args);
    regs->raw.regs[0] = (uint64_t)result;
}

/* The result replaces the first argument only when the call returns. */
bool regs_call(const struct regs *regs, long *ret_number, uint64_t *ret_argument) {
    *ret_number = (long)regs->raw.regs[CALL_NUMBER];
    *ret_argument = regs->raw.regs[0];
    return *ret_number >= 0;
}

bool regs_past_call(const struct regs *regs, struct past_call *ret) {
    *ret = (struct past_call){.number = (long)regs->raw.regs[CALL_NUMBER],
                              .result = (int64_t)regs->raw.regs[0]};
    memcpy(ret->args, regs->raw.regs, sizeof ret->args);
    return ret->number >= 0;
}

/* At a syscall-entry-stop the first argument's register is unchanged. */
void regs_postpone_syscall(struct regs *regs) { regs->raw.pc -= A64_BYTES; }

/* ERESTART* (Linux include/linux/errno.h), which programs never see. */
bool regs_would_restart(const struct regs *regs) { return regs->raw.regs[0] + 516 <= 516 - 512; }

bool regs_is_interrupted(const struct regs *regs) {
    const struct user_regs_struct *r = &regs->raw;
    struct past_call past;
    if (regs_past_call(regs, &past) && call_can_be_repeated(&past))
        return true;
    return is_interrupted_by_stops(r->regs[CALL_NUMBER], r->regs[1]) &&
           (int64_t)r->regs[0] == -4 /* EINTR */;
}

void regs_call_again(struct regs *regs, uint64_t argument) {
    regs->raw.regs[0] = argument;
    regs->raw.pc -= A64_BYTES;
}

/* ---- the agent and stubs ---- */

/* Whether the four instructions at FROM have released the slot already. At the fourth they have, if
 * the third, a store-exclusive, has succeeded. */
static bool is_slot_free(const struct regs *regs, uint64_t offset, uint64_t from) {
    return offset == from + 3 * (uint64_t)A64_BYTES && (uint32_t)regs->raw.regs[2] == 0;
}

enum agent_place regs_full_ring_place(const struct regs *regs, uint64_t offset) {
    const struct arm_agent_labels at = arm_agent_labels();
    if (offset >= at.drop_counted)
        return AGENT_DROPPED;
    if (offset == LANES_BYTES + AGENT_ENTRY_WAIT || offset == LANES_BYTES + AGENT_ENTRY_DROP)
        return AGENT_RESERVED;
    bool waits = offset >= at.wait && offset < at.wait_released;
    bool drops = offset >= at.drop && offset < at.drop_released;
    bool reserved = (waits && !is_slot_free(regs, offset, at.wait)) ||
                    (drops && !is_slot_free(regs, offset, at.drop));
    return reserved ? AGENT_RESERVED : AGENT_RELEASED;
}

taddr_t regs_agent_return(const struct regs *regs, taddr_t area, bool *ret_other) {
    (void)area;
    *ret_other = false;
    return regs->raw.regs[0];
}

void regs_arguments(const struct regs *regs, uint64_t ret[REGS_ARGUMENTS]) {
    for (int i = 0; i < REGS_ARGUMENTS; i++)
        ret[i] = regs->raw.regs[i];
}

/* Unsure behind the store-exclusive: x0 is its status. */
bool regs_slot_is_reserved(const struct regs *regs) { return (uint32_t)regs->raw.regs[0] == 0; }

bool regs_has_lane(const struct regs *regs, taddr_t at) {
    return regs->raw.regs[3] - at <= UINT32_MAX; /* it may point into the ring by now */
}

bool regs_return_address(const struct regs *regs, taddr_t *ret) {
    *ret = regs_plain_address(regs->raw.regs[A64_LR]);
    return true;
}

taddr_t regs_stub_value(const struct regs *regs, uint8_t variant, uint32_t site) {
    if (variant & STUB_GO_FIRST)
        return regs->raw.regs[0];
    bool control = (site & 3) == EVENT_CONTROL;
    return variant & STUB_GO_SECOND ? regs->raw.regs[1] : regs->raw.sp + control;
}

void regs_leave_stub(struct regs *regs, uint8_t variant, const struct stub_state *state,
                     const uint64_t *words) {
    struct user_regs_struct *r = &regs->raw;
    if (state->displaced)
        r->regs[A64_LR] = r->regs[1];
    memcpy(r->regs, words, state->pushed * sizeof *words);
    r->sp += state->pushed ? a64_stub_frame(variant) : 0;
}

bool regs_is_stub_code(bool other, const uint8_t *code, size_t size) {
    (void)other;
    return a64_is_stub_code(code, size);
}
bool regs_find_stub_end(bool other, const uint8_t *code, size_t size, size_t *ret) {
    (void)other;
    return a64_find_stub_end(code, size, ret);
}

/* ---- signal frames ---- */

/* struct rt_sigframe, arch/arm64/kernel/signal.c */
struct signal_frame {
    uint8_t info[128];
    uint64_t flags, link;
    stack_t stack;
    uint64_t sigmask;
    uint8_t more_signals[1024 / 8 - sizeof(uint64_t)];
    struct {
        uint64_t fault_address, regs[31], sp, pc, pstate;
        _Alignas(16) uint8_t records[4096];
    } mc;
};
_Static_assert(offsetof(struct signal_frame, mc.sp) - offsetof(struct signal_frame, stack) ==
                   REGS_CONTEXT_STACK * sizeof(regs_word_t),
               "words from struct sigaltstack to the context words");
struct record { /* struct _aarch64_ctx */
    uint32_t magic, size;
};
struct vectors { /* struct fpsimd_context */
    struct record head;
    uint32_t status, control;
    uint8_t registers[32 * 16];
};
enum { VECTORS_MAGIC = 0x46508001 }; /* FPSIMD_MAGIC */
struct extended {                    /* struct user_fpsimd_state */
    uint8_t registers[32 * 16];
    uint32_t status, control;
};

bool regs_is_signal_return(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES], size_t *ret_frame) {
    enum { LOAD_NUMBER = 0xd2800008 | SYS_rt_sigreturn << 5 };
    *ret_frame = 0;
    return a64_word(bytes) == LOAD_NUMBER && a64_word(bytes + A64_BYTES) == SVC;
}

/* Not needed: call-frame information marks the outermost frame. */
bool regs_is_thread_end(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES]) {
    (void)bytes;
    return false;
}

taddr_t regs_in_state(taddr_t pc, uint64_t state) {
    (void)state;
    return pc;
}

size_t regs_signal_offset(int number) {
    if (number == REGS_DWARF_SP)
        return offsetof(struct signal_frame, mc.sp);
    if (number == REGS_DWARF_PC)
        return offsetof(struct signal_frame, mc.pc);
    return offsetof(struct signal_frame, mc.regs) + (size_t)number * sizeof(uint64_t);
}

size_t regs_signal_frame_size(size_t extended_size) {
    (void)extended_size;
    return sizeof(struct signal_frame);
}

void regs_signal_frame(uint8_t *out, taddr_t at, const struct regs *regs, uint64_t signal_mask,
                       const struct regs_extended *extended) {
    struct signal_frame f = {.sigmask = signal_mask};
    struct vectors v = {.head = {VECTORS_MAGIC, sizeof v}};
    struct extended e = {.status = 0};
    (void)at;
    /* f.stack stays zero: an impossible size, so the kernel keeps the thread's own stack. */
    memcpy(f.mc.regs, regs->raw.regs, sizeof f.mc.regs);
    f.mc.sp = regs->raw.sp;
    f.mc.pc = regs->raw.pc;
    f.mc.pstate = regs->raw.pstate;
    memcpy(&e, extended->bytes, extended->size < sizeof e ? extended->size : sizeof e);
    v.status = e.status;
    v.control = e.control;
    memcpy(v.registers, e.registers, sizeof v.registers);
    memcpy(f.mc.records, &v, sizeof v);
    memcpy(out, &f, sizeof f);
}

_Static_assert(offsetof(struct signal_frame, mc.regs) == REMAINDER_FRAME_RESULT, "");
_Static_assert(offsetof(struct signal_frame, mc.records) + sizeof(struct vectors) +
                       sizeof(struct record) <=
                   REMAINDER_FRAME_BYTES,
               "room for the last record, of size 0");

void regs_from_frame(const uint8_t *frame, struct regs *ret) {
    struct signal_frame f;
    memcpy(&f, frame, offsetof(struct signal_frame, mc.records));
    memcpy(ret->raw.regs, f.mc.regs, sizeof f.mc.regs);
    ret->raw.sp = f.mc.sp;
    ret->raw.pc = f.mc.pc;
    ret->raw.pstate = f.mc.pstate;
}

enum { REMAINDER_LANE = 9, REMAINDER_ARGUMENT = 10 };
void regs_set_remainder_lane(struct regs *regs, taddr_t lane) {
    regs->raw.regs[REMAINDER_LANE] = lane;
    regs->raw.regs[REMAINDER_ARGUMENT] = regs->raw.regs[0];
}
taddr_t regs_remainder_lane(const struct regs *regs) { return regs->raw.regs[REMAINDER_LANE]; }

/* The words are sp, pc, pstate, an unused word, and the head of the first record. */
bool regs_look_like_context(const regs_word_t words[REGS_CONTEXT_WORDS], struct regs_context *ret) {
    const uint64_t head = (uint64_t)sizeof(struct vectors) << 32 | (uint32_t)VECTORS_MAGIC;
    if (words[4] != head || words[1] % A64_BYTES)
        return false;
    *ret = (struct regs_context){words[1], words[0], 0};
    return true;
}
