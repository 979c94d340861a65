/*
 * Runs code with all registers filled and reports the registers afterwards: on AArch64, or under
 * its emulator. state.S uses the same offsets.
 */
#pragma once

#define STATE_X 0
#define STATE_SP 248
#define STATE_NZCV 256
#define STATE_ARRIVED 264
#define STATE_Q 272

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct state {
    uint64_t x[31], sp, nzcv;
    uint64_t arrived; /* where the code has left: the number of arrive_*() */
    uint64_t q[32][2];
};
_Static_assert(offsetof(struct state, sp) == STATE_SP, "");
_Static_assert(offsetof(struct state, nzcv) == STATE_NZCV, "");
_Static_assert(offsetof(struct state, arrived) == STATE_ARRIVED, "");
_Static_assert(offsetof(struct state, q) == STATE_Q, "");

/* Jumps to the target of state_leave (a `b` that the test writes), in the state IN. Returns when
 * the code jumps to one of arrive_*(), with its state then in OUT. */
void state_run(const struct state *in, struct state *out);
extern uint32_t state_leave[];

/* Places of arrival; not to be called. */
enum { ARRIVALS = 6 };
void arrive_0(void);
void arrive_1(void);
void arrive_2(void);
void arrive_3(void);
void arrive_4(void);
void arrive_5(void);
#endif
