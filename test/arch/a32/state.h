/*
 * Runs code with all registers filled and reports the registers afterwards: on 32-bit Arm, or
 * under its emulator. state.S uses the same offsets.
 */
#pragma once

#define STATE_R 0
#define STATE_APSR 60
#define STATE_D 64
#define STATE_ARRIVED 320
#define STATE_FPSCR 324

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct state {
    uint32_t r[15], apsr; /* r[13] is the stack pointer */
    uint64_t d[32];
    uint32_t arrived; /* where the code has left: the number of arrive_*() */
    uint32_t fpscr;
};
_Static_assert(offsetof(struct state, apsr) == STATE_APSR, "");
_Static_assert(offsetof(struct state, d) == STATE_D, "");
_Static_assert(offsetof(struct state, arrived) == STATE_ARRIVED, "");
_Static_assert(offsetof(struct state, fpscr) == STATE_FPSCR, "");

/* The bits that a program may set: flags with Q and GE; flags with QC, modes, exceptions seen. */
#define STATE_APSR_BITS 0xf80f0000U
#define STATE_FPSCR_BITS 0xffc0009fU

/* Jumps to the address right below the stack pointer, in the state IN. Returns when the code jumps
 * to one of arrive_*(), with its state then in OUT. */
void state_run(const struct state *in, struct state *out);

/* Places of arrival; not to be called. */
enum { ARRIVALS = 5 };
void arrive_0(void);
void arrive_1(void);
void arrive_2(void);
void arrive_3(void);
void arrive_4(void);
#endif
