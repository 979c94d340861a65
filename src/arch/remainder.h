/*
 * The rest of a system call. A stop makes calls that have transferred some of what they were asked
 * to, and wait to transfer all, return with what is done; untraced they would have waited on. So
 * their threads make the rest, in the agent (src/agent), and come back with the sum. Pure
 * functions; those over registers are, like regs.h, the host's.
 */
#pragma once

#include "arch/regs.h"

/* Where what it transfers lies. */
enum remainder_in {
    REMAINDER_IN_ONE,    /* in one piece */
    REMAINDER_IN_VECTOR, /* the next two arguments are an array of struct iovec, and their number */
    REMAINDER_IN_MESSAGE /* the next is a struct msghdr */
};

/* A call that has done a part of what it was asked for. */
struct remainder_call {
    long number;
    uint64_t args[CALL_ARGUMENTS];
    enum remainder_in in;
    uint64_t done, wanted; /* wanted: 0 if only memory tells */
    taddr_t back;          /* behind the call */
};

/* What the call's first argument must be, for it to wait for all. */
enum remainder_of {
    REMAINDER_OF_NONE, /* it does not */
    REMAINDER_OF_ANYTHING,
    REMAINDER_OF_WRITING, /* a file that takes all that is written */
    REMAINDER_OF_STREAM,  /* a socket that has no messages */
    REMAINDER_OF_PACKETS, /* one that has */
    REMAINDER_OF_READING, /* one that gives as much as is read, or at least so much as was agreed on
                           */
    REMAINDER_OF_PIPE /* a pipe, of which what is in it goes to the third argument, which is none */
};

/* Whether REGS look like those of a thread that is on its way back from a call (regs_past_call())
 * that has done a part only. Its first argument may not be known yet. */
enum remainder_of remainder_is_due(const struct regs *regs, struct remainder_call *ret);
/* Whether a call has looked at a part only of what it waits for, and taken nothing away: there is
 * no rest, but it can be made again. */
bool call_can_be_repeated(const struct past_call *past);
/* The arguments of the rest of CALL. Of vectors and messages the caller sets what tells of them. */
void remainder_arguments(const struct remainder_call *call, uint64_t ret[CALL_ARGUMENTS]);
/* Whether REGS are still those of a thread that has come back from CALL. */
bool remainder_is_where(const struct regs *regs, const struct remainder_call *call);
/* They are: they become those of the rest, a call with ARGS, made in the agent at AGENT by a thread
 * whose lane is at LANE. */
struct remainder_place {
    taddr_t agent, lane;
};
void remainder_begin(struct regs *regs, const struct remainder_place *place,
                     const struct remainder_call *call, const uint64_t args[CALL_ARGUMENTS],
                     struct remainder *ret);
/* Where in REST, which stands in the lane, a signal frame of the thread as it was before it began
 * must be, of *ret_size bytes at least. NULL: nowhere, it finds back without. */
uint8_t *remainder_frame(struct remainder *remainder, size_t *ret_size);
/* Whether the thread makes a rest. */
bool remainder_is_made(const struct regs *regs, taddr_t agent);
/* It does: where its lane is. */
taddr_t remainder_lane(const struct regs *regs);
/* It does, and stands: REGS become those behind the call, with what is done by now. Returns whether
 * the stop has cut the rest short, too; then *ret is what was called first, as it is now. */
bool remainder_end(struct regs *regs, taddr_t agent, const struct remainder *remainder,
                   struct remainder_call *ret);
/* The same; the kernel has not made the rest. */
void remainder_give_up(struct regs *regs, const struct remainder *remainder);

/* ---- what the hosts have in common ---- */

/* What lanes hold of CALL. */
void remainder_fill(const struct remainder_call *call, struct remainder *ret);
/* Whether RESULT says that nothing was done because of the stop: else it would have waited on. */
bool remainder_was_put_off(int64_t result);
/* *ret: the call that was made first, of whose rest RESULT has been done (below 0: nothing).
 * Returns whether some of it is left. */
bool remainder_is_left(const struct remainder *remainder, int64_t result,
                       struct remainder_call *ret);
