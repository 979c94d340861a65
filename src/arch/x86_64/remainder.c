/* The remainder of a call on x86-64. To return from it the agent needs only the call's registers,
 * and rcx, which calls change. */
#include "arch/remainder.h"

#include "arch/x86_64/stub.h"

static const int64_t NOT_BEGUN = -512; /* −ERESTARTSYS */

bool remainder_is_at_call(const struct regs *regs, const struct remainder_call *call) {
    return regs->raw.rip == call->back && regs->raw.rax == call->done;
}

void remainder_begin(struct regs *regs, const struct remainder_place *place,
                     const struct remainder_call *call, const uint64_t args[CALL_ARGUMENTS],
                     struct remainder *ret) {
    remainder_fill(call, ret);
    regs_set_syscall(regs, place->agent + agent_entries().remainder, regs_sp(regs), call->number,
                     args);
}

uint8_t *remainder_frame(struct remainder *remainder, size_t *ret_size) {
    (void)remainder;
    *ret_size = 0;
    return NULL;
}

bool remainder_is_running(const struct regs *regs, taddr_t agent) {
    struct agent_entries entries = agent_entries();
    return regs->raw.rip - agent >= entries.remainder &&
           regs->raw.rip - agent < entries.remainder_end;
}

taddr_t remainder_lane(const struct regs *regs) { return regs_lane(regs); }

/* The remainder's result. *RET_OVER: it has ended by itself, not by the stop. */
static int64_t result_of(const struct user_regs_struct *r, uint64_t at,
                         const struct remainder *remainder, bool *ret_over) {
    struct agent_entries entries = agent_entries();
    int64_t result = at == entries.remainder        ? NOT_BEGUN
                     : at == entries.remainder_made ? (int64_t)r->rax
                                                    : (int64_t)remainder->result;
    *ret_over = !remainder_was_interrupted(result) && (result <= 0 || (long)r->orig_rax < 0);
    return result;
}

static void return_to_program(struct regs *regs, const struct remainder *remainder,
                              uint64_t result) {
    regs_set_syscall_result(regs, (int64_t)result, remainder->registers);
    regs->raw.rcx = regs->raw.rip = remainder->back;
}

void remainder_give_up(struct regs *regs, const struct remainder *remainder) {
    return_to_program(regs, remainder, remainder->done);
}

bool remainder_end(struct regs *regs, taddr_t agent, const struct remainder *remainder,
                   struct remainder_call *ret) {
    bool over;
    int64_t result = result_of(&regs->raw, regs->raw.rip - agent, remainder, &over);
    bool is_left = remainder_add_result(remainder, result, ret);
    return_to_program(regs, remainder, ret->done);
    return is_left && !over;
}
