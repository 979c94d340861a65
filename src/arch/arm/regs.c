/*
 * Registers of stopped threads of 32-bit Arm. Facts: AAPCS32; Linux arch/arm/kernel/signal.c
 * (restart of system calls, signal frames), entry-common.S and ptrace.c, and
 * arch/arm/include/asm/ucontext.h.
 */
#include "arch/regs.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/arm/a32.h"
#include "arch/arm/psr.h"
#include "arch/arm/stub.h"
#include "arch/arm/t32.h"
#include "arch/arm_agent.h"
#include "arch/interrupted.h"
#include "arch/remainder.h"

enum { CALL_NUMBER = 7, ARGUMENTS = 6 };

static uint32_t psr_of(const struct regs *regs) { return (uint32_t)regs->raw.uregs[PSR]; }

taddr_t regs_pc(const struct regs *regs) { return regs->raw.uregs[ARM_PC]; }
void regs_set_pc(struct regs *regs, taddr_t pc) { regs->raw.uregs[ARM_PC] = (uint32_t)pc; }
taddr_t regs_sp(const struct regs *regs) { return regs->raw.uregs[ARM_SP]; }
void regs_set_sp(struct regs *regs, taddr_t sp) { regs->raw.uregs[ARM_SP] = (uint32_t)sp; }

/* arch_host() is arch_a32. */
bool regs_is_other(const struct regs *regs) { return psr_is_t32(psr_of(regs)); }

taddr_t regs_code_pointer(const struct regs *regs, taddr_t addr) {
    return addr | regs_is_other(regs);
}

void regs_set_slice(struct regs *regs, const uint64_t values[SLICE_REGISTERS], taddr_t sp,
                    uint64_t top) {
    enum { FIRST = 4, LAST = 11 };
    uint32_t back = (uint32_t)values[LAST + 1 - FIRST];
    (void)top;
    for (int i = FIRST; i <= LAST; i++)
        regs->raw.uregs[i] = (uint32_t)values[i - FIRST];
    regs->raw.uregs[ARM_LR] = back;
    regs->raw.uregs[ARM_PC] = back & ~UINT32_C(1);
    regs->raw.uregs[ARM_SP] = (uint32_t)sp;
    regs->raw.uregs[PSR] = psr_with_state(psr_of(regs), back & 1);
}

void regs_dwarf(const struct regs *regs, uint64_t ret[REGS_DWARF_COUNT]) {
    for (int i = 0; i < REGS_DWARF_COUNT; i++)
        ret[i] = regs->raw.uregs[i];
    ret[ARM_PC] = regs_code_pointer(regs, ret[ARM_PC]);
}

bool regs_link(const uint64_t registers[REGS_DWARF_COUNT], uint64_t *ret) {
    *ret = registers[ARM_LR];
    return true;
}

taddr_t regs_kept_address(uint64_t kept) { return (uint32_t)kept; }
taddr_t regs_plain_address(uint64_t kept) { return (uint32_t)kept & ~UINT32_C(1); }

/* ---- system calls ---- */

static void set_arguments(struct user_regs *r, const uint64_t args[ARGUMENTS]) {
    for (int i = 0; i < ARGUMENTS; i++)
        r->uregs[i] = (uint32_t)args[i];
}

/* CODE is `svc #0` of A32. */
void regs_set_syscall(struct regs *regs, taddr_t code, taddr_t sp, long number,
                      const uint64_t args[6]) {
    struct user_regs *r = &regs->raw;
    r->uregs[ARM_PC] = (uint32_t)code;
    r->uregs[PSR] = psr_with_block(psr_with_state(psr_of(regs), false), 0);
    r->uregs[ARM_SP] = (uint32_t)sp;
    r->uregs[CALL_NUMBER] = (uint32_t)number;
    set_arguments(r, args);
}

