/*
 * Runs A32 or T32 code with all of a thread's registers set, and reports them afterwards. Signal
 * handlers set and read the registers, so code may begin inside an IT block and with any stack
 * pointer. On 32-bit Arm, or under its emulator.
 */
#pragma once

#include "arch/arm/psr.h"
#include "arch/regs.h"

enum { GROUND = 0x800000, GROUND_BYTES = 0x200000, STACK = GROUND + 0x100000 };
enum { CODE_LOW = GROUND + 0x7f00, CODE_HIGH = GROUND + 0x9100 };

struct machine {
    struct regs regs;
    uint64_t vectors[32];
    uint32_t vector_control;
};

/* Maps the ground. Between CODE_LOW and CODE_HIGH A32 code ends wherever no code was written. */
void machine_open(void);
void machine_clear(void);
void machine_write(uint32_t at, const void *bytes, size_t size);
/* Code that reaches AT ends there. */
void machine_end(uint32_t at, bool t32);
/* Runs from IN on to such an end, or to a fault: OUT's pc is there. */
void machine_run(const struct machine *in, struct machine *out);
/* The signals that were blocked at that end. */
uint64_t machine_mask(void);
/* The handler that reports ends has siginfo (INFO) or not. It calls LOOK with its stack pointer and
 * its return address; NULL: calls nothing. */
struct machine_entry {
    uint32_t sp, back;
};
void machine_look(bool info, void (*look)(struct machine_entry entry));
/* Fills all registers from SEED; the stack pointer is in the middle of the ground, the mode is user
 * mode. */
void machine_fill(struct machine *m, uint32_t seed);

/* Prints a failure and counts it. */
void machine_fail(const char *what, const char *detail);
/* Fails unless both have the same registers, state and flags. */
void machine_compare(const char *what, const struct machine *expected, const struct machine *found);
extern int machine_failures;

/* The pc in the registers that ptrace returns. */
static inline uint32_t machine_pc(const struct machine *m) { return m->regs.raw.uregs[15]; }

/* The read function of struct regs_access, for this process's own memory. */
bool machine_read(const void *from, taddr_t at, regs_word_t *ret);
