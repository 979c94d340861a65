/* The rest of a call on x86-64: the call's own registers, and rcx, which it has changed, suffice to
 * come back. */
#include "arch/rest.h"

#include "arch/x86_64/stub.h"

static const int64_t NOT_BEGUN = -512; /* −ERESTARTSYS */

bool rest_is_where(const struct regs *regs, const struct rest_call *call) {
    return regs->raw.rip == call->back && regs->raw.rax == call->done;
}

void rest_begin(struct regs *regs, const struct rest_place *place, const struct rest_call *call,
                const uint64_t args[REST_ARGUMENTS], struct rest *ret) {
    rest_fill(call, ret);
    regs_set_syscall(regs, place->agent + agent_entries().rest, regs_sp(regs), call->number, args);
}

uint8_t *rest_frame(struct rest *rest, size_t *ret_size) {
    (void)rest;
    *ret_size = 0;
    return NULL;
}

bool rest_is_made(const struct regs *regs, taddr_t agent) {
    struct agent_entries e = agent_entries();
    return regs->raw.rip - agent >= e.rest && regs->raw.rip - agent < e.rest_end;
}

taddr_t rest_lane(const struct regs *regs) { return regs_lane(regs); }

/* Sets *RET_OVER when the rest has come to its end, not by the stop. */
static int64_t result_of(const struct user_regs_struct *r, uint64_t at, const struct rest *rest,
                         bool *ret_over) {
    struct agent_entries e = agent_entries();
    int64_t result = at == e.rest        ? NOT_BEGUN
                     : at == e.rest_made ? (int64_t)r->rax
                                         : (int64_t)rest->result;
    *ret_over = !rest_was_put_off(result) && (result <= 0 || (long)r->orig_rax < 0);
    return result;
}

static void come_back(struct regs *regs, const struct rest *rest, uint64_t result) {
    regs_set_syscall_result(regs, (int64_t)result, rest->registers);
    regs->raw.rcx = regs->raw.rip = rest->back;
}

void rest_give_up(struct regs *regs, const struct rest *rest) { come_back(regs, rest, rest->done); }

bool rest_end(struct regs *regs, taddr_t agent, const struct rest *rest, struct rest_call *ret) {
    bool over;
    int64_t result = result_of(&regs->raw, regs->raw.rip - agent, rest, &over);
    bool is_left = rest_is_left(rest, result, ret);
    come_back(regs, rest, ret->done);
    return is_left && !over;
}