int64_t regs_syscall_result(const struct regs *regs) {
    enum { MOST_ERRORS = 4095 };
    uint32_t result = (uint32_t)regs->raw.uregs[0];
    return result >= -(uint32_t)MOST_ERRORS ? (int32_t)result : (int64_t)result;
}

void regs_set_syscall_result(struct regs *regs, int64_t result, const uint64_t args[6]) {
    set_arguments(&regs->raw, args);
    regs->raw.uregs[0] = (uint32_t)result;
}

bool regs_call(const struct regs *regs, long *ret_number, uint64_t *ret_argument) {
    *ret_number = (long)regs->raw.uregs[CALL_NUMBER];
    *ret_argument = regs->raw.uregs[ORIGINAL_R0];
    return *ret_number >= 0;
}

bool regs_past_call(const struct regs *regs, struct past_call *ret) {
    const struct user_regs *r = &regs->raw;
    *ret = (struct past_call){.number = (long)r->uregs[CALL_NUMBER],
                              .args = {r->uregs[ORIGINAL_R0]},
                              .result = (int32_t)r->uregs[0]};
    for (int i = 1; i < ARGUMENTS; i++)
        ret->args[i] = r->uregs[i];
    return ret->number >= 0 && (int32_t)r->uregs[ORIGINAL_R0] != -1;
}

static void step_back(struct regs *regs) {
    regs->raw.uregs[ARM_PC] -= psr_is_t32(psr_of(regs)) ? T32_HALF : A32_BYTES;
}

/* At a syscall-entry-stop the first argument's register is unchanged. */
void regs_postpone_syscall(struct regs *regs) { step_back(regs); }

/* ERESTART* (Linux include/linux/errno.h), which programs never see. */
bool regs_would_restart(const struct regs *regs) {
    return (uint32_t)regs->raw.uregs[0] + 516 <= 516 - 512;
}

bool regs_is_interrupted(const struct regs *regs) {
    const struct user_regs *r = &regs->raw;
    struct past_call past;
    if (regs_past_call(regs, &past) && call_can_be_repeated(&past))
        return true;
    return is_interrupted_by_stops(r->uregs[CALL_NUMBER], r->uregs[1]) &&
           (int32_t)r->uregs[0] == -4 /* EINTR */ && (int32_t)r->uregs[ORIGINAL_R0] != -1;
}

void regs_call_again(struct regs *regs) {
    regs->raw.uregs[0] = regs->raw.uregs[ORIGINAL_R0];
    step_back(regs);
}

/* ---- the agent and stubs ---- */

enum agent_place regs_full_ring_place(const struct regs *regs, uint64_t offset) {
    const struct arm_agent_labels at = arm_agent_labels();
    bool counts = offset >= at.drop_counting && offset < at.drop_counted;
    bool counted = offset >= at.drop_counted || (counts && !regs->raw.uregs[1]);
    return counted ? AGENT_DROPPED : AGENT_RELEASED;
}

taddr_t regs_agent_return(const struct regs *regs, taddr_t area, bool *ret_other) {
    (void)area;
    *ret_other = regs->raw.uregs[0] & 1;
    return regs->raw.uregs[0] & ~UINT32_C(1);
}

void regs_arguments(const struct regs *regs, uint64_t ret[REGS_ARGUMENTS]) {
    for (int i = 0; i < REGS_ARGUMENTS; i++)
        ret[i] = (uint32_t)regs->raw.uregs[i];
}

/* Unsure behind the store-exclusive: r0 is its status. */
bool regs_slot_is_reserved(const struct regs *regs) { return !regs->raw.uregs[0]; }

bool regs_has_lane(const struct regs *regs, taddr_t at) {
    enum { LANE = 6 };
    return regs->raw.uregs[LANE] == at;
}

bool regs_return_address(const struct regs *regs, taddr_t *ret) {
    *ret = regs_plain_address(regs->raw.uregs[ARM_LR]);
    return true;
}

taddr_t regs_stub_value(const struct regs *regs, uint8_t variant, uint32_t site) {
    (void)variant;
    return regs->raw.uregs[ARM_SP] + ((site & 3) == EVENT_CONTROL);
}

