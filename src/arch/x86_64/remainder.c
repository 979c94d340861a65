/* The rest of a call on x86-64: the call's own registers, and rcx, which it has changed, suffice to
 * come back. */
#include "arch/remainder.h"

#include "arch/x86_64/stub.h"

static const int64_t NOT_BEGUN = -512; /* −ERESTARTSYS */

bool remainder_is_where(const struct regs *regs, const struct remainder_call *call) {
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

bool remainder_is_made(const struct regs *regs, taddr_t agent) {
    struct agent_entries e = agent_entries();
    return regs->raw.rip - agent >= e.remainder && regs->raw.rip - agent < e.remainder_end;
}

taddr_t remainder_lane(const struct regs *regs) { return regs_lane(regs); }

/* Sets *RET_OVER when the rest has come to its end, not by the stop. */
static int64_t result_of(const struct user_regs_struct *r, uint64_t at,
                         const struct remainder *remainder, bool *ret_over) {
    struct agent_entries e = agent_entries();
    int64_t result = at == e.remainder        ? NOT_BEGUN
                     : at == e.remainder_made ? (int64_t)r->rax
                                              : (int64_t)remainder->result;
    *ret_over = !remainder_was_put_off(result) && (result <= 0 || (long)r->orig_rax < 0);
    return result;
}

static void come_back(struct regs *regs, const struct remainder *remainder, uint64_t result) {
    regs_set_syscall_result(regs, (int64_t)result, remainder->registers);
    regs->raw.rcx = regs->raw.rip = remainder->back;
}

void remainder_give_up(struct regs *regs, const struct remainder *remainder) {
    come_back(regs, remainder, remainder->done);
}

bool remainder_end(struct regs *regs, taddr_t agent, const struct remainder *remainder,
                   struct remainder_call *ret) {
    bool over;
    int64_t result = result_of(&regs->raw, regs->raw.rip - agent, remainder, &over);
    bool is_left = remainder_is_left(remainder, result, ret);
    come_back(regs, remainder, ret->done);
    return is_left && !over;
}
