/*
 * Shared by AArch64 and 32-bit Arm as hosts. Stubs find lanes by thread pointers
 * (wire/lane_lookup.h). Behind a system call no register is free that the agent could use to return
 * from its remainder. So a signal frame restores all registers. It is in the thread's lane; a
 * register that no call uses for arguments holds the lane's address.
 */
#include "arch/remainder.h"

#include <string.h>

#include "arch/agent.h"
#include "arch/arm_agent.h"
#include "arch/bridge.h"
#include "wire/lane_lookup.h"

#ifdef __aarch64__
static const uint8_t *const bytes = a64_agent_bytes;
static const size_t *const size = &a64_agent_size;
#else
static const uint8_t *const bytes = arm_agent_bytes;
static const size_t *const size = &arm_agent_size;
#endif

/* ---- the agent ---- */

struct arm_agent_labels arm_agent_labels(void) {
    struct arm_agent_labels labels;
    memcpy(&labels, bytes + LANES_BYTES + AGENT_ENTRIES_BYTES, sizeof labels);
    return labels;
}

const uint8_t *agent_code(void) { return bytes + LANES_BYTES; }
size_t agent_code_size(void) { return *size - LANES_BYTES; }
size_t agent_asks(void) { return arm_agent_labels().asks; }
size_t agent_guarded(void) { return arm_agent_labels().guarded; }
size_t agent_call(void) { return arm_agent_labels().call - (size_t)LANES_BYTES; }
size_t agent_series(void) { return 0; }
size_t agent_call_size(void) { return arm_agent_labels().end - arm_agent_labels().call; }

struct agent_remainder agent_remainder(void) {
    const struct arm_agent_labels at = arm_agent_labels();
    const size_t start = LANES_BYTES;
    return (struct agent_remainder){at.remainder - start, at.remainder_made - start,
                                    at.remainder_end - start};
}

taddr_t bridge_at(taddr_t area) { return area + arm_agent_labels().bridge; }
taddr_t bridge_notes_at(taddr_t area) { return area + arm_agent_labels().notes; }

bool bridge_is_gate(taddr_t area, taddr_t addr) {
    const struct arm_agent_labels at = arm_agent_labels();
    return addr - area >= at.gate && addr - area < at.gate_end;
}

enum agent_place regs_agent_place(const struct regs *regs, taddr_t area) {
    const struct arm_agent_labels at = arm_agent_labels();
    const uint64_t offset = regs_pc(regs) - area, code = LANES_BYTES;
    if (offset >= at.bridge && offset < at.gate_end)
        return AGENT_BRIDGE;
    if ((offset >= at.room && offset < at.captures_end) ||
        (offset >= code + AGENT_ENTRY_ROOM && offset <= code + AGENT_ENTRY_TEXT_COUNTED))
        return AGENT_RELEASED;
    if (offset < code || offset >= at.call)
        return AGENT_OUTSIDE;
    if (offset == code + AGENT_ENTRY_SLICE || (offset >= at.slice && offset < at.hook))
        return AGENT_RELEASED;
    if (offset >= at.hook || offset == code + AGENT_ENTRY_HOOK ||
        offset == code + AGENT_ENTRY_GUARD)
        return AGENT_HOOK;
    return regs_full_ring_place(regs, offset);
}

bool regs_restart_lane_lookup(struct regs *regs, taddr_t area) {
    const struct arm_agent_labels at = arm_agent_labels();
    const uint64_t offset = regs_pc(regs) - area;
    if (offset >= at.seek && offset < at.seek_end)
        regs_set_pc(regs, area + at.seek);
    else if (offset >= at.hook && offset < at.hook_seek_end)
        regs_set_pc(regs, area + at.hook);
    else
        return false;
    return true;
}

bool regs_read_fault(const struct regs *regs, taddr_t area, taddr_t *ret_back) {
    const struct arm_agent_labels at = arm_agent_labels();
    const uint64_t offset = regs_pc(regs) - area;
    bool other_state;
    *ret_back = regs_agent_return(regs, area, &other_state);
    return offset >= at.text && offset < at.captures_end;
}

