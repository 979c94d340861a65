/*
 * The rest of a system call. A stop makes calls that have transferred some of what they were asked
 * to, and wait to transfer all, return with what is done; untraced they would have waited on. So
 * their threads make the rest, in the agent (src/agent), and come back with the sum. Pure functions
 * over registers; like regs.h those of the host.
 */
#ifndef SPOOR_ARCH_REST_H
#define SPOOR_ARCH_REST_H

#include "arch/regs.h"

/* Where what it transfers lies. */
enum rest_in {
    REST_IN_ONE,    /* in one piece */
    REST_IN_VECTOR, /* the next two arguments are an array of struct iovec, and their number */
    REST_IN_MESSAGE /* the next is a struct msghdr */
};

struct rest_call {
    long number;
    enum rest_in in;
    uint64_t done, wanted; /* wanted: 0 if only memory tells */
    taddr_t back;          /* behind the call */
};

/* What the call's first argument must be, for it to wait for all. */
enum rest_of {
    REST_OF_NONE, /* it does not */
    REST_OF_ANYTHING,
    REST_OF_WRITING, /* a file that takes all that is written */
    REST_OF_STREAM,  /* a socket that has no messages */
    REST_OF_PACKETS, /* one that has */
    REST_OF_READING, /* one that gives as much as is read, or at least so much as was agreed on */
    REST_OF_PIPE     /* a pipe, of which what is in it goes to the third argument, which is none */
};

/* Whether the thread was stopped on its way back from a call that has done a part of what it was
 * asked for. */
enum rest_of rest_is_due(const struct regs *regs, struct rest_call *ret);
/* Whether REGS are still those of a thread that has come back from CALL. */
bool rest_is_where(const struct regs *regs, const struct rest_call *call);
uint64_t rest_argument(const struct regs *regs, int number);
void rest_set_argument(struct regs *regs, int number, uint64_t value);
/* They are: they become those of the rest, in the agent at AGENT. Of vectors and messages the
 * caller sets the arguments. */
void rest_begin(struct regs *regs, taddr_t agent, const struct rest_call *call, struct rest *ret);
/* Whether the thread makes a rest. */
bool rest_is_made(const struct regs *regs, taddr_t agent);
/* It does, and stands: REGS become those behind the call, with what is done by now. Returns whether
 * the stop has cut the rest short, too. */
bool rest_end(struct regs *regs, taddr_t agent, const struct rest *rest, struct rest_call *ret);
/* The same; the kernel has not made the rest. */
void rest_give_up(struct regs *regs, const struct rest *rest);

#endif
