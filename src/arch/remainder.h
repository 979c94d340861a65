/*
 * The remainder of a system call. Some calls wait until all bytes are transferred. A stop makes
 * them return early, with the bytes so far; untraced they would go on waiting. So the thread calls
 * for the remaining bytes in the agent (src/agent), and returns with the sum. Pure functions; those
 * over registers exist for the host only, like regs.h.
 */
#pragma once

#include "arch/regs.h"

/* Where the transferred bytes are. */
enum remainder_in {
    REMAINDER_IN_ONE,    /* in one piece */
    REMAINDER_IN_VECTOR, /* the next two arguments: an array of struct iovec, and its length */
    REMAINDER_IN_MESSAGE /* the next argument: a struct msghdr */
};

/* A call that has done only a part of its work. */
struct remainder_call {
    long number;
    uint64_t args[CALL_ARGUMENTS];
    enum remainder_in in;
    uint64_t done, wanted; /* wanted: 0 if only the target's memory says how much */
    taddr_t back;          /* behind the call */
};

/* What the call's first argument must be, if the call waits for all bytes. */
enum remainder_of {
    REMAINDER_OF_NONE, /* the call does not wait for all */
    REMAINDER_OF_ANYTHING,
    REMAINDER_OF_WRITING, /* a file that takes all that is written */
    REMAINDER_OF_STREAM,  /* a socket without messages */
    REMAINDER_OF_PACKETS, /* a socket with messages */
    REMAINDER_OF_READING, /* a file whose reads wait for all bytes, or for an agreed least number */
    REMAINDER_OF_PIPE     /* a pipe that the call empties into the third argument, not a pipe */
};

/* Whether REGS look like those of a thread on its way back from a call (regs_past_call()) that has
 * done only a part. Its first argument may not be known yet. */
enum remainder_of remainder_needed(const struct regs *regs, struct remainder_call *ret);
/* Whether the call has only peeked at a part of the bytes that it waits for. It has no remainder,
 * but can be repeated. */
bool call_can_be_repeated(const struct past_call *past);
/* The arguments of CALL's remainder. The caller sets those that point at vectors and messages. */
void remainder_arguments(const struct remainder_call *call, uint64_t ret[CALL_ARGUMENTS]);
/* Whether REGS are still those of a thread that has returned from CALL. */
bool remainder_is_at_call(const struct regs *regs, const struct remainder_call *call);
/* If they are: makes REGS those of the remainder, a call with ARGS, in the agent at AGENT, by a
 * thread whose lane is at LANE. */
struct remainder_place {
    taddr_t agent, lane;
};
void remainder_begin(struct regs *regs, const struct remainder_place *place,
                     const struct remainder_call *call, const uint64_t args[CALL_ARGUMENTS],
                     struct remainder *ret);
/* The place in REMAINDER, in the lane, for a signal frame with the thread's registers before
 * remainder_begin(). It has *ret_size bytes. NULL: the host needs no frame. */
uint8_t *remainder_frame(struct remainder *remainder, size_t *ret_size);
/* Whether the thread makes a remainder. */
bool remainder_is_running(const struct regs *regs, taddr_t agent);
/* The lane of a thread that makes a remainder. */
taddr_t remainder_lane(const struct regs *regs);
/* The thread makes a remainder and is stopped: REGS become those behind the program's call, with
 * the sum so far. Returns whether this stop has cut the remainder short, too; *ret is then the
 * program's call as it stands now. */
bool remainder_end(struct regs *regs, taddr_t agent, const struct remainder *remainder,
                   struct remainder_call *ret);
/* The same, where the kernel has refused the remainder. */
void remainder_give_up(struct regs *regs, const struct remainder *remainder);

/* ---- shared by the hosts ---- */

/* CALL as the lane holds it. */
void remainder_fill(const struct remainder_call *call, struct remainder *ret);
/* Whether RESULT means that the stop interrupted the call before it did anything. */
bool remainder_was_interrupted(int64_t result);
/* *ret: the program's call, after RESULT of its remainder (below 0: nothing is done). Returns
 * whether bytes are still missing. */
bool remainder_add_result(const struct remainder *remainder, int64_t result,
                          struct remainder_call *ret);