/* Programs can always read the counter; if need be, the kernel reads it for them. */
bool regs_skip_agent_clock(struct regs *regs, taddr_t area) {
    (void)regs, (void)area;
    return false;
}

/* ---- lanes, series of calls, steps ---- */

/* Lanes hang off thread pointers, and every thread has its own. */
taddr_t regs_lane(const struct regs *regs) {
    (void)regs;
    return 0;
}
bool regs_lane_taken(const struct regs *regs) {
    (void)regs;
    return false;
}
bool regs_call_sets_lane(long number, uint64_t argument) {
    (void)number, (void)argument;
    return false;
}

/* The agent has no code for several calls in a row. */
void regs_set_series(struct regs *regs, taddr_t code, taddr_t sp, taddr_t table, size_t count) {
    (void)regs, (void)code, (void)sp, (void)table, (void)count;
}
taddr_t regs_series_entry(const struct regs *regs) {
    (void)regs;
    return 0;
}

/* Programs cannot step themselves: there is no such flag, or only the kernel sets it. */
bool regs_trap_flag(const struct regs *regs) {
    (void)regs;
    return false;
}
void regs_set_trap_flag(struct regs *regs, bool set) { (void)regs, (void)set; }

/* If the kernel is to restart a call, it resets the registers to the call's begin before the tracer
 * sees the thread (do_signal()). 32-bit Arm restarts without leaving the kernel, unless the pc has
 * changed since. */
void regs_finish_restart(struct regs *regs) { (void)regs; }

/* ---- the remainder of a system call ---- */

static const int64_t NOT_BEGUN = -512; /* −ERESTARTSYS */

bool remainder_is_at_call(const struct regs *regs, const struct remainder_call *call) {
    return regs_pc(regs) == call->back && (uint64_t)regs_syscall_result(regs) == call->done;
}

void remainder_begin(struct regs *regs, const struct remainder_place *place,
                     const struct remainder_call *call, const uint64_t args[CALL_ARGUMENTS],
                     struct remainder *ret) {
    remainder_fill(call, ret);
    regs_set_syscall(regs, place->agent + agent_remainder().begin, regs_sp(regs), call->number,
                     args);
    regs_set_remainder_lane(regs, place->lane);
}

uint8_t *remainder_frame(struct remainder *remainder, size_t *ret_size) {
    *ret_size = sizeof remainder->frame;
    return remainder->frame;
}

bool remainder_is_running(const struct regs *regs, taddr_t agent) {
    const struct agent_remainder at = agent_remainder();
    return regs_pc(regs) - agent >= at.begin && regs_pc(regs) - agent < at.end;
}

taddr_t remainder_lane(const struct regs *regs) { return regs_remainder_lane(regs); }

static void return_to_program(struct regs *regs, const struct remainder *remainder,
                              uint64_t result) {
    regs_from_frame(remainder->frame, regs);
    regs_set_syscall_result(regs, (int64_t)result, remainder->registers);
}

void remainder_give_up(struct regs *regs, const struct remainder *remainder) {
    return_to_program(regs, remainder, remainder->done);
}

/* If the thread stands right behind the call and bytes were transferred, the stop has cut the call
 * short: otherwise the thread would be one instruction further. */
bool remainder_end(struct regs *regs, taddr_t agent, const struct remainder *remainder,
                   struct remainder_call *ret) {
    const struct agent_remainder at = agent_remainder();
    const uint64_t offset = regs_pc(regs) - agent;
    int64_t result = offset == at.begin  ? NOT_BEGUN
                     : offset == at.made ? regs_syscall_result(regs)
                                         : (int64_t)remainder->result;
    bool over = !remainder_was_interrupted(result) && (result <= 0 || offset != at.made);
    bool is_left = remainder_add_result(remainder, result, ret);
    return_to_program(regs, remainder, ret->done);
    return is_left && !over;
}
