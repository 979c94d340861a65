/*
 * What AArch64 and 32-bit Arm have in common as hosts. Stubs find lanes by thread pointers
 * (wire/keys.h). No register is free behind a system call by which the agent could come back from
 * its rest: a signal frame brings all registers back. It stands in the thread's lane, to which a
 * register leads that no call takes an argument in.
 */
#include "arch/rest.h"

#include "arch/agent.h"

/* Every thread has a thread pointer of its own. */
taddr_t regs_lane(const struct regs *regs) {
    (void)regs;
    return 0;
}
bool regs_lane_taken(const struct regs *regs) {
    (void)regs;
    return false;
}
bool regs_call_sets_lane(long number, uint64_t argument) {
    (void)number;
    (void)argument;
    return false;
}

/* Programs cannot step themselves: there is no flag, or it is the kernel's. */
bool regs_trap_flag(const struct regs *regs) {
    (void)regs;
    return false;
}
void regs_set_trap_flag(struct regs *regs, bool set) {
    (void)regs;
    (void)set;
}

/* Before a tracer sees a thread that is on its way back from a call, the kernel has put the
 * registers to the call's beginning where it would be restarted (do_signal()). 32-bit Arm does the
 * same without leaving the kernel, unless pc has changed since. */
void regs_finish_restart(struct regs *regs) { (void)regs; }

/* ---- the rest of a system call ---- */

static const int64_t NOT_BEGUN = -512; /* −ERESTARTSYS */

bool rest_is_where(const struct regs *regs, const struct rest_call *call) {
    return regs_pc(regs) == call->back && (uint64_t)regs_syscall_result(regs) == call->done;
}

void rest_begin(struct regs *regs, const struct rest_place *place, const struct rest_call *call,
                const uint64_t args[REST_ARGUMENTS], struct rest *ret) {
    rest_fill(call, ret);
    regs_set_syscall(regs, place->agent + agent_rest().begin, regs_sp(regs), call->number, args);
    regs_set_rest_lane(regs, place->lane);
}

uint8_t *rest_frame(struct rest *rest, size_t *ret_size) {
    *ret_size = sizeof rest->frame;
    return rest->frame;
}

bool rest_is_made(const struct regs *regs, taddr_t agent) {
    const struct agent_rest at = agent_rest();
    return regs_pc(regs) - agent >= at.begin && regs_pc(regs) - agent < at.end;
}

taddr_t rest_lane(const struct regs *regs) { return regs_rest_lane(regs); }

static void come_back(struct regs *regs, const struct rest *rest, uint64_t result) {
    regs_from_frame(rest->frame, regs);
    regs_set_syscall_result(regs, (int64_t)result, rest->registers);
}

void rest_give_up(struct regs *regs, const struct rest *rest) { come_back(regs, rest, rest->done); }

/* Where the thread stands right behind the call, which has done some of it, the stop has cut that
 * short: it would be one instruction further else. */
bool rest_end(struct regs *regs, taddr_t agent, const struct rest *rest, struct rest_call *ret) {
    const struct agent_rest at = agent_rest();
    const uint64_t offset = regs_pc(regs) - agent;
    int64_t result = offset == at.begin  ? NOT_BEGUN
                     : offset == at.made ? regs_syscall_result(regs)
                                         : (int64_t)rest->result;
    bool over = !rest_was_put_off(result) && (result <= 0 || offset != at.made);
    bool is_left = rest_is_left(rest, result, ret);
    come_back(regs, rest, ret->done);
    return is_left && !over;
}