void regs_leave_stub(struct regs *regs, uint8_t variant, const struct stub_state *state,
                     const uint64_t *words) {
    struct user_regs *r = &regs->raw;
    (void)variant;
    if (state->displaced)
        r->uregs[PSR] = (psr_of(regs) & ~PSR_NZCVQ) | (r->uregs[ARM_STUB_FLAGS] & PSR_NZCVQ);
    for (int i = 0; i < state->pushed; i++)
        r->uregs[i] = (uint32_t)words[i];
    r->uregs[ARM_SP] +=
        state->pushed * (uint32_t)ARM_WORD + (state->skipped ? (uint32_t)ARM_LENGTHS_BYTES : 0);
}

bool regs_is_stub_code(bool other, const uint8_t *code, size_t size) {
    return arm_is_stub_code(other, code, size);
}
bool regs_find_stub_end(bool other, const uint8_t *code, size_t size, size_t *ret) {
    return arm_find_stub_end(other, code, size, ret);
}

void regs_set_state(struct regs *regs, bool other, uint8_t it) {
    regs->raw.uregs[PSR] = psr_with_block(psr_with_state(psr_of(regs), other), it);
}

void regs_pop(struct regs *regs, uint8_t number, uint64_t value) {
    regs->raw.uregs[number] = (uint32_t)value;
    regs->raw.uregs[ARM_SP] += (uint32_t)ARM_WORD;
}

/* ---- signal frames ---- */

/* struct ucontext. struct rt_sigframe has a siginfo_t before it; handlers with SA_SIGINFO get this
 * frame and return by rt_sigreturn, others by sigreturn. */
struct context {
    uint32_t flags, link;
    struct {
        uint32_t base, flags, size;
    } stack;
    uint32_t trap, error, oldmask, regs[16], psr, fault_address;
    uint32_t sigmask[2], more_signals[30];
    _Alignas(8) uint32_t records[128];
};
_Static_assert(offsetof(struct context, regs[ARM_SP]) - offsetof(struct context, stack) ==
                   REGS_CONTEXT_STACK * sizeof(regs_word_t),
               "words from struct sigaltstack to the context words");
struct signal_frame {
    uint8_t info[128];
    struct context uc;
    uint32_t code[4];
};
struct vectors { /* struct vfp_sigframe */
    uint32_t magic, size;
    uint64_t registers[32];
    uint32_t control, padding, exception, instructions[2];
    uint32_t to_eight;
};
_Static_assert(sizeof(struct vectors) == 288, "linux/arch/arm/include/asm/ucontext.h");
enum { VECTORS_MAGIC = 0x56465001, ENABLED = 0x40000000 /* FPEXC_EN */ };
struct extended { /* as from ptrace */
    uint64_t registers[32];
    uint32_t control;
};
enum { EXTENDED_BYTES = 32 * 8 + 4 };

/* `mov r7, #number; svc #0`, of libraries and of the kernel, whose `svc` has the number, too. */
static bool is_call_of(const uint8_t *bytes, uint32_t number) {
    enum { MOV = (int)0xe3a07000, SVC = (int)0xef000000, SVC_NUMBER = 0xffffff };
    enum { MOVS_SVC = (int)0xdf002700, MOV_W = 0x0700f04f, SVC_T32 = 0xdf00 };
    uint32_t first = a32_word(bytes), second = a32_word(bytes + A32_BYTES);
    return first == ((uint32_t)MOVS_SVC | number) ||
           (first == (MOV_W | number << 16) && (second & 0xffff) == SVC_T32) ||
           (first == ((uint32_t)MOV | number) && (second & ~(uint32_t)SVC_NUMBER) == (uint32_t)SVC);
}

bool regs_is_signal_return(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES], size_t *ret_frame) {
    *ret_frame = 0;
    if (is_call_of(bytes, SYS_sigreturn))
        return true;
    *ret_frame = offsetof(struct signal_frame, uc);
    return is_call_of(bytes, SYS_rt_sigreturn);
}

