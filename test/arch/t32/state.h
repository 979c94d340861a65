/*
 * Runs T32 code with all registers filled and reports the registers afterwards, under an emulator
 * of 32-bit Arm. state.S uses the same offsets.
 */
#pragma once

#define STATE_R 0
#define STATE_SP 52
#define STATE_LR 56
#define STATE_APSR 60
#define STATE_ARRIVED 64
#define STATE_FPSCR 68
#define STATE_D 72

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct state {
    uint32_t r[15], apsr; /* with sp and lr */
    uint32_t arrived;     /* where the code has left: the number of arrive_*() */
    uint32_t fpscr;
    uint64_t d[32];
};
_Static_assert(offsetof(struct state, apsr) == STATE_APSR, "");
_Static_assert(offsetof(struct state, arrived) == STATE_ARRIVED, "");
_Static_assert(offsetof(struct state, d) == STATE_D, "");
_Static_assert(offsetof(struct state, fpscr) == STATE_FPSCR, "");

/* The bits that a program may set: flags with Q and GE; flags with QC, modes, exceptions seen. */
#define STATE_APSR_BITS 0xf80f0000U
#define STATE_FPSCR_BITS 0xffc0009fU

/* Jumps to the target of state_leave (a `b.w` that the test writes), in the state IN. Returns when
 * the code jumps to one of arrive_*(), with its state then in OUT. */
void state_run(const struct state *in, struct state *out);
extern uint8_t state_leave[];

/* Places of arrival; not to be called. */
enum { ARRIVALS = 2 };
void arrive_0(void);
void arrive_1(void);

/* forms.S: instructions under test, until a name is NULL. */
struct form {
    const char *name;
    const uint8_t *start, *end;
};
extern const struct form forms[];
#endif