bool regs_is_thread_end(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES]) {
    return is_call_of(bytes, SYS_exit);
}

taddr_t regs_in_state(taddr_t pc, uint64_t state) { return pc | psr_is_t32((uint32_t)state); }

size_t regs_signal_offset(int number) {
    return offsetof(struct context, regs) + (size_t)number * ARM_WORD;
}

size_t regs_signal_frame_size(size_t extended_size) {
    (void)extended_size;
    return sizeof(struct signal_frame);
}

void regs_signal_frame(uint8_t *out, taddr_t at, const struct regs *regs, uint64_t signal_mask,
                       const struct regs_extended *extended) {
    struct signal_frame f = {.info = {0}};
    struct vectors v = {.magic = VECTORS_MAGIC, .size = sizeof v, .exception = ENABLED};
    struct extended e = {.control = 0};
    (void)at;
    /* f.uc.stack stays zero: an impossible size, so the kernel keeps the thread's own stack. */
    for (int i = 0; i < REGS_DWARF_COUNT; i++)
        f.uc.regs[i] = (uint32_t)regs->raw.uregs[i];
    f.uc.psr = psr_of(regs);
    f.uc.sigmask[0] = (uint32_t)signal_mask;
    f.uc.sigmask[1] = (uint32_t)(signal_mask >> 32);
    memcpy(&e, extended->bytes, extended->size < EXTENDED_BYTES ? extended->size : EXTENDED_BYTES);
    v.control = e.control;
    memcpy(v.registers, e.registers, sizeof v.registers);
    memcpy(f.uc.records, &v, sizeof v);
    memcpy(out, &f, sizeof f);
}

_Static_assert(offsetof(struct signal_frame, uc.regs) == REMAINDER_FRAME_RESULT, "");
_Static_assert(offsetof(struct signal_frame, uc.records) + sizeof(struct vectors) <=
                   REMAINDER_FRAME_BYTES,
               "");

void regs_from_frame(const uint8_t *frame, struct regs *ret) {
    struct signal_frame f;
    memcpy(&f, frame, offsetof(struct signal_frame, uc.records));
    for (int i = 0; i < REGS_DWARF_COUNT; i++)
        ret->raw.uregs[i] = f.uc.regs[i];
    ret->raw.uregs[PSR] = f.uc.psr;
}

enum { REMAINDER_LANE = 6, REMAINDER_ARGUMENT = 8 };
void regs_set_remainder_lane(struct regs *regs, taddr_t lane) {
    regs->raw.uregs[REMAINDER_LANE] = (uint32_t)lane;
    regs->raw.uregs[REMAINDER_ARGUMENT] = regs->raw.uregs[0];
}
taddr_t regs_remainder_lane(const struct regs *regs) { return regs->raw.uregs[REMAINDER_LANE]; }

/* The words are sp, lr, pc, the state and, behind the signal mask, the head of the first record:
 * vectors, iwMMXt's registers, or padding in their place. */
bool regs_look_like_context(const regs_word_t words[REGS_CONTEXT_WORDS], struct regs_context *ret) {
    static const uint32_t heads[][2] = {
        {VECTORS_MAGIC, sizeof(struct vectors)}, {0x12ef842a, 160}, {0xb0d9ed01, 160}};
    const size_t head =
        (offsetof(struct context, records) - offsetof(struct context, regs[ARM_SP])) /
        sizeof *words;
    const uint32_t pc = words[2], psr = words[3];
    bool known = false;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        known |= words[head] == heads[i][0] && words[head + 1] == heads[i][1];
    if (!known || (psr & PSR_MODE) != PSR_USER || pc % (psr_is_t32(psr) ? T32_HALF : A32_BYTES))
        return false;
    *ret = (struct regs_context){pc, words[0], regs_plain_address(words[1])};
    return true;
}
